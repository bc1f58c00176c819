package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/test/cases"
)

const (
	selectCall = `{"tool":"db_query_sql","args":{"sql":"SELECT 1"}}`
	deleteCall = `{"tool":"db_query_sql","args":{"sql":"DELETE FROM orders"}}`
)

func TestAnEditedPolicyIsTakenOverAndABadOneIsNot(t *testing.T) {
	dir := t.TempDir()
	policy := write(t, dir, "p.yaml", policyYAML("  unlistedTools: Allow\n"))
	p := serve(t, filepath.Join(dir, "audit"), policy)
	search := `{"tool":"kb_search","args":{}}`
	if got := p.decide(t, search); got.Decision != decisionv1.Allow {
		t.Fatalf("before the edit: %+v", got)
	}
	write(t, dir, "p.yaml", policyYAML("  unlistedTools: Deny\n"))
	eventually(t, "the edit is in force", func() bool { return p.decide(t, search).Decision == decisionv1.Deny })

	write(t, dir, "p.yaml", policyYAML("  unlistedTools: Maybe\n"))
	eventually(t, "the log names the mistake", func() bool {
		return strings.Contains(p.logged(), "spec.unlistedTools") && strings.Contains(p.logged(), "keeps the last good ones in force")
	})
	if got := p.decide(t, search); got.Decision != decisionv1.Deny {
		t.Errorf("under a bad file the last good policy should hold: %+v", got)
	}
	if err := os.Remove(policy); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the log says that the file is gone", func() bool { return strings.Contains(p.logged(), "no such file") })
	if got := p.decide(t, search); got.Decision != decisionv1.Deny {
		t.Errorf("without the file the last good policy should hold: %+v", got)
	}
	write(t, dir, "p.yaml", policyYAML("  unlistedTools: Allow\n"))
	eventually(t, "a good file is in force again", func() bool { return p.decide(t, search).Decision == decisionv1.Allow })
	if err := p.stop(t); err != nil {
		t.Errorf("stop: %v", err)
	}
	verified(t, p.auditDir)
}

func TestAPersonAnswersAHeldCallFromTheCommandLine(t *testing.T) {
	dir := t.TempDir()
	socket := socketPath(t)
	p := serve(t, filepath.Join(dir, "audit"), write(t, dir, "p.yaml", policyYAML(strict)), "--admin-socket", socket)
	asked := p.decide(t, deleteCall)
	if asked.Decision != decisionv1.AskUser {
		t.Fatalf("answer %+v", asked)
	}
	id := asked.Approval.ID
	status, out, errs := hookpolicy(t, "", "pending", "--admin-socket", socket)
	if status != exitOK || !strings.Contains(out, id) || !strings.Contains(out, "DELETE on orders WITHOUT WHERE") {
		t.Errorf("pending: %d\n%s%s", status, out, errs)
	}
	if status, _, errs := hookpolicy(t, "", "approve", id, "--admin-socket", socket, "--reason", "agreed"); status != exitOK {
		t.Fatalf("approve: %s", errs)
	}
	if status, _, errs := hookpolicy(t, "", "reject", id, "--admin-socket", socket); status != exitFailed || !strings.Contains(errs, "Approved") {
		t.Errorf("a late rejection: %d %s", status, errs)
	}
	if got := p.decide(t, deleteCall); got.Decision != decisionv1.Allow {
		t.Errorf("the approved call: %+v", got)
	}
	again := p.decide(t, deleteCall)
	if again.Decision != decisionv1.AskUser {
		t.Fatalf("the call after that: %+v", again)
	}
	if status, _, errs := hookpolicy(t, "", "reject", again.Approval.ID, "--admin-socket", socket); status != exitOK {
		t.Fatalf("reject: %s", errs)
	}
	if got := p.decide(t, deleteCall); got.Decision != decisionv1.Deny || got.Reason.Code != "approval.rejected" {
		t.Errorf("the rejected call: %+v", got)
	}
	if err := p.stop(t); err != nil {
		t.Errorf("stop: %v", err)
	}
	verified(t, p.auditDir)
}

func TestTokensSayWhoCalls(t *testing.T) {
	dir := t.TempDir()
	tokens := write(t, dir, "tokens", "# callers\n0123456789abcdef,customer-a,etl\nfedcba9876543210,elsewhere,etl\n")
	p := serve(t, filepath.Join(dir, "audit"), write(t, dir, "p.yaml", policyYAML(strict)), "--token-file", tokens)
	for name, tc := range map[string]struct {
		token string
		want  decisionv1.Decision
		code  string
	}{
		"a governed caller": {"0123456789abcdef", decisionv1.Allow, ""},
		"an ungoverned one": {"fedcba9876543210", decisionv1.Deny, "policy.none"},
		"an unknown token":  {"0000000000000000", decisionv1.Deny, "caller.unauthenticated"},
		"no token":          {"", decisionv1.Deny, "caller.unauthenticated"},
	} {
		t.Run(name, func(t *testing.T) {
			o := decisionv1.Options{}
			if tc.token != "" {
				o.Token = func(context.Context) (string, error) { return tc.token, nil }
			}
			client, err := decisionv1.New(p.url, o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := client.Decide(t.Context(), decisionv1.Request{Tool: "db_query_sql", Args: json.RawMessage(`{"sql":"SELECT 1"}`)})
			if err != nil {
				t.Fatal(err)
			}
			code := ""
			if got.Reason != nil {
				code = got.Reason.Code
			}
			if got.Decision != tc.want || code != tc.code {
				t.Errorf("%s %q, want %s %q", got.Decision, code, tc.want, tc.code)
			}
		})
	}
	if strings.Contains(p.logged(), "0123456789abcdef") {
		t.Error("a token is in the log")
	}
}

func TestEveryMalformedRequestIsRefusedAndRecorded(t *testing.T) {
	dir := t.TempDir()
	p := serve(t, filepath.Join(dir, "audit"), write(t, dir, "p.yaml", policyYAML(strict)))
	var want []string // hashes of the records that must be there
	n := 0
	var all []cases.Case
	for _, name := range []string{"requests", "requests-more"} {
		more, err := cases.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, more...)
	}
	for _, c := range all {
		body, ok, err := c.Document()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			continue // a description: internal/server tests it on the wire
		}
		n++
		got := p.decide(t, string(body))
		if !c.Accepts(string(got.Decision)) {
			t.Errorf("%s: %s, expected %s", c.ID, got.Decision, c.Expect)
		}
		if got.Decision == decisionv1.Deny && got.Reason == nil {
			t.Errorf("%s: a Deny without a reason", c.ID)
		}
		if got.Audit == nil {
			t.Errorf("%s: not recorded", c.ID)
			continue
		}
		want = append(want, got.Audit.Hash)
	}
	if err := p.stop(t); err != nil {
		t.Errorf("stop: %v", err)
	}
	verified(t, p.auditDir)
	there := records(t, p.auditDir)
	for _, hash := range want {
		if there[hash] == nil {
			t.Errorf("no record with hash %s", hash)
		}
	}
	if n < 30 {
		t.Errorf("only %d requests", n)
	}
}

// load asks from many clients at once until the context ends, and returns the
// receipt of every answer that arrived.
func load(ctx context.Context, p *process, clients int, first func()) []decisionv1.Receipt {
	var mu sync.Mutex
	var receipts []decisionv1.Receipt
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				resp, err := p.post(ctx, fmt.Sprintf(`{"tool":"db_query_sql","args":{"sql":"SELECT %d","params":[%d]}}`, n%7, i))
				if err != nil {
					return // the service is gone: nothing was acknowledged
				}
				if resp.Audit == nil {
					continue
				}
				mu.Lock()
				receipts = append(receipts, *resp.Audit)
				if len(receipts) == 20*clients {
					first()
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return receipts
}

func TestEveryAcknowledgedDecisionIsInTheLog(t *testing.T) {
	for name, tc := range map[string]struct {
		signal syscall.Signal
		rounds int
	}{
		"after SIGTERM under load": {syscall.SIGTERM, 2},
		"after SIGKILL under load": {syscall.SIGKILL, 5},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			policy := write(t, dir, "p.yaml", policyYAML(strict))
			audit := filepath.Join(dir, "audit")
			var acknowledged []decisionv1.Receipt
			for range tc.rounds {
				p := serve(t, audit, policy)
				ctx, cancel := context.WithCancel(t.Context())
				acknowledged = append(acknowledged, load(ctx, p, 16, func() {
					if err := p.cmd.Process.Signal(tc.signal); err != nil {
						t.Error(err)
					}
				})...)
				cancel()
				err := p.wait(t)
				if exit := (*exec.ExitError)(nil); tc.signal == syscall.SIGTERM && errors.As(err, &exit) {
					t.Errorf("an orderly stop ended with %v:\n%s", err, p.logged())
				}
			}
			p := serve(t, audit, policy) // what was torn is set aside now
			p.decide(t, selectCall)
			if err := p.stop(t); err != nil {
				t.Error(err)
			}
			verified(t, audit)
			there := records(t, audit)
			for _, r := range acknowledged {
				if rec := there[r.Hash]; rec == nil || rec["seq"] != r.Seq {
					t.Fatalf("acknowledged decision %s with hash %s is not in the log", r.Seq, r.Hash)
				}
			}
			if len(acknowledged) < 100 {
				t.Errorf("only %d decisions were acknowledged", len(acknowledged))
			}
		})
	}
}

func TestAFullDiskDeniesUntilThereIsSpace(t *testing.T) {
	dir := t.TempDir()
	disk := filepath.Join(dir, "disk")
	if err := os.Mkdir(disk, 0o750); err != nil {
		t.Fatal(err)
	}
	policy := write(t, dir, "p.yaml", policyYAML(strict))
	// The service runs in a mount namespace with a small disk of its own, and
	// a helper there fills and frees it on request.
	script := `set -e
mount -t tmpfs -o size=1m tmpfs "$DISK"
( while read -r what; do
    case $what in
    fill) dd if=/dev/zero of="$DISK/ballast" bs=4k 2>/dev/null || true; echo filled >>"$DONE" ;;
    free) rm -f "$DISK/ballast"; echo freed >>"$DONE" ;;
    esac
  done <"$CONTROL" ) &
exec "$PROGRAM" serve --policy "$POLICY" --audit-dir "$DISK/audit" --listen 127.0.0.1:0 --admin-socket "$SOCKET"`
	if err := exec.CommandContext(t.Context(), "unshare", "-rm", "true").Run(); err != nil {
		t.Skipf("this machine lets nobody make a mount namespace: %v", err)
	}
	control := filepath.Join(dir, "control")
	if err := syscall.Mkfifo(control, 0o600); err != nil {
		t.Fatal(err)
	}
	done := write(t, dir, "done", "")
	cmd := program(t)
	cmd.Args = []string{"unshare", "-rm", "sh", "-c", script}
	path, err := exec.LookPath("unshare")
	if err != nil {
		t.Fatal(err)
	}
	self := cmd.Path
	cmd.Path = path
	cmd.Env = append(cmd.Env, "DISK="+disk, "POLICY="+policy, "CONTROL="+control, "DONE="+done, "PROGRAM="+self, "SOCKET="+socketPath(t))
	p := startProcess(t, cmd, "")
	commands, err := os.OpenFile(control, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer commands.Close()
	tell := func(what, until string) {
		if _, err := fmt.Fprintln(commands, what); err != nil {
			t.Fatal(err)
		}
		eventually(t, what, func() bool {
			b, err := os.ReadFile(done)
			return err == nil && strings.Contains(string(b), until)
		})
	}
	if got := p.decide(t, selectCall); got.Decision != decisionv1.Allow {
		t.Fatalf("before: %+v", got)
	}
	tell("fill", "filled")
	eventually(t, "a full disk denies", func() bool {
		got := p.decide(t, selectCall)
		return got.Decision == decisionv1.Deny && got.Reason.Code == "audit.unavailable"
	})
	if code := p.get(t, decisionv1.PathReady); code != http.StatusServiceUnavailable {
		t.Errorf("readyz is %d on a full disk", code)
	}
	tell("free", "freed")
	eventually(t, "ready again without any call", func() bool { return p.get(t, decisionv1.PathReady) == http.StatusOK })
	if got := p.decide(t, selectCall); got.Decision != decisionv1.Allow || got.Audit == nil {
		t.Errorf("after: %+v", got)
	}
}

func TestServeRefusesWhatCannotWork(t *testing.T) {
	dir := t.TempDir()
	policy := write(t, dir, "p.yaml", policyYAML(strict))
	audit := filepath.Join(dir, "audit")
	for name, tc := range map[string]struct {
		args   []string
		status int
		says   string
	}{
		"no audit directory":             {[]string{"--policy", policy}, exitUsage, "--audit-dir"},
		"no policy":                      {[]string{"--audit-dir", audit}, exitUsage, "--policy"},
		"a certificate without a key":    {[]string{"--policy", policy, "--audit-dir", audit, "--tls-cert", "x"}, exitUsage, "--tls-key"},
		"all interfaces without tokens":  {[]string{"--policy", policy, "--audit-dir", audit, "--listen", "0.0.0.0:0", "--admin-socket", socketPath(t)}, exitFailed, "loopback"},
		"a policy that does not compile": {[]string{"--policy", write(t, dir, "bad.yaml", policyYAML("  hooks: []\n")), "--audit-dir", audit}, exitFailed, "spec.hooks"},
		"a caller that is none":          {[]string{"--policy", policy, "--audit-dir", audit, "--caller", "x", "--admin-socket", socketPath(t)}, exitUsage, "NAMESPACE/SERVICEACCOUNT"},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, errs := hookpolicy(t, "", append([]string{"serve", "--log-level", "error"}, tc.args...)...)
			if status != tc.status || !strings.Contains(errs, tc.says) {
				t.Errorf("status %d, want %d and %q in %q", status, tc.status, tc.says, errs)
			}
		})
	}
}

func TestTwoServicesDoNotShareAnAuditDirectory(t *testing.T) {
	dir := t.TempDir()
	policy := write(t, dir, "p.yaml", policyYAML(strict))
	p := serve(t, filepath.Join(dir, "audit"), policy)
	status, _, errs := hookpolicy(t, "", "serve", "--policy", policy, "--audit-dir", p.auditDir, "--listen", "127.0.0.1:0", "--admin-socket", socketPath(t))
	if status != exitFailed || !strings.Contains(errs, "audit log") {
		t.Errorf("the second service: %d %s", status, errs)
	}
}

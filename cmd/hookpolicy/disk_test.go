package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

// underStrace runs the real service with system calls that fail, in each of its
// threads on its own.
func underStrace(t *testing.T, auditDir, policy, call, inject string) *process {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err == nil {
		err = exec.CommandContext(t.Context(), strace, "-f", "-o", os.DevNull, "true").Run()
	}
	if err != nil {
		t.Skipf("NOT TESTED: faults of the real system calls need strace, and the right to use it: %v", err)
	}
	cmd := program(t, "serve", "--policy", policy, "--audit-dir", auditDir, "--listen", "127.0.0.1:0", "--admin-socket", socketPath(t))
	// -D keeps the service the process that was started.
	cmd.Args = append([]string{strace, "-D", "-f", "-qq", "-o", os.DevNull, "-e", "trace=" + call, "-e", "inject=" + call + ":" + inject, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = strace
	return startProcess(t, cmd, auditDir)
}

// receipts makes decisions and returns the receipts of those that were allowed.
// The others must be denied for want of a record.
func receipts(t *testing.T, p *process, n int) (got []*decisionv1.Receipt, denied int) {
	t.Helper()
	for range n {
		switch d := p.decide(t, selectCall); {
		case d.Decision == decisionv1.Allow && d.Audit != nil:
			got = append(got, d.Audit)
		case d.Decision == decisionv1.Deny && d.Reason.Code == "audit.unavailable":
			denied++
		default:
			t.Errorf("decision is %+v", d)
		}
	}
	return got, denied
}

// hold demands that a log verifies and has every record that was acknowledged.
func hold(t *testing.T, dir string, got []*decisionv1.Receipt) (chains []byte) {
	t.Helper()
	if status, out, errs := hookpolicy(t, "", "audit", "verify", dir); status != exitOK {
		t.Errorf("verification says %s%s", out, errs)
	}
	names, err := filepath.Glob(filepath.Join(dir, "t", "*", "log", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	hashes := map[string]bool{}
	for _, name := range names {
		chain, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		chains = append(chains, chain...)
		for raw := range bytes.Lines(chain) {
			if line, err := audit.ParseLine(raw); err == nil {
				hashes[fmt.Sprint(line.Seq, line.Hash)] = true
			}
		}
	}
	for _, r := range got {
		if !hashes[r.Seq+r.Hash] && !hashes[r.Seq+" "+r.Hash] {
			t.Errorf("record %s was acknowledged and is not there", r.Seq)
		}
	}
	return chains
}

func TestSystemCallsThatFailLoseNothingAcknowledged_T12_T13_T15_T16(t *testing.T) {
	for name, tc := range map[string]struct {
		call, inject string
		dead         bool // no record can be written at all
	}{
		"a sync fails now and then":    {"fdatasync", "error=EIO:when=9+7", false},
		"a write fails now and then":   {"pwrite64", "error=ENOSPC:when=9+7", false},
		"a quota is over now and then": {"pwrite64", "error=EDQUOT:when=9+7", false},
		"a file is too large":          {"pwrite64", "error=EFBIG:when=9+7", false},
		"calls are interrupted":        {"fdatasync", "error=EINTR:when=9+3", false},
		"a sync takes long":            {"fdatasync", "delay_enter=100000:when=9+3", false},
		"no sync works any more":       {"fdatasync", "error=EIO:when=30+", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			auditDir := filepath.Join(dir, "audit")
			p := underStrace(t, auditDir, write(t, dir, "p.yaml", policyYAML(strict)), tc.call, tc.inject)
			n := 60
			if tc.dead {
				n = 400
			}
			got, denied := receipts(t, p, n)
			if len(got) == 0 || tc.dead && denied == 0 {
				t.Errorf("%d allowed, %d denied", len(got), denied)
			}
			_ = p.stop(t) // the last records and signatures may have failed too, which the status says
			again := serve(t, auditDir, filepath.Join(dir, "p.yaml"))
			more, _ := receipts(t, again, 1)
			if err := again.stop(t); err != nil {
				t.Error(err)
			}
			hold(t, auditDir, append(got, more...))
			if n := strings.Count(p.logged(), "records cannot be written"); n > denied+2 {
				t.Errorf("%d lines for %d denials", n, denied)
			}
		})
	}
}

func TestAServiceThatIsStoppedOnAFullDiskRecordsThat_T14(t *testing.T) {
	if err := exec.CommandContext(t.Context(), "unshare", "-rm", "true").Run(); err != nil {
		t.Skipf("NOT TESTED: this machine lets nobody make a mount namespace: %v", err)
	}
	dir := t.TempDir()
	disk := filepath.Join(dir, "disk")
	if err := os.Mkdir(disk, 0o750); err != nil {
		t.Fatal(err)
	}
	keep := filepath.Join(dir, "keep")
	// The disk is full but for a page from the moment the service is ready; what
	// it leaves is copied out of the namespace when it has ended.
	script := `mount -t tmpfs -o size=10m tmpfs "$DISK"
"$PROGRAM" serve --policy "$POLICY" --audit-dir "$DISK/audit" --listen 127.0.0.1:0 --admin-socket "$SOCKET" &
service=$!
trap 'kill -TERM $service' TERM
while [ ! -e "$DISK/audit/reserve" ]; do sleep 0.1; done
while [ ! -e "$FILL" ]; do sleep 0.1; done
dd if=/dev/zero of="$DISK/ballast" bs=4k 2>/dev/null
touch "$FILLED"
wait $service; wait $service; status=$?
rm "$DISK/ballast"; cp -r "$DISK/audit" "$KEEP"
exit $status`
	self := program(t)
	cmd := exec.CommandContext(t.Context(), "unshare", "-rm", "sh", "-c", script)
	fill, filled := filepath.Join(dir, "fill"), filepath.Join(dir, "filled")
	cmd.Env = append(self.Env, "DISK="+disk, "KEEP="+keep, "FILL="+fill, "FILLED="+filled, "PROGRAM="+self.Path,
		"POLICY="+write(t, dir, "p.yaml", policyYAML(strict)), "SOCKET="+socketPath(t))
	p := startProcess(t, cmd, "")
	got, _ := receipts(t, p, 5)
	write(t, dir, "fill", "")
	eventually(t, "the disk is full", func() bool { _, err := os.Stat(filled); return err == nil })
	eventually(t, "a full disk denies", func() bool {
		more, denied := receipts(t, p, 1)
		got = append(got, more...)
		return denied > 0
	})
	_ = p.stop(t) // it may not have been able to sign its end
	if n := strings.Count(p.logged(), "records cannot be written"); n != 1 {
		t.Errorf("it is said %d times that the disk is full\n%s", n, p.logged())
	}
	l, err := store.Open(keep, store.Options{ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(hold(t, keep, got), []byte(`"kind":"shutdown"`)) {
		t.Errorf("no shutdown is recorded\n%s", p.logged())
	}
}

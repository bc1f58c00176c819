package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/approval/approvaltest"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/server/admin"
)

// fakeDesk holds what it is given and notes the votes. It stands in for the
// desk where a test is about the socket.
type fakeDesk struct {
	held  []approval.Approval
	votes []approval.Vote
	err   error
}

func (d *fakeDesk) List(_ context.Context, states ...approval.State) ([]approval.Approval, error) {
	if len(states) == 0 {
		return d.held, d.err
	}
	var found []approval.Approval
	for _, a := range d.held {
		if a.State == states[0] {
			found = append(found, a)
		}
	}
	return found, d.err
}

func (d *fakeDesk) Vote(_ context.Context, id string, v approval.Vote) (approval.Approval, error) {
	if d.err != nil {
		return approval.Approval{}, d.err
	}
	d.votes = append(d.votes, v)
	for _, a := range d.held {
		if a.ID == id {
			a.Votes, a.State = d.votes, approval.Rejected
			if v.Approve {
				a.State, a.SettledAt = approval.Approved, time.Now()
			}
			return a, nil
		}
	}
	return approval.Approval{}, approval.ErrNotFound
}

var quiet = slog.New(slog.DiscardHandler)

// serve starts a server on a socket of its own.
func serve(t *testing.T, s *admin.Server) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "admin.sock")
	ln, err := admin.Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	stopped := make(chan error, 1)
	go func() { stopped <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("socket is left behind: %v", err)
		}
	})
	return path
}

func held(state approval.State) approval.Approval {
	a := approvaltest.NewApproval("d", chain.Caller{Namespace: "customer-a", ServiceAccount: "etl-agent"}, time.Now())
	a.State = state
	a.Args = map[string]any{"id": json.Number("9007199254740993")}
	return a
}

func TestAPersonSeesWhatIsHeldAndDecides(t *testing.T) {
	desk := &fakeDesk{held: []approval.Approval{held(approval.Pending), held(approval.Used)}}
	client := admin.NewClient(serve(t, admin.New(desk, quiet)))
	pending, err := client.List(t.Context(), false)
	if err != nil || len(pending) != 1 {
		t.Fatalf("%d pending, error %v", len(pending), err)
	}
	h, a := pending[0], desk.held[0]
	if h.ID != a.ID || h.Prompt != a.Prompt || h.Tool != a.Tool || h.Requester != "customer-a/etl-agent" || h.Policy != "customer-a/customer-a@3" ||
		h.State != approval.Pending || h.Risk != chain.RiskHigh || len(h.Hooks) != 1 || !h.DecideBy.Equal(a.DecideBy) || h.UseBy != nil {
		t.Errorf("held call %+v", h)
	}
	if args, ok := h.Args.(map[string]any); !ok || args["id"] != json.Number("9007199254740993") {
		t.Errorf("arguments %v", h.Args)
	}
	if all, err := client.List(t.Context(), true); err != nil || len(all) != 2 {
		t.Errorf("%d in all, error %v", len(all), err)
	}
	if one, err := client.Get(t.Context(), a.ID); err != nil || one.ID != a.ID {
		t.Errorf("one %+v, error %v", one, err)
	}
	if h, err = client.Approve(t.Context(), a.ID, "seen with the owner"); err != nil || h.State != approval.Approved || h.UseBy == nil {
		t.Errorf("approved %+v, error %v", h, err)
	}
	if h, err = client.Reject(t.Context(), a.ID, ""); err != nil || h.State != approval.Rejected || len(h.Votes) != 2 {
		t.Errorf("rejected %+v, error %v", h, err)
	}
	me := admin.UserName(uint32(os.Geteuid()))
	if v := desk.votes[0]; v.User != me || !v.Approve || v.Reason != "seen with the owner" || v.Via != "unix-socket" {
		t.Errorf("vote %+v of %s", v, me)
	}
	if v := desk.votes[1]; v.User != me || v.Approve {
		t.Errorf("vote %+v", v)
	}
}

func TestARefusalOfTheDeskKeepsItsCode(t *testing.T) {
	for code, err := range map[string]error{
		"approval.unknown":       approval.ErrNotFound,
		"approval.settled":       &approval.StateError{ID: "ap-1", State: approval.TimedOut},
		"approval.own":           errors.Join(errors.New("vote"), approval.ErrOwnVote),
		"approval.voter":         approval.ErrVoter,
		"approval.voted_already": approval.ErrVotedAlready,
		"approval.in_cluster":    approval.ErrInStore,
		"approval.elsewhere":     approval.ErrElsewhere,
		"approval.unavailable":   approval.ErrUnavailable,
		"service.failed":         errors.New("disk /var/lib on fire"),
	} {
		t.Run(code, func(t *testing.T) {
			client := admin.NewClient(serve(t, admin.New(&fakeDesk{err: err}, quiet)))
			_, got := client.Approve(t.Context(), "ap-1", "")
			if e, ok := errors.AsType[*admin.Error](got); !ok || e.Code != code || strings.Contains(e.Message, "disk") {
				t.Errorf("error %v", got)
			}
		})
	}
}

func TestOnlyRootAndTheServicesOwnUserAreServed(t *testing.T) {
	own := uint32(os.Geteuid())
	if !admin.IsServed(0) || !admin.IsServed(own) || admin.IsServed(own+1) {
		t.Error("the wrong users are served")
	}
	if got := admin.UserName(4_000_000_000); got != "uid:4000000000" {
		t.Errorf("a user without a name is %q", got)
	}
	desk := &fakeDesk{held: []approval.Approval{held(approval.Pending)}}
	var asked uint32 = 1 << 31
	s := admin.New(desk, quiet).WithUsers(func(uint32) string { return "mallory" }, func(uid uint32) bool { asked = uid; return false })
	client := admin.NewClient(serve(t, s))
	if _, err := client.List(t.Context(), true); err == nil {
		t.Error("another user sees what is held")
	}
	_, err := client.Approve(t.Context(), desk.held[0].ID, "")
	if e, ok := errors.AsType[*admin.Error](err); !ok || e.Code != "approver.unknown" || len(desk.votes) != 0 {
		t.Errorf("error %v, votes %v", err, desk.votes)
	}
	if asked != own {
		t.Errorf("the kernel said %d, want %d", asked, own)
	}
}

func TestAVoteIsReadStrictly(t *testing.T) {
	desk := &fakeDesk{held: []approval.Approval{held(approval.Pending)}}
	path := serve(t, admin.New(desk, quiet))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	send := func(method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://admin"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		doc, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(doc)
	}
	vote := "/approvals/" + desk.held[0].ID + "/approve"
	for name, tc := range map[string]struct {
		method, path, body string
		status             int
		code               string
	}{
		"a reason that is a list": {http.MethodPost, vote, `{"reason":["x"]}`, 400, "request.reason"},
		"another member":          {http.MethodPost, vote, `{"Reason":"x"}`, 400, "request.reason"},
		"a long reason":           {http.MethodPost, vote, `{"reason":"` + strings.Repeat("x", 1025) + `"}`, 400, "request.reason"},
		"a huge body":             {http.MethodPost, vote, strings.Repeat(" ", 9<<10), 400, "request.incomplete"},
		"a list":                  {http.MethodPost, vote, `[]`, 400, "request.reason"},
		"two members alike":       {http.MethodPost, vote, `{"reason":"a","reason":"b"}`, 400, "request.duplicate_key"},
		"a vote by GET":           {http.MethodGet, vote, ``, 404, "request.path"},
		"another path":            {http.MethodPost, "/approve", ``, 404, "request.path"},
	} {
		t.Run(name, func(t *testing.T) {
			status, doc := send(tc.method, tc.path, tc.body)
			if status != tc.status || !strings.Contains(doc, `"code":"`+tc.code+`"`) {
				t.Errorf("answer %d %s", status, doc)
			}
		})
	}
	if len(desk.votes) != 0 {
		t.Errorf("votes %v", desk.votes)
	}
	if status, doc := send(http.MethodPost, vote, ""); status != 200 || len(desk.votes) != 1 {
		t.Errorf("answer %d %s to a vote without a reason", status, doc)
	}
}

func TestASocketIsMadeOnlyWhereNobodyElseIs(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "admin.sock")
	first, err := admin.Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != fs.ModeSocket {
		t.Errorf("socket %v, error %v", info.Mode(), err)
	}
	if ln, err := admin.Listen(t.Context(), path); err == nil {
		_ = ln.Close()
		t.Error("a socket that answers was replaced")
	}
	first.SetUnlinkOnClose(false) // as after a crash
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := admin.Listen(t.Context(), path)
	if err != nil {
		t.Fatalf("a socket that was left behind: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Listen(t.Context(), file); err == nil {
		t.Error("a file was replaced")
	}
	if kept, err := os.ReadFile(file); err != nil || string(kept) != "kept" {
		t.Errorf("file %q, error %v", kept, err)
	}
	if _, err := admin.Listen(t.Context(), filepath.Join(dir, strings.Repeat("x", 120))); err == nil || !strings.Contains(err.Error(), "longer") {
		t.Errorf("a long path: %v", err)
	}
	if _, err := admin.NewClient(filepath.Join(dir, "none")).List(t.Context(), false); err == nil || strings.Contains(err.Error(), "http://") {
		t.Errorf("a service that is not there: %v", err)
	}
}

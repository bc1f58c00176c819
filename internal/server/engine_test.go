package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/audit/auditor"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// A whole service: the real engine, chain, approval desk and log behind a
// socket. Only the hook is made up: it does what the argument "do" says.
type whole struct {
	*running
	engine *engine.Engine
	ask    *decisionv1.Client
	dir    string
	close  func()
}

func startWhole(t *testing.T) *whole {
	t.Helper()
	dir := t.TempDir()
	log, err := store.Open(dir, store.Options{Replica: "replica-0"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Options{
		Constructors: chain.Constructors{plan.KindRewrite: hookByArgument}, Recorder: log,
		Approvals: approval.NewMemoryStore(approval.MemoryOptions{}), Replica: "replica-0", RefusalsPerSecond: 1000,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.SetPolicies(t.Context(), plan.NewSet(nil, []*plan.Segment{segment()})); err != nil {
		t.Fatal(err)
	}
	w := &whole{running: start(t, e, nil), engine: e, dir: dir}
	w.close = sync.OnceFunc(func() {
		w.stop()
		if err := <-w.stopped; err != nil {
			t.Errorf("stopped with %v", err)
		}
		if err := log.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(w.close)
	if w.ask, err = decisionv1.New(w.url, decisionv1.Options{}); err != nil {
		t.Fatal(err)
	}
	return w
}

func segment() *plan.Segment {
	return &plan.Segment{
		Source: plan.Source{Namespace: etl.Namespace, Name: "p", Generation: 3}, Enforcement: plan.Enforce, UnlistedTools: plan.VerdictAllow,
		Hooks: []plan.Hook{{
			Name: "h", Kind: plan.KindRewrite, FailurePolicy: plan.FailureDeny, TimeoutMilliseconds: 5000, Tools: []string{"tool"},
		}},
		Approvals: plan.Approvals{
			Consent: plan.ConsentHuman, TimeoutHighSeconds: 60, TimeoutMediumSeconds: 60, UseWithinSeconds: 300, MinimumApprovers: 1, MaxPending: 5,
		},
		Audit: plan.Audit{OnFailure: plan.VerdictDeny},
	}
}

func hookByArgument(*plan.Segment, *plan.Hook) (chain.Hook, error) {
	return chain.HookFunc(func(_ context.Context, c *chain.Call) (chain.Decision, error) {
		switch c.Args["do"] {
		case "deny":
			return chain.Deny{Code: "test.denied", Message: "no"}, nil
		case "ask":
			return chain.AskUser{Code: "test.ask", Prompt: "really?"}, nil
		case "rewrite":
			c.Args["do"] = "allow"
			return chain.Rewrite{Args: c.Args}, nil
		default:
			return chain.Allow{}, nil
		}
	}), nil
}

func do(callID, what string) decisionv1.Request {
	return decisionv1.Request{CallID: callID, Tool: "tool", Args: json.RawMessage(`{"do":"` + what + `"}`)}
}

// logText stops the service, verifies its chains and returns all records.
func (w *whole) logText(t *testing.T) string {
	t.Helper()
	w.close()
	report, err := auditor.Verify(w.dir, auditor.Options{})
	if err != nil || !report.OK() {
		t.Fatalf("chains do not verify: %+v, error %v", report, err)
	}
	var all strings.Builder
	err = filepath.WalkDir(w.dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".jsonl" {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestEveryRefusalIsInAChainThatVerifies(t *testing.T) {
	w := startWhole(t)
	want := map[string]int{"request.method": 1, "request.path": 1}
	w.do(t, http.MethodGet, "/v1/decide?tool=x", "", nil)
	w.do(t, http.MethodPost, "/v2/decide", question, nil)
	for _, c := range requestCases(t, "requests.jsonl") {
		if code := refusalOfCase[c.ID]; code != "" {
			want[code]++
			_, doc := w.do(t, http.MethodPost, "/v1/decide", string(c.document(t)), nil)
			if answer := answerOf(t, doc); answer.Audit == nil || answer.Audit.Hash == "" {
				t.Errorf("%s has no receipt: %s", c.ID, doc)
			}
		}
	}
	text := w.logText(t)
	for code, n := range want {
		if got := strings.Count(text, `"`+code+`"`); got != n {
			t.Errorf("%d records of %s, want %d", got, code, n)
		}
	}
}

// The rows req-protocol-012 and req-protocol-013 of the cases.
func TestACallIDIsForOneCallOnly(t *testing.T) {
	w := startWhole(t)
	first, err := w.ask.Decide(t.Context(), do("c1", "rewrite"))
	if err != nil || first.Decision != decisionv1.Rewrite || string(first.Args) != `{"do":"allow"}` {
		t.Fatalf("answer %+v, error %v", first, err)
	}
	again, err := w.ask.Decide(t.Context(), do("c1", "rewrite"))
	if err != nil || again.Decision != decisionv1.Rewrite || string(again.Args) != string(first.Args) {
		t.Errorf("a retry: answer %+v, error %v", again, err)
	}
	resp, doc := w.do(t, http.MethodPost, "/v1/decide", `{"callId":"c1","tool":"tool","args":{"do":"allow"}}`, nil)
	if answer := answerOf(t, doc); resp.StatusCode != http.StatusConflict || answer.Decision != decisionv1.Deny || answer.Reason.Code != engine.CodeIDReused {
		t.Errorf("the id of another call: answer %d %s", resp.StatusCode, doc)
	}
}

func TestAHeldCallIsAnsweredOnceAPersonHasDecided(t *testing.T) {
	w := startWhole(t)
	held, err := w.ask.Decide(t.Context(), do("", "ask"))
	if err != nil || held.Decision != decisionv1.AskUser || held.Approval == nil {
		t.Fatalf("answer %+v, error %v", held, err)
	}
	if _, err := w.engine.Desk().Vote(t.Context(), held.Approval.ID, approval.Vote{User: "alice", Approve: true, Via: "test"}); err != nil {
		t.Fatal(err)
	}
	if a, err := w.ask.Approval(t.Context(), held.Approval.ID, 0); err != nil || a.State != decisionv1.Approved {
		t.Errorf("approval %+v, error %v", a, err)
	}
	if _, err := w.ask.Approval(t.Context(), "ap-other", 0); err == nil {
		t.Error("an approval that nobody has")
	} else if e, ok := errors.AsType[*decisionv1.StatusError](err); !ok || e.StatusCode != http.StatusNotFound {
		t.Errorf("error %v", err)
	}
	passed, err := w.ask.Decide(t.Context(), do("", "ask"))
	if err != nil || passed.Decision != decisionv1.Allow {
		t.Fatalf("the repeat: answer %+v, error %v", passed, err)
	}
	outcome := decisionv1.Outcome{CallID: passed.CallID, Audit: *passed.Audit, Status: decisionv1.OutcomeOK}
	if _, err := w.ask.Outcome(t.Context(), outcome); err != nil {
		t.Errorf("outcome: %v", err)
	}
	_, err = w.ask.Outcome(t.Context(), outcome)
	if e, ok := errors.AsType[*decisionv1.StatusError](err); !ok || e.StatusCode != http.StatusConflict {
		t.Errorf("the same outcome again: %v", err)
	}
	if second, err := w.ask.Decide(t.Context(), do("", "ask")); err != nil || second.Decision != decisionv1.AskUser {
		t.Errorf("a second repeat: answer %+v, error %v", second, err)
	}
}

func TestStoppingEndsAWaitWithTheSameAsk(t *testing.T) {
	w := startWhole(t)
	held, err := w.ask.Decide(t.Context(), do("", "ask"))
	if err != nil {
		t.Fatal(err)
	}
	events := w.engine.Subscribe(t.Context(), etl)
	waiting := make(chan *decisionv1.Response, 1)
	go func() {
		req := do("", "ask")
		req.WaitSeconds = decisionv1.MaxWaitSeconds
		resp, _ := w.ask.Decide(t.Context(), req)
		waiting <- resp
	}()
	if e := <-events; e.Name != decisionv1.EventAsk {
		t.Errorf("event %+v", e)
	}
	w.stop()
	if got := <-waiting; got.Decision != decisionv1.AskUser || got.Approval == nil || got.Approval.ID != held.Approval.ID {
		t.Errorf("answer %+v", got)
	}
}

func TestStoppingUnderLoadLosesNoAcknowledgedDecision(t *testing.T) {
	w := startWhole(t)
	var (
		mu     sync.Mutex
		hashes []string
		wg     sync.WaitGroup
	)
	enough := make(chan struct{})
	stopOnce := sync.OnceFunc(func() { close(enough) })
	for worker := range 8 {
		wg.Go(func() {
			for n := range 2000 {
				resp, err := w.ask.Decide(t.Context(), do("", []string{"allow", "deny", "rewrite"}[(worker+n)%3]))
				if err != nil {
					return // the service has stopped, and this was not acknowledged
				}
				mu.Lock()
				if hashes = append(hashes, resp.Audit.Hash); len(hashes) == 500 {
					stopOnce()
				}
				mu.Unlock()
			}
		})
	}
	<-enough
	w.stop()
	wg.Wait()
	text := w.logText(t)
	for i, hash := range hashes {
		if !strings.Contains(text, hash) {
			t.Fatalf("decision %s of %s was acknowledged and is not in the log", strconv.Itoa(i+1), strconv.Itoa(len(hashes)))
		}
	}
}

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

const tool = "db_query_sql"

var agent = chain.Caller{Namespace: "team", ServiceAccount: "agent"}

// recorder is an audit log in memory that can be told to fail.
type recorder struct {
	mu      sync.Mutex
	records []stored
	broken  bool
	// before, if set, runs ahead of each append.
	before func(rec *audit.Record)
}

type stored struct {
	Tenant string
	audit.Record
}

func (r *recorder) Append(_ context.Context, tenant string, rec *audit.Record) (audit.Receipt, error) {
	if r.before != nil {
		r.before(rec)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken {
		return audit.Receipt{}, errors.New("disk is full")
	}
	line, hash, err := audit.AppendLine(nil, rec, audit.Place{Seq: uint64(len(r.records))})
	if err != nil || len(line) == 0 {
		return audit.Receipt{}, err
	}
	r.records = append(r.records, stored{Tenant: tenant, Record: *rec})
	return audit.Receipt{Chain: tenant, Seq: uint64(len(r.records) - 1), Hash: hash.String()}, nil
}

func (r *recorder) Commitment(string, []byte) string { return "c" }

func (r *recorder) Ready() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken {
		return errors.New("disk is full")
	}
	return nil
}

func (r *recorder) setBroken(b bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = b
}

// of returns the records of a kind, in order.
func (r *recorder) of(kind audit.Kind) []stored {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []stored
	for _, s := range r.records {
		if s.Kind == kind {
			found = append(found, s)
		}
	}
	return found
}

// hookByArgument makes a hook that does what the argument "do" says.
func hookByArgument(_ *plan.Segment, _ *plan.Hook) (chain.Hook, error) {
	return chain.HookFunc(func(_ context.Context, c *chain.Call) (chain.Decision, error) {
		switch c.Args["do"] {
		case "deny":
			return chain.Deny{Code: "test.denied", Message: "no"}, nil
		case "ask":
			return chain.AskUser{Code: "test.ask", Prompt: "really?", Risk: chain.RiskHigh}, nil
		case "rewrite":
			c.Args["do"] = "allow"
			return chain.Rewrite{Args: c.Args}, nil
		case "panic":
			panic("as asked")
		case "fail":
			return nil, errors.New("as asked")
		default:
			return chain.Allow{Basis: chain.Basis{Rule: "test.rule", Facts: map[string]any{"seen": true}}}, nil
		}
	}), nil
}

func policySegment(namespace string) *plan.Segment {
	return &plan.Segment{
		Source: plan.Source{Namespace: namespace, Name: "p", Generation: 3}, Enforcement: plan.Enforce, UnlistedTools: plan.VerdictAllow,
		Hooks: []plan.Hook{{
			Name: "h", Kind: plan.KindRewrite, FailurePolicy: plan.FailureDeny, TimeoutMilliseconds: 1000, Tools: []string{tool},
		}},
		Approvals: plan.Approvals{
			Consent: plan.ConsentHuman, TimeoutHighSeconds: 60, TimeoutMediumSeconds: 30, UseWithinSeconds: 300, MinimumApprovers: 1, MaxPending: 5,
		},
		Audit: plan.Audit{OnFailure: plan.VerdictDeny},
	}
}

type harness struct {
	*engine.Engine
	log *recorder
}

// start makes an engine with the policies in force.
func start(t *testing.T, set *plan.Set) *harness {
	t.Helper()
	h := &harness{log: &recorder{}}
	e, err := engine.New(engine.Options{
		Constructors: chain.Constructors{plan.KindRewrite: hookByArgument},
		Recorder:     h.log, Approvals: approval.NewMemoryStore(approval.MemoryOptions{}), Replica: "r0",
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Engine = e
	if set != nil {
		if err := e.SetPolicies(t.Context(), set); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func team(change ...func(*plan.Segment)) *plan.Set {
	s := policySegment("team")
	for _, f := range change {
		f(s)
	}
	return plan.NewSet(nil, []*plan.Segment{s})
}

func (h *harness) ask(t *testing.T, args map[string]any) *decisionv1.Response {
	t.Helper()
	return h.Decide(t.Context(), agent, engine.Request{Tool: tool, Args: args})
}

func (h *harness) approve(t *testing.T, id string) {
	t.Helper()
	if _, err := h.Desk().Vote(t.Context(), id, approval.Vote{User: "alice", Approve: true, Via: "test"}); err != nil {
		t.Fatal(err)
	}
}

func do(what string) map[string]any { return map[string]any{"do": what} }

func code(r *decisionv1.Response) string {
	if r.Reason == nil {
		return ""
	}
	return r.Reason.Code
}

func expect(t *testing.T, got *decisionv1.Response, decision decisionv1.Decision, wantCode string) {
	t.Helper()
	if got.Decision != decision || code(got) != wantCode {
		b, _ := json.Marshal(got)
		t.Fatalf("answer is %s, want %s with code %q", b, decision, wantCode)
	}
}

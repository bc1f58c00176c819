package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

func confirmed(id string) map[string]any {
	args := do("ask")
	args[approval.ArgConfirm] = true
	if id != "" {
		args[approval.ArgApproval] = id
	}
	return args
}

func TestAHeldCallPassesOnceAPersonHasApprovedIt(t *testing.T) {
	h := start(t, team())
	asked := h.ask(t, do("ask"))
	expect(t, asked, decisionv1.AskUser, "test.ask")
	if asked.Risk != "High" || asked.Approval.State != decisionv1.Pending || asked.Approval.Prompt != "really?" {
		t.Fatalf("approval %+v with risk %s", asked.Approval, asked.Risk)
	}
	again := h.ask(t, confirmed(asked.Approval.ID))
	expect(t, again, decisionv1.AskUser, "test.ask")
	if again.Approval.ID != asked.Approval.ID {
		t.Error("the same call was put to people twice")
	}
	h.approve(t, asked.Approval.ID)
	passed := h.ask(t, confirmed(asked.Approval.ID))
	expect(t, passed, decisionv1.Allow, "")
	if string(passed.Args) != `{"do":"ask"}` {
		t.Errorf("the tool would get %s", passed.Args)
	}
	expect(t, h.ask(t, confirmed(asked.Approval.ID)), decisionv1.AskUser, "test.ask")

	var states []string
	for _, r := range h.log.of(audit.KindApproval) {
		if r.Approval.ID == asked.Approval.ID {
			states = append(states, r.Approval.State)
		}
	}
	if got := strings.Join(states, " "); got != "Held Approved Used" {
		t.Errorf("recorded steps: %s", got)
	}
}

func TestWhatClosesAnAskNamesItsDecision(t *testing.T) {
	h := start(t, team())
	asked := h.ask(t, do("ask"))
	h.approve(t, asked.Approval.ID)
	steps := h.log.of(audit.KindApproval)
	ref := steps[len(steps)-1].Ref
	if ref == nil || ref.ID != asked.CallID || asked.Audit.Seq != "2" || ref.Seq != 2 {
		t.Errorf("approval refers to %+v, the decision is %s at %s", ref, asked.CallID, asked.Audit.Seq)
	}
}

func TestWhoseWordCounts(t *testing.T) {
	agentConsent := func(s *plan.Segment) { s.Approvals.Consent = plan.ConsentAgent }
	baseline := policySegment("")
	for name, tc := range map[string]struct {
		set  *plan.Set
		args map[string]any
		want decisionv1.Decision
	}{
		"under Human the agent's flag counts for nothing": {team(), confirmed(""), decisionv1.AskUser},
		"under Agent the flag is enough":                  {team(agentConsent), confirmed(""), decisionv1.Allow},
		"under Agent a call without it is asked":          {team(agentConsent), do("ask"), decisionv1.AskUser},
		"under Agent only the literal true counts":        {team(agentConsent), map[string]any{"do": "ask", "confirm_destructive": "true"}, decisionv1.AskUser},
		"the flag never lifts a deny":                     {team(agentConsent), map[string]any{"do": "deny", "confirm_destructive": true}, decisionv1.Deny},
		"the flag never answers a baseline": {
			plan.NewSet([]*plan.Segment{baseline}, team(agentConsent).Tenants()), confirmed(""), decisionv1.AskUser,
		},
		"the flag never replaces two people": {
			team(agentConsent, func(s *plan.Segment) { s.Approvals.MinimumApprovers = 2 }), confirmed(""), decisionv1.AskUser,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := start(t, tc.set).ask(t, tc.args)
			if got.Decision != tc.want {
				t.Errorf("decision %s, want %s", got.Decision, tc.want)
			}
			if a := got.Approval; got.Decision == decisionv1.AskUser && a.AgentMayConsent != strings.HasPrefix(name, "under Agent") &&
				!strings.HasPrefix(name, "the flag never replaces") {
				t.Errorf("the agent's word counts: %v", a.AgentMayConsent)
			}
		})
	}
}

func TestAnApprovedCallIsJudgedAgainWhenItComes(t *testing.T) {
	h := start(t, team())
	asked := h.ask(t, do("ask"))
	h.approve(t, asked.Approval.ID)
	stricter := team(func(s *plan.Segment) { s.UnlistedTools = plan.VerdictDeny; s.Hooks[0].Tools = []string{"other"} })
	if err := h.SetPolicies(t.Context(), stricter); err != nil {
		t.Fatal(err)
	}
	expect(t, h.ask(t, do("ask")), decisionv1.Deny, "tool.unlisted")
	state, err := h.Approval(t.Context(), agent, asked.Approval.ID, 0)
	if err != nil || state.State != decisionv1.Voided {
		t.Errorf("approval under the old policy is %+v, %v", state, err)
	}
}

func TestAnApprovalThatWasUsedButNotRecordedIsSpent(t *testing.T) {
	h := start(t, team())
	asked := h.ask(t, do("ask"))
	h.approve(t, asked.Approval.ID)
	h.log.before = func(rec *audit.Record) {
		if rec.Kind == audit.KindDecision {
			h.log.setBroken(true) // the use was recorded, the decision cannot be
		}
	}
	expect(t, h.ask(t, do("ask")), decisionv1.Deny, engine.CodeAuditUnavailable)
	h.log.before = nil
	h.log.setBroken(false)
	expect(t, h.ask(t, do("ask")), decisionv1.AskUser, "test.ask")
}

// inLine asks in the background and waits until the call is held.
func inLine(t *testing.T, h *harness, req engine.Request) (id string, answer <-chan *decisionv1.Response) {
	t.Helper()
	ch := make(chan *decisionv1.Response, 1)
	go func() { ch <- h.Decide(t.Context(), agent, req) }()
	synctest.Wait()
	held, err := h.Desk().List(t.Context(), approval.Pending)
	if err != nil || len(held) != 1 {
		t.Fatalf("%d calls held, %v", len(held), err)
	}
	return held[0].ID, ch
}

func TestAWaitingRequestIsAnsweredWhenAPersonDecides(t *testing.T) {
	for name, tc := range map[string]struct {
		then func(t *testing.T, h *harness, id string)
		want decisionv1.Decision
		code string
	}{
		"approved": {func(t *testing.T, h *harness, id string) { t.Helper(); h.approve(t, id) }, decisionv1.Allow, ""},
		"refused": {func(t *testing.T, h *harness, id string) {
			t.Helper()
			if _, err := h.Desk().Vote(t.Context(), id, approval.Vote{User: "alice", Via: "test"}); err != nil {
				t.Error(err)
			}
		}, decisionv1.Deny, engine.CodeApprovalRejected},
		"timed out": {func(*testing.T, *harness, string) { time.Sleep(2 * time.Minute) }, decisionv1.Deny, engine.CodeApprovalTimeout},
		"policy changed to one that denies": {func(t *testing.T, h *harness, _ string) {
			t.Helper()
			set := team(func(s *plan.Segment) { s.UnlistedTools = plan.VerdictDeny; s.Hooks[0].Tools = []string{"other"} })
			if err := h.SetPolicies(t.Context(), set); err != nil {
				t.Error(err)
			}
		}, decisionv1.Deny, "tool.unlisted"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := start(t, team())
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				go h.Run(ctx)
				id, answer := inLine(t, h, engine.Request{Tool: tool, Args: do("ask"), Wait: 5 * time.Minute})
				tc.then(t, h, id)
				expect(t, <-answer, tc.want, tc.code)
				stop()
				synctest.Wait()
			})
		})
	}
}

func TestAWaitThatEndsEarlyLeavesTheCallHeld(t *testing.T) {
	for name, end := range map[string]func(stopping chan struct{}){
		"its own time is over":    func(chan struct{}) { time.Sleep(11 * time.Second) },
		"the service is stopping": func(stopping chan struct{}) { close(stopping) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := start(t, team())
				stopping := make(chan struct{})
				id, answer := inLine(t, h, engine.Request{Tool: tool, Args: do("ask"), Wait: 10 * time.Second, Stopping: stopping})
				end(stopping)
				got := <-answer
				expect(t, got, decisionv1.AskUser, "test.ask")
				if got.Approval.ID != id {
					t.Errorf("approval %s, held is %s", got.Approval.ID, id)
				}
				h.approve(t, id)
				expect(t, h.ask(t, do("ask")), decisionv1.Allow, "")
			})
		})
	}
}

func TestACallerSeesItsOwnApprovalsOnly(t *testing.T) {
	h := start(t, team())
	asked := h.ask(t, do("ask"))
	if got, err := h.Approval(t.Context(), agent, asked.Approval.ID, 0); err != nil || got.State != decisionv1.Pending {
		t.Errorf("own approval: %+v, %v", got, err)
	}
	other := agent
	other.ServiceAccount = "other"
	if _, err := h.Approval(t.Context(), other, asked.Approval.ID, 0); err == nil {
		t.Error("another caller can see it")
	}
}

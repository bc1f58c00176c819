package engine_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

func TestEveryDecisionIsRecordedBeforeItIsAnswered(t *testing.T) {
	for what, want := range map[string]struct {
		decision decisionv1.Decision
		code     string
		args     string
	}{
		"allow":   {decisionv1.Allow, "", `{"do":"allow"}`},
		"deny":    {decisionv1.Deny, "test.denied", ""},
		"ask":     {decisionv1.AskUser, "test.ask", ""},
		"rewrite": {decisionv1.Rewrite, "", `{"do":"allow"}`},
		"panic":   {decisionv1.Deny, chain.CodeHookFailed, ""},
		"fail":    {decisionv1.Deny, chain.CodeHookFailed, ""},
	} {
		t.Run(what, func(t *testing.T) {
			h := start(t, team())
			got := h.ask(t, do(what))
			expect(t, got, want.decision, want.code)
			if string(got.Args) != want.args {
				t.Errorf("args %s, want %s", got.Args, want.args)
			}
			records := h.log.of(audit.KindDecision)
			if len(records) != 1 {
				t.Fatalf("%d decision records", len(records))
			}
			r := records[0]
			if r.Tenant != "team/p" || r.Decision != string(want.decision) || r.Reason != want.code || r.Agent != "team/agent" || r.Tool != tool {
				t.Errorf("record %+v", r)
			}
			if got.Audit == nil || got.Audit.Chain != "team/p" || got.CallID != r.ID || got.Policy.Digest != r.Policy || r.PolicyN != "team/p@3" {
				t.Errorf("receipt %+v and record %+v do not belong together", got.Audit, r)
			}
			if diff := cmp.Diff(do(what), r.Args); diff != "" {
				t.Errorf("recorded arguments (-want +got):\n%s", diff)
			}
		})
	}
}

func TestThePolicyIsRecordedBeforeItsFirstDecision(t *testing.T) {
	h := start(t, team())
	h.ask(t, do("allow"))
	h.ask(t, do("allow"))
	records := h.log.of(audit.KindPolicy)
	if len(records) != 1 || records[0].Policy != h.log.of(audit.KindDecision)[0].Policy || h.log.records[0].Kind != audit.KindPolicy {
		t.Errorf("policy records %+v", records)
	}
	if err := h.SetPolicies(t.Context(), team(func(s *plan.Segment) { s.Enforcement = plan.DryRun })); err != nil {
		t.Fatal(err)
	}
	h.ask(t, do("allow"))
	if n := len(h.log.of(audit.KindPolicy)); n != 2 {
		t.Errorf("%d policy records after a change", n)
	}
}

func TestCallersThatNoPolicyGoverns(t *testing.T) {
	stranger := chain.Caller{Namespace: "elsewhere", ServiceAccount: "x"}
	t.Run("before any policy was loaded", func(t *testing.T) {
		h := start(t, nil)
		expect(t, h.ask(t, do("allow")), decisionv1.Deny, engine.CodePolicyInvalid)
		if h.Ready() == nil {
			t.Error("ready without a policy")
		}
	})
	t.Run("are denied, and recorded in the service's chain", func(t *testing.T) {
		h := start(t, team())
		got := h.Decide(t.Context(), stranger, engine.Request{Tool: tool, Args: do("allow")})
		expect(t, got, decisionv1.Deny, engine.CodeNoPolicy)
		r := h.log.of(audit.KindDecision)
		if len(r) != 1 || r[0].Tenant != engine.ServiceTenant || r[0].Agent != "elsewhere/x" {
			t.Errorf("records %+v", r)
		}
	})
	for _, refusal := range []string{plan.RefusalElsewhere, plan.RefusalInvalid} {
		t.Run("whose policy is not decided here: "+refusal, func(t *testing.T) {
			h := start(t, team(func(s *plan.Segment) { s.Refusal, s.Hooks[0].Kind = refusal, "unheard-of" }))
			expect(t, h.ask(t, do("allow")), decisionv1.Deny, refusal)
		})
	}
	t.Run("cannot use another service account's policy", func(t *testing.T) {
		h := start(t, team(func(s *plan.Segment) { s.ServiceAccounts = []string{"other"} }))
		expect(t, h.ask(t, do("allow")), decisionv1.Deny, engine.CodeNoPolicy)
	})
}

func TestWhatCannotBeRecordedIsDenied(t *testing.T) {
	lenient := func(s *plan.Segment) { s.Audit.OnFailure = plan.VerdictAllow }
	for name, tc := range map[string]struct {
		set  *plan.Set
		what string
		want decisionv1.Decision
		code string
	}{
		"by default":                               {team(), "allow", decisionv1.Deny, engine.CodeAuditUnavailable},
		"unless the policy says otherwise":         {team(lenient), "allow", decisionv1.Allow, ""},
		"a deny is denied whatever the policy":     {team(lenient), "deny", decisionv1.Deny, engine.CodeAuditUnavailable},
		"an ask is denied whatever the policy":     {team(lenient), "ask", decisionv1.Deny, engine.CodeAuditUnavailable},
		"a rewrite runs where the policy wants it": {team(lenient), "rewrite", decisionv1.Rewrite, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, tc.set)
			h.log.setBroken(true)
			got := h.ask(t, do(tc.what))
			expect(t, got, tc.want, tc.code)
			if got.Audit != nil {
				t.Error("a receipt for a record that is not there")
			}
			if h.Ready() == nil {
				t.Error("ready although nothing can be recorded")
			}
			h.log.setBroken(false)
			expect(t, h.ask(t, do("allow")), decisionv1.Allow, "")
		})
	}
}

func TestDryRunAnswersAllowAndRecordsWhatItWouldDo(t *testing.T) {
	h := start(t, team(func(s *plan.Segment) { s.Enforcement = plan.DryRun }))
	for what, would := range map[string]string{"deny": "Deny", "ask": "AskUser", "rewrite": "Rewrite", "allow": "Allow"} {
		got := h.ask(t, do(what))
		expect(t, got, decisionv1.Allow, "")
		if string(got.Args) != `{"do":"`+what+`"}` {
			t.Errorf("%s: args %s", what, got.Args)
		}
		records := h.log.of(audit.KindDecision)
		r := records[len(records)-1]
		if r.Would != would || r.Mode != "DryRun" {
			t.Errorf("%s: would %q in mode %q", what, r.Would, r.Mode)
		}
		if reason := r.Extra["would_reason"]; would == "Deny" && (r.Hook != "h" || reason != "test.denied") {
			t.Errorf("%s: by hook %q for reason %v", what, r.Hook, reason)
		}
	}
	if steps := h.log.of(audit.KindApproval); len(steps) > 0 {
		t.Errorf("dry run held a call: %+v", steps)
	}
}

func TestABadSetOfPoliciesChangesNothing(t *testing.T) {
	h := start(t, team())
	bad := team(func(s *plan.Segment) { s.Hooks[0].Kind = "unheard-of" })
	if err := h.SetPolicies(t.Context(), bad); err == nil {
		t.Fatal("a set with an unknown hook was taken")
	}
	expect(t, h.ask(t, do("deny")), decisionv1.Deny, "test.denied")
}

func TestARetryIsAnsweredLikeTheFirstAttempt(t *testing.T) {
	request := func(args map[string]any) engine.Request {
		return engine.Request{CallID: "call-1", Tool: tool, Args: args}
	}
	t.Run("with the same receipt, and a record of the repeat", func(t *testing.T) {
		h := start(t, team())
		first := h.Decide(t.Context(), agent, request(do("rewrite")))
		again := h.Decide(t.Context(), agent, request(do("rewrite")))
		if diff := cmp.Diff(first, again); diff != "" {
			t.Errorf("second answer (-first +second):\n%s", diff)
		}
		r := h.log.of(audit.KindDecision)
		if len(r) != 2 || r[0].Repeat || !r[1].Repeat || r[1].ReqID != "call-1" {
			t.Errorf("records %+v", r)
		}
	})
	t.Run("not with other arguments", func(t *testing.T) {
		h := start(t, team())
		h.Decide(t.Context(), agent, request(do("allow")))
		expect(t, h.Decide(t.Context(), agent, request(do("rewrite"))), decisionv1.Deny, engine.CodeIDReused)
	})
	t.Run("not for another caller", func(t *testing.T) {
		h := start(t, team())
		h.Decide(t.Context(), agent, request(do("deny")))
		other := chain.Caller{Namespace: "team", ServiceAccount: "other"}
		expect(t, h.Decide(t.Context(), other, request(do("allow"))), decisionv1.Allow, "")
	})
	t.Run("not under another policy", func(t *testing.T) {
		h := start(t, team())
		expect(t, h.Decide(t.Context(), agent, request(do("deny"))), decisionv1.Deny, "test.denied")
		if err := h.SetPolicies(t.Context(), team(func(s *plan.Segment) { s.Enforcement = plan.Off })); err != nil {
			t.Fatal(err)
		}
		expect(t, h.Decide(t.Context(), agent, request(do("deny"))), decisionv1.Allow, "")
	})
	t.Run("not when the first attempt failed for a reason that passes", func(t *testing.T) {
		h := start(t, team())
		h.log.setBroken(true)
		expect(t, h.Decide(t.Context(), agent, request(do("allow"))), decisionv1.Deny, engine.CodeAuditUnavailable)
		h.log.setBroken(false)
		expect(t, h.Decide(t.Context(), agent, request(do("allow"))), decisionv1.Allow, "")
	})
	t.Run("an ask is not settled", func(t *testing.T) {
		h := start(t, team())
		asked := h.Decide(t.Context(), agent, request(do("ask")))
		expect(t, asked, decisionv1.AskUser, "test.ask")
		h.approve(t, asked.Approval.ID)
		expect(t, h.Decide(t.Context(), agent, request(do("ask"))), decisionv1.Allow, "")
	})
	t.Run("many at once decide once", func(t *testing.T) {
		h := start(t, team())
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() { expect(t, h.Decide(t.Context(), agent, request(do("rewrite"))), decisionv1.Rewrite, "") })
		}
		wg.Wait()
		firsts := 0
		for _, r := range h.log.of(audit.KindDecision) {
			if !r.Repeat {
				firsts++
			}
		}
		if firsts != 1 {
			t.Errorf("%d first attempts", firsts)
		}
	})
}

func TestACallerWhoLeftIsRecordedAndNotAllowed(t *testing.T) {
	h := start(t, team())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := h.Decide(ctx, agent, engine.Request{Tool: tool, Args: do("allow")}); got.Decision != decisionv1.Deny {
		t.Errorf("decision %s", got.Decision)
	}
	if n := len(h.log.of(audit.KindDecision)); n != 1 {
		t.Errorf("%d records", n)
	}
}

func TestNoTextOfTheCallersCarriesASecretIntoARecord(t *testing.T) {
	const canary = "ghp_0123456789abcdefghijABCDEFGHIJ456789"
	h := start(t, team())
	h.Decide(t.Context(), agent, engine.Request{CallID: canary, Session: canary, Tool: tool, Args: do("ask")})
	asked := h.Decide(t.Context(), agent, engine.Request{Session: canary, Tool: tool, Args: do("ask")})
	h.approve(t, asked.Approval.ID)
	allowed := h.ask(t, do("allow"))
	o := outcomeOf(allowed)
	o.ResultDigest, o.Error, o.Audit.Hash = canary, canary, canary
	if _, err := h.Outcome(t.Context(), agent, o); err != nil {
		t.Fatal(err)
	}
	for i := range h.log.records {
		line, _, err := audit.AppendLine(nil, &h.log.records[i].Record, audit.Place{})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(line), canary) {
			t.Errorf("a secret in %s", line)
		}
	}
	held, err := h.Desk().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range held {
		if strings.Contains(a.Session+a.Tool, canary) {
			t.Errorf("people see a secret: %+v", a)
		}
	}
}

func TestRetriesDoNotFillTheMemory(t *testing.T) {
	h := start(t, team())
	big := strings.Repeat("x", 512<<10)
	for i := range 200 { // 100 MiB of arguments
		h.Decide(t.Context(), agent, engine.Request{CallID: strconv.Itoa(i), Tool: tool, Args: map[string]any{"big": big}})
	}
	before := len(h.log.of(audit.KindDecision))
	h.Decide(t.Context(), agent, engine.Request{CallID: "0", Tool: tool, Args: map[string]any{"big": big}})
	h.Decide(t.Context(), agent, engine.Request{CallID: "199", Tool: tool, Args: map[string]any{"big": big}})
	r := h.log.of(audit.KindDecision)[before:]
	if len(r) != 2 || r[0].Repeat || !r[1].Repeat {
		t.Errorf("the oldest call is remembered: %v, the latest: %v", r[0].Repeat, r[1].Repeat)
	}
}

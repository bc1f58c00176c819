package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

func TestABaselineThatCannotDecideDeniesEveryone(t *testing.T) {
	bad := policySegment("")
	bad.Refusal = plan.RefusalInvalid
	e := newEngine(t, new(int), plan.VerdictAllow)
	put(t, e, plan.NewSet([]*plan.Segment{bad}, []*plan.Segment{policySegment("team")}))
	for _, caller := range []chain.Caller{agent, {Namespace: "stranger", ServiceAccount: "x"}} {
		expect(t, e.Decide(t.Context(), caller, engine.Request{Tool: tool, Args: do("allow")}), decisionv1.Deny, plan.RefusalInvalid)
	}
}

func TestWhatASetDoesNotCoverIsDecidedElsewhere(t *testing.T) {
	e := newEngine(t, new(int), plan.VerdictAllow)
	put(t, e, plan.NewSet(nil, []*plan.Segment{policySegment("team")}).Within("team"))
	expect(t, e.Decide(t.Context(), agent, engine.Request{Tool: tool, Args: do("allow")}), decisionv1.Allow, "")
	stranger := chain.Caller{Namespace: "stranger", ServiceAccount: "x"}
	expect(t, e.Decide(t.Context(), stranger, engine.Request{Tool: tool, Args: do("allow")}), decisionv1.Deny, plan.RefusalElsewhere)
}

func TestOneEditedPolicyBuildsOneChain(t *testing.T) {
	built := 0
	e := newEngine(t, &built, plan.VerdictDeny)
	baseline := []*plan.Segment{policySegment("")}
	tenants := []*plan.Segment{policySegment("a"), policySegment("b"), policySegment("c")}
	put(t, e, plan.NewSet(baseline, tenants))
	if built != 4 {
		t.Errorf("at first %d hooks were made, want 4", built)
	}
	built = 0
	tenants[1] = policySegment("b")
	tenants[1].Hooks[0].Tools = []string{"another"}
	put(t, e, plan.NewSet(baseline, tenants))
	if built != 1 {
		t.Errorf("one edit made %d hooks, want 1", built)
	}
}

func newEngine(tb testing.TB, built *int, unmatched plan.Verdict) *engine.Engine {
	tb.Helper()
	e, err := engine.New(engine.Options{
		Constructors: chain.Constructors{plan.KindRewrite: func(s *plan.Segment, h *plan.Hook) (chain.Hook, error) {
			*built++
			return hookByArgument(s, h)
		}},
		Recorder: &recorder{}, Approvals: approval.NewMemoryStore(approval.MemoryOptions{}), Unmatched: unmatched,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func put(tb testing.TB, e *engine.Engine, set *plan.Set) {
	tb.Helper()
	if err := e.SetPolicies(context.WithoutCancel(tb.Context()), set); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkOneEditOfMany is one changed policy of ten thousand.
func BenchmarkOneEditOfMany(b *testing.B) {
	const many = 10_000
	e := newEngine(b, new(int), plan.VerdictDeny)
	baseline := []*plan.Segment{policySegment("")}
	tenants := make([]*plan.Segment, many)
	for i := range tenants {
		tenants[i] = policySegment(fmt.Sprintf("t%d", i))
	}
	put(b, e, plan.NewSet(baseline, tenants))
	b.ReportAllocs()
	for b.Loop() {
		edited := *tenants[many/2]
		edited.Source.Generation++
		tenants[many/2] = &edited
		if err := e.SetPolicies(b.Context(), plan.NewSet(baseline, tenants)); err != nil {
			b.Fatal(err)
		}
	}
}

// TestSwitchingOffLeavesARecordThatNamesIt is what docs/operations.md promises
// of an emergency.
func TestSwitchingOffLeavesARecordThatNamesIt(t *testing.T) {
	baseline := policySegment("")
	baseline.Source = plan.Source{Name: "platform", Generation: 7}
	tenant := policySegment("team")
	h := start(t, plan.NewSet([]*plan.Segment{baseline}, []*plan.Segment{tenant}))
	put := func(set *plan.Set) {
		t.Helper()
		if err := h.SetPolicies(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		h.ask(t, do("allow"))
	}
	h.ask(t, do("allow"))
	off := policySegment("team")
	off.Enforcement, off.Source.Generation = plan.Off, 4
	put(plan.NewSet([]*plan.Segment{baseline}, []*plan.Segment{off}))
	put(plan.NewSet(nil, []*plan.Segment{off}))

	var got []string
	for _, r := range h.log.of(audit.KindPolicy) {
		b, err := json.Marshal(r.Extra)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Tenant+" "+r.PolicyN+" "+string(b))
	}
	platform := `"baseline":[{"digest":"` + baseline.Digest() + `","enforcement":"Enforce","policy":"platform@7"}],"baseline_policies":1`
	want := []string{
		`team/p team/p@3 {` + platform + `,"digest":"` + tenant.Digest() + `","enforcement":"Enforce"}`,
		`team/p team/p@4 {` + platform + `,"digest":"` + off.Digest() + `","enforcement":"Off"}`,
		`team/p team/p@4 {"baseline":[],"baseline_policies":0,"digest":"` + off.Digest() + `","enforcement":"Off"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records of policies (-want +got):\n%s", diff)
	}
}

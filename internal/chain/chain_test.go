package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

const guarded = "db_query_sql"

// scripted binds every kind of hook to a script, looked up by the hook's name.
type scripted map[string]chain.HookFunc

func (s scripted) constructors() chain.Constructors {
	construct := func(_ *plan.Segment, h *plan.Hook) (chain.Hook, error) {
		f, ok := s[h.Name]
		if !ok {
			return nil, errors.New("no script")
		}
		return f, nil
	}
	return chain.Constructors{plan.KindDestructiveSQL: construct, plan.KindRewrite: construct}
}

func hook(name string) plan.Hook {
	return plan.Hook{
		Name: name, Kind: plan.KindDestructiveSQL, FailurePolicy: plan.FailureDeny,
		TimeoutMilliseconds: 1000, Tools: []string{guarded},
	}
}

func segment(namespace string, hooks ...plan.Hook) *plan.Segment {
	return &plan.Segment{
		Source:        plan.Source{Namespace: namespace, Name: "p"},
		Enforcement:   plan.Enforce,
		UnlistedTools: plan.VerdictAllow,
		Hooks:         hooks,
		Approvals:     plan.Approvals{Consent: plan.ConsentHuman, TimeoutHighSeconds: 600, TimeoutMediumSeconds: 300},
	}
}

func tenant(hooks ...plan.Hook) *plan.Plan { return &plan.Plan{Tenant: segment("team", hooks...)} }

func build(t *testing.T, p *plan.Plan, s scripted) *chain.Chain {
	t.Helper()
	c, err := chain.Build(p, s.constructors())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func call(args map[string]any) *chain.Call {
	return &chain.Call{ToolAsCalled: guarded, Args: args}
}

func allow(context.Context, *chain.Call) (chain.Decision, error) { return chain.Allow{}, nil }

func deny(code string) chain.HookFunc {
	return func(context.Context, *chain.Call) (chain.Decision, error) {
		return chain.Deny{Code: code, Message: "no"}, nil
	}
}

func ask(code string, risk chain.Risk) chain.HookFunc {
	return func(context.Context, *chain.Call) (chain.Decision, error) {
		return chain.AskUser{Code: code, Prompt: code + "?", Risk: risk}, nil
	}
}

// set rewrites one argument.
func set(name string, value any) chain.HookFunc {
	return func(_ context.Context, c *chain.Call) (chain.Decision, error) {
		c.Args[name] = value
		return chain.Rewrite{Args: c.Args}, nil
	}
}

// answer is what a result comes to, for comparing.
type answer struct {
	Effect chain.Effect
	Code   string
	Hook   string
	Args   map[string]any
}

func summary(r *chain.Result) answer {
	a := answer{Effect: r.Effect(), Hook: r.Hook, Args: r.Args}
	switch d := r.Decision.(type) {
	case chain.Deny:
		a.Code, a.Args = d.Code, nil
	case chain.AskUser:
		a.Code = d.Code
	}
	return a
}

func TestHooksAreCombined(t *testing.T) {
	denyIf := func(name string, value any) chain.HookFunc {
		return func(_ context.Context, c *chain.Call) (chain.Decision, error) {
			if c.Args[name] == value {
				return chain.Deny{Code: "seen"}, nil
			}
			return chain.Allow{}, nil
		}
	}
	for name, tc := range map[string]struct {
		hooks []chain.HookFunc
		want  answer
	}{
		"no hook allows what the policy does not restrict": {
			nil, answer{Effect: chain.EffectAllow, Args: map[string]any{"a": "1"}},
		},
		"all allow": {
			[]chain.HookFunc{allow, allow}, answer{Effect: chain.EffectAllow, Args: map[string]any{"a": "1"}},
		},
		"the first deny wins": {
			[]chain.HookFunc{allow, deny("one"), deny("two")}, answer{Effect: chain.EffectDeny, Code: "one", Hook: "h1"},
		},
		"a later deny beats an ask": {
			[]chain.HookFunc{ask("q", chain.RiskLow), deny("one")}, answer{Effect: chain.EffectDeny, Code: "one", Hook: "h1"},
		},
		"an ask beats allow and rewrite, and is about the rewritten arguments": {
			[]chain.HookFunc{ask("q", chain.RiskLow), set("b", "2"), allow},
			answer{Effect: chain.EffectAskUser, Code: "q", Hook: "h0", Args: map[string]any{"a": "1", "b": "2"}},
		},
		"rewrites compose": {
			[]chain.HookFunc{set("b", "2"), set("c", "3")},
			answer{Effect: chain.EffectRewrite, Hook: "h0", Args: map[string]any{"a": "1", "b": "2", "c": "3"}},
		},
		"what a hook rewrites the next one reads": {
			[]chain.HookFunc{set("a", "2"), denyIf("a", "2")}, answer{Effect: chain.EffectDeny, Code: "seen", Hook: "h1"},
		},
		"no rewrite escapes an earlier hook": {
			[]chain.HookFunc{denyIf("a", "2"), set("a", "2")}, answer{Effect: chain.EffectDeny, Code: "seen", Hook: "h0"},
		},
		"a rewrite to the same arguments is an allow": {
			[]chain.HookFunc{set("a", "1")}, answer{Effect: chain.EffectAllow, Args: map[string]any{"a": "1"}},
		},
		"rewriters that undo each other are denied": {
			[]chain.HookFunc{set("a", "2"), set("a", "1")}, answer{Effect: chain.EffectDeny, Code: chain.CodeRewriteDiverged},
		},
		"a deny without a code still denies": {
			[]chain.HookFunc{deny("")}, answer{Effect: chain.EffectDeny, Code: "hook.denied", Hook: "h0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := scripted{}
			var hooks []plan.Hook
			for i, f := range tc.hooks {
				n := "h" + string(rune('0'+i))
				s[n] = f
				hooks = append(hooks, hook(n))
			}
			got := build(t, tenant(hooks...), s).Decide(t.Context(), call(map[string]any{"a": "1"}))
			if diff := cmp.Diff(tc.want, summary(got)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAFailedHookDeniesUnlessItsPolicyIgnoresFailures(t *testing.T) {
	var typedNil *chain.Allow
	for name, tc := range map[string]struct {
		f     chain.HookFunc
		cause string
	}{
		"panic":              {func(context.Context, *chain.Call) (chain.Decision, error) { panic("secret") }, "panic"},
		"error":              {func(context.Context, *chain.Call) (chain.Decision, error) { return chain.Allow{}, errors.New("x") }, "error"},
		"no decision":        {func(context.Context, *chain.Call) (chain.Decision, error) { return nil, nil }, "undecided"},
		"typed nil":          {func(context.Context, *chain.Call) (chain.Decision, error) { return typedNil, nil }, "undecided"},
		"rewrite to nothing": {func(context.Context, *chain.Call) (chain.Decision, error) { return chain.Rewrite{}, nil }, "undecided"},
		"hang": {func(context.Context, *chain.Call) (chain.Decision, error) {
			time.Sleep(time.Hour)
			return chain.Allow{}, nil
		}, "timeout"},
		"late allow": {func(ctx context.Context, _ *chain.Call) (chain.Decision, error) {
			<-ctx.Done()
			return chain.Allow{}, nil
		}, "timeout"},
		"nil map in a panic": {func(_ context.Context, c *chain.Call) (chain.Decision, error) {
			c.Resolved["x"] = "y"
			return chain.Allow{}, nil
		}, "panic"},
		"pointer to decision": {func(context.Context, *chain.Call) (chain.Decision, error) { return &chain.Allow{}, nil }, "undecided"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := scripted{"bad": tc.f, "good": allow}
				strict := build(t, tenant(hook("bad"), hook("good")), s).Decide(t.Context(), call(map[string]any{}))
				if diff := cmp.Diff(answer{Effect: chain.EffectDeny, Code: chain.CodeHookFailed, Hook: "bad"}, summary(strict)); diff != "" {
					t.Errorf("fail closed (-want +got):\n%s", diff)
				}
				if len(strict.Failures) != 1 || strict.Failures[0].Cause != tc.cause || strict.Failures[0].Ignored {
					t.Errorf("failures %+v, want one %s", strict.Failures, tc.cause)
				}
				lenient := hook("bad")
				lenient.FailurePolicy = plan.FailureIgnore
				ignored := build(t, tenant(lenient, hook("good")), s).Decide(t.Context(), call(map[string]any{}))
				if ignored.Effect() != chain.EffectAllow || len(ignored.Failures) != 1 || !ignored.Failures[0].Ignored {
					t.Errorf("ignored failure gave %s with %+v", ignored.Effect(), ignored.Failures)
				}
				time.Sleep(2 * time.Hour) // let the hanging goroutines of the bubble end
			})
		})
	}
}

func TestAHookThatHangsIsNotStartedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var started atomic.Int32
		c := build(t, tenant(hook("hang")), scripted{"hang": func(context.Context, *chain.Call) (chain.Decision, error) {
			started.Add(1)
			<-release
			return chain.Allow{}, nil
		}})
		for range 100 {
			if r := c.Decide(t.Context(), call(map[string]any{})); r.Effect() != chain.EffectDeny {
				t.Fatalf("decision %s of a hanging hook", r.Effect())
			}
		}
		if n := started.Load(); n > 64 {
			t.Errorf("hook was started %d times while it hung", n)
		}
		close(release)
		synctest.Wait()
		if r := c.Decide(t.Context(), call(map[string]any{})); r.Effect() != chain.EffectAllow {
			t.Errorf("decision %s after the hook had recovered", r.Effect())
		}
	})
}

func TestACallerWhoLeftIsNotAllowed(t *testing.T) {
	h := hook("h")
	h.FailurePolicy = plan.FailureIgnore
	c := build(t, tenant(h), scripted{"h": allow})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := c.Decide(ctx, call(map[string]any{})); r.Effect() != chain.EffectDeny {
		t.Errorf("decision %s", r.Effect())
	}
}

func TestHooksGetACopy(t *testing.T) {
	args := map[string]any{"list": []any{json.Number("1")}, "obj": map[string]any{"k": "v"}}
	c := build(t, tenant(hook("vandal"), hook("witness")), scripted{
		"vandal": func(_ context.Context, c *chain.Call) (chain.Decision, error) {
			c.Args["list"].([]any)[0] = "changed"
			c.Args["obj"].(map[string]any)["k"] = "changed"
			c.Args["new"] = true
			c.Tool, c.Hints["h"], c.Resolved["a"] = "other", "changed", "changed"
			return chain.Allow{}, nil
		},
		"witness": func(_ context.Context, c *chain.Call) (chain.Decision, error) {
			if c.Args["new"] != nil || c.Args["list"].([]any)[0] != json.Number("1") || c.Tool != guarded ||
				c.Hints["h"] != "x" || c.Resolved["a"] != "b" {
				return chain.Deny{Code: "saw the change"}, nil
			}
			return chain.Allow{}, nil
		},
	})
	in := call(args)
	in.Hints, in.Resolved = map[string]any{"h": "x"}, map[string]string{"a": "b"}
	r := c.Decide(t.Context(), in)
	want := map[string]any{"list": []any{json.Number("1")}, "obj": map[string]any{"k": "v"}}
	if diff := cmp.Diff(answer{Effect: chain.EffectAllow, Args: want}, summary(r)); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, args); diff != "" {
		t.Errorf("the caller's arguments (-want +got):\n%s", diff)
	}
}

func TestAsksOfTheLastPassBecomeOne(t *testing.T) {
	c := build(t, tenant(hook("a"), hook("b"), hook("c")), scripted{
		"a": ask("first", chain.RiskLow), "b": set("x", "y"), "c": ask("second", chain.RiskHigh),
	})
	r := c.Decide(t.Context(), call(map[string]any{}))
	if r.Effect() != chain.EffectAskUser || len(r.Asks) != 2 {
		t.Fatalf("effect %s with %d asks", r.Effect(), len(r.Asks))
	}
	if r.Asks[0].Code != "first" || r.Hook != "a" {
		t.Errorf("first prompt is %q of %q", r.Asks[0].Code, r.Hook)
	}
	if r.Risk() != chain.RiskHigh {
		t.Errorf("risk %s", r.Risk())
	}
	if r.Asks[0].Timeout() != 5*time.Minute || r.Asks[1].Timeout() != 10*time.Minute {
		t.Errorf("time-outs %s and %s", r.Asks[0].Timeout(), r.Asks[1].Timeout())
	}
}

func TestTheStepsTellWhoRewroteTheCall(t *testing.T) {
	c := build(t, tenant(hook("allows"), hook("sets")), scripted{
		"allows": allow,
		"sets": func(_ context.Context, c *chain.Call) (chain.Decision, error) {
			if c.Args["x"] == "y" {
				return chain.Allow{Basis: chain.Basis{Rule: "unchanged"}}, nil
			}
			c.Args["x"] = "y"
			return chain.Rewrite{Args: c.Args, Basis: chain.Basis{Rule: "changed"}}, nil
		},
	})
	r := c.Decide(t.Context(), call(map[string]any{}))
	if len(r.Steps) != 2 || r.Steps[1].Basis.Rule != "changed" || r.Steps[1].Effect != chain.EffectRewrite || r.Hook != "sets" {
		t.Errorf("steps %+v, hook %q", r.Steps, r.Hook)
	}
}

func TestBuildReportsEveryHookThatCannotBeMade(t *testing.T) {
	unknown := hook("x")
	unknown.Kind = "no-such-kind"
	_, err := chain.Build(tenant(unknown, hook("unscripted")), scripted{}.constructors())
	if err == nil {
		t.Fatal("a chain was built")
	}
	for _, want := range []string{"policy team/p, hook x", "no-such-kind", "hook unscripted"} {
		if !containsText(err, want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
}

package chain_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// A world is a random chain whose hooks tell what they saw last.
type world struct {
	plan  *plan.Plan
	hooks scripted
	seen  map[string]map[string]any // hook → the arguments it judged last
}

// randomWorld makes up to six hooks, each of which allows, asks, rewrites a
// small counter, denies on some values or fails, depending on its arguments.
func randomWorld(rng *rand.Rand) *world {
	w := &world{hooks: scripted{}, seen: map[string]map[string]any{}}
	segments := make([][]plan.Hook, 2)
	for i := range rng.IntN(6) + 1 {
		name := fmt.Sprintf("h%d", i)
		h := hook(name)
		if rng.IntN(4) == 0 {
			h.FailurePolicy = plan.FailureIgnore
		}
		segments[i*2/6] = append(segments[i*2/6], h)
		behaviour, value := rng.IntN(6), fmt.Sprint(rng.IntN(3))
		w.hooks[name] = func(_ context.Context, c *chain.Call) (chain.Decision, error) {
			w.seen[name] = strictjson.CloneObject(c.Args)
			switch {
			case behaviour == 0 && c.Args["x"] == value:
				return chain.Deny{Code: name}, nil
			case behaviour == 1 && c.Args["x"] == value:
				return chain.AskUser{Code: name}, nil
			case behaviour == 2:
				c.Args["x"] = value
				return chain.Rewrite{Args: c.Args}, nil
			case behaviour == 3 && c.Args["x"] == value:
				c.Args["x"] = value + "'"
				return chain.Rewrite{Args: c.Args}, nil
			case behaviour == 4 && c.Args["x"] == value:
				return nil, nil
			default:
				return chain.Allow{}, nil
			}
		}
	}
	w.plan = &plan.Plan{Baseline: []*plan.Segment{segment("", segments[0]...)}, Tenant: segment("team", segments[1]...)}
	return w
}

func TestLawsHoldForAnyChain(t *testing.T) {
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 0))
		w := randomWorld(rng)
		args := map[string]any{"x": fmt.Sprint(rng.IntN(3))}
		before := strictjson.CloneObject(args)
		c := build(t, w.plan, w.hooks)
		r := c.Decide(t.Context(), call(args))

		if !strictjson.Equal(args, before) {
			t.Fatalf("seed %d: the caller's arguments were changed", seed)
		}
		if r.Passes < 1 || r.Passes > 4 {
			t.Fatalf("seed %d: %d passes", seed, r.Passes)
		}
		switch same := strictjson.Equal(r.Args, before); r.Effect() {
		case chain.EffectDeny:
			if len(r.Asks) > 0 {
				t.Fatalf("seed %d: a deny that asks", seed)
			}
		case chain.EffectAskUser:
			if len(r.Asks) == 0 {
				t.Fatalf("seed %d: an ask without a question", seed)
			}
		case chain.EffectAllow:
			if !same {
				t.Fatalf("seed %d: allowed with other arguments", seed)
			}
		case chain.EffectRewrite:
			if same {
				t.Fatalf("seed %d: a rewrite that changes nothing", seed)
			}
		}
		if r.Effect() != chain.EffectDeny {
			for name := range w.hooks {
				if !strictjson.Equal(w.seen[name], r.Args) {
					t.Fatalf("seed %d: hook %s has not judged the final arguments", seed, name)
				}
			}
			if again := c.Decide(t.Context(), call(r.Args)); again.Effect() == chain.EffectRewrite || again.Effect() == chain.EffectDeny {
				t.Fatalf("seed %d: what was let through is %s when it comes again", seed, again.Effect())
			}
		}
		denyIsTerminal(t, seed, rng, w, args)
		dryRunTouchesNothing(t, seed, w, args)
	}
}

// denyIsTerminal puts a hook that denies everything anywhere into the tenant's
// chain: the answer is then a Deny, whatever the others say.
func denyIsTerminal(t *testing.T, seed uint64, rng *rand.Rand, w *world, args map[string]any) {
	t.Helper()
	w.hooks["deny-all"] = deny("deny-all")
	defer delete(w.hooks, "deny-all")
	at := rng.IntN(len(w.plan.Tenant.Hooks) + 1)
	hooks := append([]plan.Hook{}, w.plan.Tenant.Hooks[:at]...)
	hooks = append(hooks, hook("deny-all"))
	hooks = append(hooks, w.plan.Tenant.Hooks[at:]...)
	p := &plan.Plan{Baseline: w.plan.Baseline, Tenant: segment("team", hooks...)}
	if r := build(t, p, w.hooks).Decide(t.Context(), call(args)); r.Effect() != chain.EffectDeny {
		t.Fatalf("seed %d: %s although a hook denies everything", seed, r.Effect())
	}
}

// dryRunTouchesNothing: a tenant in DryRun is answered like one without hooks.
func dryRunTouchesNothing(t *testing.T, seed uint64, w *world, args map[string]any) {
	t.Helper()
	dry := *w.plan.Tenant
	dry.Enforcement = plan.DryRun
	got := build(t, &plan.Plan{Baseline: w.plan.Baseline, Tenant: &dry}, w.hooks).Decide(t.Context(), call(args))
	want := build(t, &plan.Plan{Baseline: w.plan.Baseline}, w.hooks).Decide(t.Context(), call(args))
	if got.Effect() != want.Effect() || !strictjson.Equal(got.Args, want.Args) {
		t.Fatalf("seed %d: dry run gave %s, the baseline alone %s", seed, got.Effect(), want.Effect())
	}
}

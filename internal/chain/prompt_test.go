package chain_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

type promptHook struct{ chain.HookFunc }

func (promptHook) Prompt() bool { return true }

func TestAHookThatNeverWaitsIsHeldToTheSameRules(t *testing.T) {
	for name, decide := range map[string]chain.HookFunc{
		"it panics": func(context.Context, *chain.Call) (chain.Decision, error) { panic("secret") },
		"it errs":   func(context.Context, *chain.Call) (chain.Decision, error) { return nil, errors.New("no") },
		"it decides nothing": func(context.Context, *chain.Call) (chain.Decision, error) {
			return nil, nil
		},
		"it is too late": func(context.Context, *chain.Call) (chain.Decision, error) {
			time.Sleep(time.Hour) // in the bubble
			return chain.Allow{}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				segment := &plan.Segment{
					Source: plan.Source{Namespace: "a", Name: "p"}, Enforcement: plan.Enforce, UnlistedTools: plan.VerdictAllow,
					Hooks: []plan.Hook{{Name: "h", Kind: "prompt", Tools: []string{"x"}, TimeoutMilliseconds: 100}},
				}
				c, err := chain.Build(&plan.Plan{Tenant: segment}, chain.Constructors{
					"prompt": func(*plan.Segment, *plan.Hook) (chain.Hook, error) { return promptHook{decide}, nil },
				})
				if err != nil {
					t.Fatal(err)
				}
				args := map[string]any{"k": "v"}
				r := c.Decide(t.Context(), &chain.Call{ToolAsCalled: "x", Args: args})
				if d, ok := r.Decision.(chain.Deny); !ok || d.Code != chain.CodeHookFailed {
					t.Errorf("decision is %#v, want Deny %s", r.Decision, chain.CodeHookFailed)
				}
			})
		})
	}
}

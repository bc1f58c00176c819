package chain

import (
	"context"
	"fmt"
	"slices"

	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
	"github.com/hookpolicy/hookpolicy/internal/toolname"
)

// maxPasses bounds how often a chain runs over one call.
const maxPasses = 4

// A stage is the segments that run together over a call.
type stage struct {
	segments []*segment
	// names know the tools: the baseline's alone first, so that no tenant can
	// take a call out of the baseline's sight by guarding a tool whose name
	// looks like one of the baseline's; then all of them.
	names []*toolname.Index
	// guards check the arguments of guarded tools: the baseline's first, with
	// what the baseline declares, then the tenant's, with what both declare.
	guards []map[string]*guard
}

// with returns the stage that has one owner's segments more: the baseline's
// on top of nothing, a tenant's on top of the baseline's. What the lower stage
// knows is shared, not copied.
func (s *stage) with(own ...*segment) (*stage, error) {
	segments := slices.Concat(s.segments, own)
	guards, err := newGuards(own, segments)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, seg := range segments {
		names = append(names, seg.tools...)
	}
	return &stage{
		segments: segments,
		names:    append(slices.Clip(s.names), toolname.NewIndex(names)),
		guards:   append(slices.Clip(s.guards), guards),
	}, nil
}

// run decides a call by running its hooks to a fixpoint.
func (s *stage) run(ctx context.Context, call *Call) *Result {
	r := &Result{Tool: call.ToolAsCalled, Args: call.Args}
	if !toolname.Valid(call.ToolAsCalled) {
		return r.deny(Deny{Code: CodeToolInvalid, Message: "the tool's name is not valid"})
	}
	for _, index := range s.names {
		name, lookalike := index.Match(call.ToolAsCalled)
		if lookalike != "" {
			return r.deny(Deny{
				Code: CodeToolLookalike, Message: "the tool's name is not known; use the exact name",
				Basis: Basis{Rule: CodeToolLookalike, Facts: map[string]any{"lookalike": lookalike}},
			})
		}
		if name != "" {
			r.Tool = name
		}
	}
	working := *call
	working.Tool = r.Tool
	for r.Passes < maxPasses {
		r.Passes++
		changed, done := s.pass(ctx, &working, r)
		if done {
			return r
		}
		if !changed {
			return r.settle(call.Args)
		}
	}
	return r.deny(Deny{Code: CodeRewriteDiverged, Message: "the call cannot be decided: its rewrites do not settle"})
}

// pass runs every hook once. It reports whether a hook changed the arguments,
// and whether the result is settled by a Deny.
func (s *stage) pass(ctx context.Context, call *Call, r *Result) (changed, done bool) {
	r.Asks, r.Steps = nil, nil
	for _, guards := range s.guards {
		if g := guards[call.Tool]; g != nil {
			if d := g.check(call.Args); d != nil {
				r.denyBy(g.segment, g.hook, *d)
				return false, true
			}
		}
	}
	for _, seg := range s.segments {
		if r.unlisted(seg, call.Tool) {
			return false, true
		}
		for _, st := range seg.steps {
			if !st.looksAt(call.Tool) {
				continue
			}
			switch d := st.decide(ctx, call, r).(type) {
			case Deny:
				r.step(st, d)
				r.denyBy(st.segment, st.hook.Name, d)
				return false, true
			case AskUser:
				r.step(st, d)
				r.Asks = append(r.Asks, Ask{AskUser: d, Segment: st.segment, Hook: st.hook.Name})
			case Rewrite:
				r.step(st, d)
				if !strictjson.Equal(call.Args, d.Args) {
					call.Args, changed = d.Args, true
					r.rewrites = append(r.rewrites, rewrite{r.Steps[len(r.Steps)-1], st})
				}
			case Allow:
				r.step(st, d)
			case nil: // a failure that its policy ignores
			}
		}
	}
	r.Args = call.Args
	return changed, false
}

// stepsFor returns the steps that look at a tool, by its policy name.
func (s *stage) stepsFor(tool string) []*step {
	var steps []*step
	for _, seg := range s.segments {
		for _, st := range seg.steps {
			if st.looksAt(tool) {
				steps = append(steps, st)
			}
		}
	}
	return steps
}

// unlisted answers for a tool that no hook of the segment names, and reports
// whether that answer is a Deny.
func (r *Result) unlisted(seg *segment, tool string) bool {
	if seg.names(tool) {
		return false
	}
	basis := Basis{Rule: CodeToolUnlisted}
	switch seg.plan.UnlistedTools {
	case plan.VerdictAllow:
		return false
	case plan.VerdictAsk:
		r.Asks = append(r.Asks, Ask{Segment: seg.plan, AskUser: AskUser{
			Basis: basis, Code: CodeToolUnlisted, Risk: RiskMedium,
			Prompt: fmt.Sprintf("The agent wants to call %s, a tool that the policy does not name.", tool),
		}})
		return false
	default:
		r.denyBy(seg.plan, "", Deny{Basis: basis, Code: CodeToolUnlisted, Message: "the policy does not allow this tool"})
		return true
	}
}

// settle makes the decision of a call that nobody denied.
func (r *Result) settle(original map[string]any) *Result {
	switch {
	case len(r.Asks) > 0:
		first := r.Asks[0]
		r.Segment, r.Hook = first.Segment, first.Hook
		r.Decision = first.AskUser
	case strictjson.Equal(original, r.Args):
		r.Decision = Allow{}
	default:
		r.Decision = Rewrite{Args: r.Args}
		first := r.rewrites[0].by
		r.Segment, r.Hook = first.segment, first.hook.Name
	}
	r.keepRewrites()
	return r
}

// keepRewrites puts what rewrote the call in an earlier pass in the place of
// what the same hook said in the last one, where it had nothing left to do.
func (r *Result) keepRewrites() {
	for i := range r.Steps {
		for _, w := range slices.Backward(r.rewrites) {
			if w.step.Policy == r.Steps[i].Policy && w.step.Hook == r.Steps[i].Hook {
				r.Steps[i] = w.step
				break
			}
		}
	}
}

func (r *Result) deny(d Deny) *Result { return r.denyBy(nil, "", d) }

func (r *Result) denyBy(segment *plan.Segment, hook string, d Deny) *Result {
	if d.Code == "" {
		d.Code = "hook.denied"
	}
	r.Segment, r.Hook = segment, hook
	r.Asks = nil
	r.Decision = d
	return r
}

func (r *Result) step(st *step, d Decision) {
	r.Steps = append(r.Steps, Step{
		Policy: st.segment.Source.Tenant(), Hook: st.hook.Name, Effect: d.Effect(), Basis: d.basis(),
	})
}

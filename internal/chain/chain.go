// Package chain decides calls: it runs the hooks of one plan over a call and
// makes one decision of theirs.
//
// The rules, of which the tests hold each:
//
//   - Hooks run in the order of the plan. The first Deny wins and ends the
//     run; nothing that follows, and no approval, turns it into anything else.
//   - An AskUser wins over Allow and Rewrite. It is remembered and the pass
//     goes on, since a later hook may still deny, rewrite or ask too.
//   - What one hook rewrites, the next one reads. After a pass in which a hook
//     changed the arguments the whole chain runs again, until no hook changes
//     anything: so every hook has judged the very arguments that the tool will
//     get. Four passes that each changed something are a Deny.
//   - A hook that panics, errs, decides nothing or runs out of time is a Deny,
//     unless its policy says to ignore that; then it is noted and the chain
//     moves on.
//   - A hook gets a copy of the call and can change its arguments by a Rewrite
//     only; it can never change the tool.
//   - A tool is known by its exact name, also behind an MCP prefix. A name that
//     only looks like one that a policy names is a Deny.
//   - A tool that a hook guards takes declared arguments only. What a tenant
//     declares counts for the tenant's hooks, not for the baseline's.
//   - The baseline's hooks always mean what they decide; the tenant's enforcement
//     mode reaches the tenant's hooks only.
//
// The package does no I/O and knows no kind of hook: constructors are handed
// to Build.
package chain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/toolpattern"
)

// A Chain is a plan that is ready to decide. It is immutable and safe for
// concurrent use.
type Chain struct {
	plan     *plan.Plan
	digest   string
	baseline *stage // the baseline's segments alone
	full     *stage // baseline and tenant
}

// A Builder makes chains of plans. Plans that share their baseline's segments
// get chains that share the baseline's hooks: what the platform asks for costs
// its memory once, whatever the number of tenants. Not for concurrent use.
type Builder struct {
	constructors Constructors
	of           []*plan.Segment // what baseline was built from
	baseline     *stage
}

// NewBuilder returns a builder that makes hooks with the constructors.
func NewBuilder(c Constructors) *Builder { return &Builder{constructors: c} }

// Build makes a chain of one plan: see Builder.
func Build(p *plan.Plan, c Constructors) (*Chain, error) { return NewBuilder(c).Build(p) }

// Build makes a chain of a plan. It reports every hook that cannot be made.
func (b *Builder) Build(p *plan.Plan) (*Chain, error) {
	baseErr := b.buildBaseline(p.Baseline)
	if p.Tenant == nil {
		if baseErr != nil {
			return nil, baseErr
		}
		return &Chain{plan: p, digest: p.Digest(), baseline: b.baseline, full: b.baseline}, nil
	}
	tenant, err := buildSegment(p.Tenant, b.constructors)
	if err := errors.Join(baseErr, err); err != nil {
		return nil, err
	}
	full, err := b.baseline.with(tenant)
	if err != nil {
		return nil, err
	}
	return &Chain{plan: p, digest: p.Digest(), baseline: b.baseline, full: full}, nil
}

func (b *Builder) buildBaseline(baseline []*plan.Segment) error {
	if b.baseline != nil && slices.Equal(b.of, baseline) {
		return nil
	}
	b.baseline = nil
	var segments []*segment
	var errs []error
	for _, s := range baseline {
		seg, err := buildSegment(s, b.constructors)
		errs = append(errs, err)
		segments = append(segments, seg)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	stage, err := (&stage{}).with(segments...)
	if err != nil {
		return err
	}
	b.of, b.baseline = baseline, stage
	return nil
}

// Plan returns the plan that the chain was built from.
func (c *Chain) Plan() *plan.Plan { return c.plan }

// Digest returns the digest of the chain's plan.
func (c *Chain) Digest() string { return c.digest }

// Decide judges one call. The call is not changed and the result shares
// nothing with it that a hook could have changed. The result's decision is
// never nil.
func (c *Chain) Decide(ctx context.Context, call *Call) *Result {
	mode := plan.Off
	if c.plan.Tenant != nil {
		mode = c.plan.Tenant.Enforcement
	}
	switch mode {
	case plan.DryRun:
		r := c.baseline.run(ctx, call)
		r.Mode = plan.DryRun
		r.Would = c.full.run(ctx, call)
		return r
	case plan.Off:
		r := c.baseline.run(ctx, call)
		if c.plan.Tenant != nil {
			r.Mode = plan.Off
		}
		return r
	default: // Enforce, and whatever nobody has heard of
		return c.full.run(ctx, call)
	}
}

// Observe tells the hooks that look at a tool what became of a call. A hook
// that panics here is none of the caller's business.
func (c *Chain) Observe(ctx context.Context, call *Call, outcome Outcome) {
	for _, st := range c.full.stepsFor(call.Tool) {
		if o, ok := st.impl.(Observer); ok {
			observe(ctx, o, call.clone(), outcome)
		}
	}
}

// HasObservers reports whether Observe would tell anybody about a tool.
func (c *Chain) HasObservers(tool string) bool {
	for _, st := range c.full.stepsFor(tool) {
		if _, ok := st.impl.(Observer); ok {
			return true
		}
	}
	return false
}

func observe(ctx context.Context, o Observer, call *Call, outcome Outcome) {
	defer func() { _ = recover() }() // the call is over: nothing is left to protect
	o.Observe(ctx, call, outcome)
}

// A segment is one policy's hooks, built.
type segment struct {
	plan  *plan.Segment
	steps []*step
	tools []string // that its hooks name, sorted
	// patterns name more of them.
	patterns []toolpattern.Pattern
}

// names reports whether some hook names a tool.
func (seg *segment) names(tool string) bool {
	_, named := slices.BinarySearch(seg.tools, tool)
	return named || slices.ContainsFunc(seg.patterns, func(p toolpattern.Pattern) bool { return p.Match(tool) })
}

func buildSegment(s *plan.Segment, constructors Constructors) (*segment, error) {
	seg := &segment{plan: s}
	var errs []error
	for i := range s.Hooks {
		h := &s.Hooks[i]
		construct, ok := constructors[h.Kind]
		if !ok {
			errs = append(errs, fmt.Errorf("policy %s, hook %s: this program has no hook of kind %q", s.Source.Tenant(), h.Name, h.Kind))
			continue
		}
		impl, err := construct(s, h)
		if err != nil {
			errs = append(errs, fmt.Errorf("policy %s, hook %s: %w", s.Source.Tenant(), h.Name, err))
			continue
		}
		prompt, _ := impl.(PromptHook)
		seg.steps = append(seg.steps, &step{segment: s, hook: h, impl: impl, prompt: prompt != nil && prompt.Prompt()})
		seg.tools = append(seg.tools, h.Tools...)
		for _, p := range h.Patterns {
			seg.patterns = append(seg.patterns, toolpattern.New(p))
		}
	}
	slices.Sort(seg.tools)
	seg.tools = slices.Compact(seg.tools)
	return seg, errors.Join(errs...)
}

package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/redact"
)

// rules are the policies in force at one moment, ready to decide. They are
// immutable but for the announcements, and swapped as a whole.
type rules struct {
	set      *plan.Set
	byTenant map[*plan.Segment]*bound
	baseline *bound // for callers that no policy governs
	// refusal, if set, answers every call: a policy of the baseline has no
	// version that can decide, and nobody passes what the platform asks for.
	refusal string
	// builder keeps what the baseline was built into for the next rules: one
	// edited policy costs one chain.
	builder *chain.Builder
}

// bound is what one caller's calls meet: a chain, and the names and settings
// that go with it.
type bound struct {
	chain    *chain.Chain
	redactor *redact.Redactor
	tenant   string // the audit chain that its calls are recorded in
	policy   string // "namespace/name@generation"
	segment  *plan.Segment
	baseline []*plan.Segment
	wire     *decisionv1.Policy // how answers name it; nobody changes it

	// announced tells whether the audit chain knows the digest already: its
	// record precedes the first decision under it.
	mu        sync.Mutex
	announced bool
}

// newRules builds every chain of a set. It reports every policy that cannot be
// built, and builds nothing then. What old has built of the same segments is
// kept, and so is what means the same.
func newRules(set *plan.Set, constructors chain.Constructors, old *rules) (*rules, error) {
	r := &rules{set: set, byTenant: make(map[*plan.Segment]*bound, len(set.Tenants()))}
	same := old != nil && slices.Equal(old.set.Baseline(), set.Baseline())
	if old != nil {
		r.builder = old.builder
	} else {
		r.builder = chain.NewBuilder(constructors)
	}
	var baseline []*plan.Segment
	for _, seg := range set.Baseline() {
		if seg.Refusal != "" {
			r.refusal = seg.Refusal
			continue
		}
		baseline = append(baseline, seg)
	}
	reusable := sync.OnceValue(old.boundByTenant)
	plain := redact.New(nil)
	var errs []error
	for _, t := range set.Tenants() {
		if t.Refusal != "" {
			continue // nothing of it is decided here
		}
		if same && old.byTenant[t] != nil {
			r.byTenant[t] = old.byTenant[t]
			continue
		}
		b, err := bind(&plan.Plan{Baseline: baseline, Tenant: t}, t, r.builder, reusable()[t.Source.Tenant()], plain)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r.byTenant[t] = b
	}
	if same {
		r.baseline = old.baseline
	} else {
		b, err := bind(&plan.Plan{Baseline: baseline}, nil, r.builder, reusable()[ServiceTenant], plain)
		errs = append(errs, err)
		r.baseline = b
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *rules) boundByTenant() map[string]*bound {
	byName := make(map[string]*bound)
	if r == nil {
		return byName
	}
	for _, b := range r.byTenant {
		byName[b.tenant] = b
	}
	byName[ServiceTenant] = r.baseline
	return byName
}

// bind builds a plan's chain, or keeps the old one where it means the same.
func bind(p *plan.Plan, t *plan.Segment, builder *chain.Builder, old *bound, plain *redact.Redactor) (*bound, error) {
	b := &bound{tenant: ServiceTenant, segment: t, baseline: p.Baseline, redactor: plain}
	var keys []string
	for _, seg := range p.Segments() {
		keys = append(keys, seg.Audit.RedactKeys...)
	}
	if len(keys) > 0 {
		b.redactor = redact.New(keys)
	}
	if t != nil {
		b.tenant = t.Source.Tenant()
		b.policy = b.tenant + "@" + strconv.FormatInt(t.Source.Generation, 10)
	}
	if old != nil && old.policy == b.policy && old.chain.Digest() == p.Digest() {
		old.mu.Lock()
		defer old.mu.Unlock()
		b.chain, b.announced, b.wire = old.chain, old.announced, old.wire
		return b, nil
	}
	c, err := builder.Build(p)
	if err != nil {
		return nil, err
	}
	b.chain, b.wire = c, &decisionv1.Policy{Digest: c.Digest()}
	if t != nil {
		b.wire.Namespace, b.wire.Name, b.wire.Generation = t.Source.Namespace, t.Source.Name, t.Source.Generation
	}
	return b, nil
}

// lookup returns what governs a caller. refusal is the code with which it is
// denied where no policy governs it here: policy.none, or that of its policy.
func (r *rules) lookup(caller chain.Caller) (b *bound, refusal string) {
	t := r.set.Lookup(caller.Namespace, caller.ServiceAccount)
	switch {
	case r.refusal != "":
		return r.baseline, r.refusal
	case !r.set.Covers(caller.Namespace):
		return r.baseline, plan.RefusalElsewhere
	case t == nil:
		return r.baseline, CodeNoPolicy
	case t.Refusal != "":
		return r.baseline, t.Refusal
	default:
		return r.byTenant[t], ""
	}
}

// announce records, once, that the chain's digest is in force.
func (e *Engine) announce(ctx context.Context, b *bound) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.announced {
		return nil
	}
	_, err := e.append(ctx, b.tenant, &audit.Record{
		Kind: audit.KindPolicy, Policy: b.chain.Digest(), PolicyN: b.policy, Reason: "policy.in_force", Extra: b.inForce(),
	})
	if err != nil {
		return fmt.Errorf("record the policy in force: %w", err)
	}
	b.announced = true
	return nil
}

// maxNamed bounds how many policies of the baseline a record names; the digest
// is of all.
const maxNamed = 64

// inForce names what is in force for a tenant, so that its chain shows a policy
// that was switched off and a baseline that was taken away. The record's policy
// is the digest of all of it, which every answer carries; each policy's own is
// the one that its object has in its status.
func (b *bound) inForce() map[string]any {
	enforcement := func(s *plan.Segment) string { return string(cmp.Or(s.Enforcement, plan.Enforce)) }
	named := b.baseline[:min(len(b.baseline), maxNamed)]
	baseline := make([]any, len(named))
	for i, s := range named {
		baseline[i] = map[string]any{
			"policy":      s.Source.Tenant() + "@" + strconv.FormatInt(s.Source.Generation, 10),
			"enforcement": enforcement(s),
			"digest":      s.Digest(),
		}
	}
	facts := map[string]any{"baseline": baseline, "baseline_policies": json.Number(strconv.Itoa(len(b.baseline)))}
	if b.segment != nil {
		facts["enforcement"] = enforcement(b.segment)
		facts["digest"] = b.segment.Digest()
	}
	return facts
}

// digests are those of the chains that are in force.
func (r *rules) digests() map[string]bool {
	d := map[string]bool{r.baseline.chain.Digest(): true}
	for _, b := range r.byTenant {
		d[b.chain.Digest()] = true
	}
	return d
}

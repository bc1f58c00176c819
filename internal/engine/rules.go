package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

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
}

// bound is what one caller's calls meet: a chain, and the names and settings
// that go with it.
type bound struct {
	chain    *chain.Chain
	redactor *redact.Redactor
	tenant   string // the audit chain that its calls are recorded in
	policy   string // "namespace/name@generation"
	segment  *plan.Segment

	// announced tells whether the audit chain knows the digest already: its
	// record precedes the first decision under it.
	mu        sync.Mutex
	announced bool
}

// newRules builds every chain of a set. It reports every policy that cannot be
// built, and builds nothing then. Chains of old that mean the same are kept.
func newRules(set *plan.Set, constructors chain.Constructors, old *rules) (*rules, error) {
	r := &rules{set: set, byTenant: make(map[*plan.Segment]*bound, len(set.Tenants()))}
	reusable := old.boundByTenant()
	plain := redact.New(nil)
	builder := chain.NewBuilder(constructors)
	var errs []error
	for _, t := range set.Tenants() {
		p := &plan.Plan{Baseline: set.Baseline(), Tenant: t}
		b, err := bind(p, t, builder, reusable[t.Source.Tenant()], plain)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r.byTenant[t] = b
	}
	b, err := bind(&plan.Plan{Baseline: set.Baseline()}, nil, builder, reusable[ServiceTenant], plain)
	errs = append(errs, err)
	r.baseline = b
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
	b := &bound{tenant: ServiceTenant, segment: t, redactor: plain}
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
		b.chain, b.announced = old.chain, old.announced
		return b, nil
	}
	c, err := builder.Build(p)
	if err != nil {
		return nil, err
	}
	b.chain = c
	return b, nil
}

// lookup returns what governs a caller, and whether a policy of its own does.
func (r *rules) lookup(caller chain.Caller) (*bound, bool) {
	if t := r.set.Lookup(caller.Namespace, caller.ServiceAccount); t != nil {
		return r.byTenant[t], true
	}
	return r.baseline, false
}

// announce records, once, that the chain's digest is in force.
func (b *bound) announce(ctx context.Context, rec Recorder) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.announced {
		return nil
	}
	_, err := rec.Append(ctx, b.tenant, &audit.Record{
		Kind: audit.KindPolicy, Policy: b.chain.Digest(), PolicyN: b.policy, Reason: "policy.in_force",
	})
	if err != nil {
		return fmt.Errorf("record the policy in force: %w", err)
	}
	b.announced = true
	return nil
}

// inForce reports whether a chain digest is one of the set's.
func (r *rules) digests() map[string]bool {
	d := map[string]bool{r.baseline.chain.Digest(): true}
	for _, b := range r.byTenant {
		d[b.chain.Digest()] = true
	}
	return d
}

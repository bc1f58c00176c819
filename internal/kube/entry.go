package kube

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/policy"
)

// A kind is one of the two kinds of policy.
type kind int

const (
	hookPolicies kind = iota
	clusterHookPolicies
	kinds
)

func (k kind) String() string {
	return [...]string{v1alpha1.KindHookPolicy, v1alpha1.KindClusterHookPolicy}[k]
}

func (k kind) resource() string {
	return [...]string{resourceHookPolicies, resourceClusterHookPolicies}[k]
}

// A name is where a policy is; a ClusterHookPolicy has no namespace.
type name = types.NamespacedName

// A version is what one generation of a policy said.
type version struct {
	generation int64
	spec       []byte
}

// An entry is one policy and what is made of it. It never changes: another
// version of the policy is another entry.
type entry struct {
	name            name
	uid             types.UID
	created         metav1.Time
	resourceVersion string
	latest          version

	segment *plan.Segment // what is in force of it; never nil
	digest  string        // the segment's
	// rejected says why the latest version could not be taken over, nil if it was.
	rejected error
	// warnings are about what the version that was compiled last allows and had
	// better not.
	warnings []string
	// good is the version that the segment was compiled from, if that is an
	// earlier one than the latest.
	good *version
}

// A compiler makes entries of policies.
type compiler struct {
	binding Binding
	check   func(*plan.Segment) error
}

// entry takes a policy over. old is what is known of the policy of that name,
// if anything is.
func (c *compiler) entry(k kind, o *object, old *entry) *entry {
	if old != nil && old.uid != o.UID {
		old = nil // another policy, which had the name before
	}
	spec := []byte("{}")
	if len(o.Spec) > 0 {
		spec = bytes.Clone(o.Spec)
	}
	next := &entry{
		name: name{Namespace: o.Namespace, Name: o.Name}, uid: o.UID, created: o.CreationTimestamp,
		resourceVersion: o.ResourceVersion,
		latest:          version{generation: o.Generation, spec: spec},
	}
	if old != nil && old.latest.generation == o.Generation && bytes.Equal(old.latest.spec, spec) {
		next.latest, next.segment, next.digest, next.rejected, next.good = old.latest, old.segment, old.digest, old.rejected, old.good
		return next
	}
	next.segment, next.rejected = c.compile(k, next, next.latest)
	if next.rejected != nil {
		keepGood(next, old)
	}
	next.digest = next.segment.Digest()
	return next
}

// keepGood leaves the last good version of a policy in force, if there is one.
func keepGood(next, old *entry) {
	if old == nil || old.segment.Refusal != "" {
		return
	}
	next.segment = old.segment
	if next.good = old.good; next.good == nil {
		next.good = &old.latest
	}
}

// compile returns what a version of a policy puts in force. It returns a
// segment in any case: with an error, one that refuses.
func (c *compiler) compile(k kind, e *entry, v version) (*plan.Segment, error) {
	segment, accounts, err := c.segment(k, e, v)
	if err == nil {
		return segment, nil
	}
	return refusal(e, v, accounts, plan.RefusalInvalid), err
}

// segment compiles a version. The accounts are those whose calls it governs,
// as far as it can be read.
func (c *compiler) segment(k kind, e *entry, v version) (segment *plan.Segment, accounts []string, err error) {
	m := metav1.ObjectMeta{
		Namespace: e.name.Namespace, Name: e.name.Name, UID: e.uid, Generation: v.generation, CreationTimestamp: e.created,
	}
	var errs []error
	if k == clusterHookPolicies {
		p := &v1alpha1.ClusterHookPolicy{ObjectMeta: m}
		if err := utiljson.Unmarshal(v.spec, &p.Spec); err != nil {
			return nil, nil, fmt.Errorf("read the spec: %w", err)
		}
		s, warned, problems := policy.CompileCluster(p, policy.Sees(c.binding.DataPaths))
		for _, problem := range problems {
			errs = append(errs, problem)
		}
		segment, e.warnings = s, warned
	} else {
		p := &v1alpha1.HookPolicy{ObjectMeta: m}
		if err := utiljson.Unmarshal(v.spec, &p.Spec); err != nil {
			return nil, nil, fmt.Errorf("read the spec: %w", err)
		}
		accounts = slices.Sorted(slices.Values(p.Spec.Agents.ServiceAccounts))
		if !c.binding.decides(m.Namespace, p.Spec.DecisionServiceRef) {
			return refusal(e, v, accounts, plan.RefusalElsewhere), accounts, nil
		}
		s, warned, problems := policy.Compile(p, policy.Sees(c.binding.DataPaths))
		for _, problem := range problems {
			errs = append(errs, problem)
		}
		segment, e.warnings = s, warned
	}
	if len(errs) > 0 {
		return nil, accounts, errors.Join(errs...)
	}
	if c.check != nil {
		if err := c.check(segment); err != nil {
			return nil, accounts, fmt.Errorf("build the hooks: %w", err)
		}
	}
	return segment, accounts, nil
}

// refusal is the segment of a policy that is not decided here. It takes its
// callers as the policy itself would, so that precedence stays what it is.
func refusal(e *entry, v version, accounts []string, code string) *plan.Segment {
	return &plan.Segment{
		Source: plan.Source{
			Namespace: e.name.Namespace, Name: e.name.Name, UID: string(e.uid), Generation: v.generation, Created: e.created.Time,
		},
		ServiceAccounts: accounts,
		Refusal:         code,
	}
}

package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// A Set is every policy that is in force at one moment, and answers which of
// them governs a caller. It is immutable.
type Set struct {
	baseline    []*Segment
	tenants     []*Segment
	byNamespace map[string][]*Segment // in order of precedence
	only        string                // namespace; empty: all of them
}

// NewSet orders the segments and indexes them by namespace. The slices are
// copied, the segments are shared.
func NewSet(baseline, tenants []*Segment) *Set {
	s := &Set{
		baseline:    slices.Clone(baseline),
		tenants:     slices.Clone(tenants),
		byNamespace: make(map[string][]*Segment),
	}
	slices.SortFunc(s.baseline, func(a, b *Segment) int {
		return cmp.Or(
			cmp.Compare(a.Source.Priority, b.Source.Priority),
			cmp.Compare(a.Source.Name, b.Source.Name),
		)
	})
	slices.SortFunc(s.tenants, precedence)
	for _, t := range s.tenants {
		s.byNamespace[t.Source.Namespace] = append(s.byNamespace[t.Source.Namespace], t)
	}
	return s
}

// precedence puts first the policy that wins a caller: explicit
// ServiceAccounts beat a whole namespace, then the older object, then the name.
func precedence(a, b *Segment) int {
	return cmp.Or(
		cmp.Compare(a.Source.Namespace, b.Source.Namespace),
		compareBool(len(b.ServiceAccounts) > 0, len(a.ServiceAccounts) > 0),
		a.Source.Created.Compare(b.Source.Created),
		cmp.Compare(a.Source.Name, b.Source.Name),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// Within returns the same set with the knowledge that it was made from the
// policies of one namespace: about the callers of others it says nothing.
func (s *Set) Within(namespace string) *Set {
	within := *s
	within.only = namespace
	return &within
}

// Covers reports whether the set was made with the policies of a namespace in
// view, so that a caller without a segment has no policy.
func (s *Set) Covers(namespace string) bool { return s.only == "" || s.only == namespace }

// Lookup returns the segment that governs a caller, nil if none does.
func (s *Set) Lookup(namespace, serviceAccount string) *Segment {
	for _, t := range s.byNamespace[namespace] {
		if t.Governs(serviceAccount) {
			return t
		}
	}
	return nil
}

// Governs reports whether the segment selects a ServiceAccount of its
// namespace, whatever other policies do.
func (s *Segment) Governs(serviceAccount string) bool {
	return len(s.ServiceAccounts) == 0 || slices.Contains(s.ServiceAccounts, serviceAccount)
}

// Baseline returns the baseline's segments in the order in which they run.
func (s *Set) Baseline() []*Segment { return s.baseline }

// Tenants returns the tenants' segments, ordered by namespace and precedence.
func (s *Set) Tenants() []*Segment { return s.tenants }

// Len is the number of policies in the set, the baseline's included.
func (s *Set) Len() int { return len(s.baseline) + len(s.tenants) }

// Digest names the meaning of the whole set.
func (s *Set) Digest() string { return s.DigestWith((*Segment).Digest) }

// DigestWith is Digest for those who have the digest of each segment already:
// of thousands of segments, one edit changes one.
func (s *Set) DigestWith(digestOf func(*Segment) string) string {
	h := sha256.New()
	h.Write([]byte(digestVersion + "set\n"))
	for _, list := range [][]*Segment{s.baseline, s.tenants} {
		for _, seg := range list {
			h.Write([]byte(digestOf(seg) + "\n"))
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

package kube

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"k8s.io/client-go/tools/cache"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// A table holds every policy that is known, and makes sets of them.
type table struct {
	compiler *compiler
	onTaken  func(k kind, e *entry)
	// changed has an element when the table differs from its last snapshot.
	changed chan struct{}

	mu    sync.Mutex
	lists [kinds]list
	// version counts the changes of what the policies mean, not those of their
	// status.
	version uint64
	// memory is what an earlier process had in force. It ends when both lists
	// are read: whoever is not in them is gone.
	memory *memory
}

// A list is the policies of one kind.
type list struct {
	entries map[name]*entry
	reached string // resource version
	synced  bool   // read in full once
}

func newTable(c *compiler, m *memory, onTaken func(kind, *entry)) *table {
	t := &table{compiler: c, onTaken: onTaken, changed: make(chan struct{}, 1), memory: m}
	for k := range t.lists {
		t.lists[k].entries = make(map[name]*entry)
	}
	return t
}

// take compiles a policy, where that is not done already. Only the watch of its
// kind changes entries of a kind, so that compiling needs no lock.
func (t *table) take(k kind, o *object) *entry {
	n := name{Namespace: o.Namespace, Name: o.Name}
	t.mu.Lock()
	known := t.lists[k].entries[n]
	if known == nil {
		known = t.memory.entry(t.compiler, k, n)
	}
	t.mu.Unlock()
	e := t.compiler.entry(k, o, known)
	if (e.rejected != nil || len(e.warnings) > 0) && (known == nil || known.latest.generation != e.latest.generation) {
		t.onTaken(k, e)
	}
	return e
}

// put takes one policy over.
func (t *table) put(k kind, o *object) {
	e := t.take(k, o)
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &t.lists[k]
	was := l.entries[e.name]
	if was == nil || was.segment != e.segment || was.latest.generation != e.latest.generation {
		t.version++
	}
	l.entries[e.name] = e
	l.reached = o.ResourceVersion
	t.signal()
}

func (t *table) remove(k kind, n name, resourceVersion string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.lists[k].entries, n)
	t.version++
	if resourceVersion != "" {
		t.lists[k].reached = resourceVersion
	}
	t.signal()
}

// replace takes a whole list over. What it does not hold is gone.
func (t *table) replace(k kind, objects []*object, resourceVersion string) {
	entries := make(map[name]*entry, len(objects))
	for _, o := range objects {
		e := t.take(k, o)
		entries[e.name] = e
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lists[k] = list{entries: entries, reached: resourceVersion, synced: true}
	t.version++
	if t.synced() {
		t.memory = nil
	}
	t.signal()
}

func (t *table) signal() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// synced reports whether every kind was read in full. The caller holds mu.
func (t *table) synced() bool {
	return !slices.ContainsFunc(t.lists[:], func(l list) bool { return !l.synced })
}

// A snapshot is the table at one moment.
type snapshot struct {
	version uint64
	set     *plan.Set
	lists   [kinds][]*entry
	inForce InForce
}

// snapshot returns the table as it is, nil while a list is missing.
func (t *table) snapshot() *snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.synced() {
		return nil
	}
	var lists [kinds][]*entry
	for k := range t.lists {
		lists[k] = entriesOf(t.lists[k].entries)
	}
	s := newSnapshot(lists, t.compiler.binding.scope())
	s.version = t.version
	s.inForce.Reached = v1alpha1.ReachedVersions{
		HookPolicies: t.lists[hookPolicies].reached, ClusterHookPolicies: t.lists[clusterHookPolicies].reached,
	}
	return s
}

// remembered returns what an earlier process had in force, nil if there is
// nothing or if the table knows better by now.
func (t *table) remembered() *snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.memory == nil {
		return nil
	}
	return t.memory.snapshot(t.compiler)
}

func entriesOf(m map[name]*entry) []*entry {
	all := make([]*entry, 0, len(m))
	for _, e := range m {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.name.Namespace, b.name.Namespace), cmp.Compare(a.name.Name, b.name.Name))
	})
	return all
}

func newSnapshot(lists [kinds][]*entry, scope string) *snapshot {
	s := &snapshot{lists: lists}
	var segments [kinds][]*plan.Segment
	digests := make(map[*plan.Segment]string, len(lists[hookPolicies])+len(lists[clusterHookPolicies]))
	for _, k := range []kind{clusterHookPolicies, hookPolicies} {
		for _, e := range lists[k] {
			segments[k] = append(segments[k], e.segment)
			digests[e.segment] = e.digest
			s.count(e)
		}
	}
	s.set = plan.NewSet(segments[clusterHookPolicies], segments[hookPolicies])
	if scope != "" {
		s.set = s.set.Within(scope)
	}
	s.inForce.SetDigest = s.set.DigestWith(func(seg *plan.Segment) string { return digests[seg] })
	return s
}

func (s *snapshot) count(e *entry) {
	if e.segment.Refusal == "" {
		s.inForce.Policies++
	}
	if e.rejected == nil {
		return
	}
	s.inForce.RejectedPolicies++
	if len(s.inForce.Rejected) < v1alpha1.MaxRejected {
		s.inForce.Rejected = append(s.inForce.Rejected, v1alpha1.RejectedPolicy{
			Namespace: e.name.Namespace, Name: e.name.Name, Generation: e.latest.generation,
		})
	}
}

// A store takes what a reflector reads of one kind into a table.
type store struct {
	table *table
	kind  kind
}

var _ cache.TransformingStore = (*store)(nil)

// Transformer keeps the first list small while it comes in.
func (s *store) Transformer() cache.TransformFunc { return strip }

// Update takes another version of a policy over.
func (s *store) Update(v any) error { return s.Add(v) }

// Resync is for stores with queues.
func (s *store) Resync() error { return nil }

// Add takes one policy over.
func (s *store) Add(v any) error {
	o, ok := v.(*object)
	if !ok {
		return fmt.Errorf("watch policies: unexpected %T", v)
	}
	s.table.put(s.kind, o)
	return nil
}

// Delete lets a policy go.
func (s *store) Delete(v any) error {
	o, ok := v.(*object)
	if !ok {
		return fmt.Errorf("watch policies: unexpected %T", v)
	}
	s.table.remove(s.kind, name{Namespace: o.Namespace, Name: o.Name}, o.ResourceVersion)
	return nil
}

// Replace takes a whole list over.
func (s *store) Replace(items []any, resourceVersion string) error {
	objects := make([]*object, len(items))
	for i, v := range items {
		o, ok := v.(*object)
		if !ok {
			return fmt.Errorf("list policies: unexpected %T", v)
		}
		objects[i] = o
	}
	s.table.replace(s.kind, objects, resourceVersion)
	return nil
}

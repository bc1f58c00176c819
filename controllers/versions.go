package controllers

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// versions remembers at which resource version the generation of a policy was
// first seen. The zero value is ready for use. An object's resource version
// grows with every write of its status; what a replica has to reach does not.
type versions struct {
	mu   sync.Mutex
	seen map[types.NamespacedName]*sighting
}

type sighting struct {
	uid             types.UID
	generation      int64
	resourceVersion string
	visited         bool
}

// first returns the version at which the object's generation was first seen.
func (v *versions) first(o client.Object) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := client.ObjectKeyFromObject(o)
	s := v.seen[key]
	if s == nil || s.uid != o.GetUID() || s.generation != o.GetGeneration() {
		s = &sighting{uid: o.GetUID(), generation: o.GetGeneration(), resourceVersion: o.GetResourceVersion()}
		if v.seen == nil {
			v.seen = make(map[types.NamespacedName]*sighting)
		}
		v.seen[key] = s
	}
	s.visited = true
	return s.resourceVersion
}

// forgetting runs a reconciler and forgets the objects that it was not given:
// they are gone. No request is worked on twice at once.
func (v *versions) forgetting(inner reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		v.mark(req.NamespacedName)
		defer v.sweep(req.NamespacedName)
		return inner.Reconcile(ctx, req)
	})
}

func (v *versions) mark(key types.NamespacedName) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := v.seen[key]; s != nil {
		s.visited = false
	}
}

func (v *versions) sweep(key types.NamespacedName) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := v.seen[key]; s != nil && !s.visited {
		delete(v.seen, key)
	}
}

package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/render"
)

// progress is how far replicas have come with one policy.
type progress struct {
	live     int // replicas that count
	reached  int // of these, that have it in force
	rejected int // of these, that could not take it over
}

func (p *progress) add(q progress) {
	p.live += q.live
	p.reached += q.reached
	p.rejected += q.rejected
}

// done reports whether every live replica has it in force, and there is one.
func (p progress) done() bool { return p.live > 0 && p.reached == p.live }

// A wanted names what replicas are to have in force.
type wanted struct {
	namespace, name string // of the policy; no namespace: a ClusterHookPolicy
	generation      int64
	resourceVersion string // at which the generation was first seen
}

// progressOf asks the replicas of a service how far they have come. A replica
// is live when the StatefulSet says that its pod is there, or when it has
// reported: then it decides, whatever the StatefulSet says.
func progressOf(ctx context.Context, c client.Reader, ds *v1alpha1.DecisionService, w wanted) (progress, error) {
	var p progress
	pods, err := podsOf(ctx, c, ds)
	if err != nil {
		return p, err
	}
	for i := range render.ReplicaCount(ds) {
		var dr v1alpha1.DecisionReplica
		key := types.NamespacedName{Namespace: ds.Namespace, Name: contract.ReplicaName(ds.Name, i)}
		if err := c.Get(ctx, key, &dr); err != nil && !apierrors.IsNotFound(err) {
			return p, fmt.Errorf("read a DecisionReplica: %w", err)
		}
		if i >= pods && !hasReported(&dr) {
			continue
		}
		p.live++
		switch {
		case w.rejectedBy(&dr):
			p.rejected++
		case w.reachedBy(&dr) && !w.unnamedBy(&dr):
			p.reached++
		}
	}
	return p, nil
}

// podsOf is how many pods the StatefulSet has: those of the first ordinals,
// since all are made at once.
func podsOf(ctx context.Context, c client.Reader, ds *v1alpha1.DecisionService) (int32, error) {
	var sts appsv1.StatefulSet
	err := c.Get(ctx, types.NamespacedName{Namespace: ds.Namespace, Name: contract.ChildName(ds.Name)}, &sts)
	if client.IgnoreNotFound(err) != nil {
		return 0, fmt.Errorf("read the StatefulSet: %w", err)
	}
	return sts.Status.Replicas, nil
}

func hasReported(dr *v1alpha1.DecisionReplica) bool {
	return dr.Status.Reached != v1alpha1.ReachedVersions{}
}

func (w wanted) reachedBy(dr *v1alpha1.DecisionReplica) bool {
	reached := dr.Status.Reached.HookPolicies
	if w.namespace == "" {
		reached = dr.Status.Reached.ClusterHookPolicies
	}
	order, err := resourceversion.CompareResourceVersion(reached, w.resourceVersion)
	return err == nil && order >= 0 // what cannot be compared was not reached
}

func (w wanted) rejectedBy(dr *v1alpha1.DecisionReplica) bool {
	for _, r := range dr.Status.Rejected {
		if r.Namespace == w.namespace && r.Name == w.name && r.Generation >= w.generation {
			return true
		}
	}
	return false
}

// unnamedBy reports whether a replica that rejects more policies than it can name
// may have rejected this one: it names the first by namespace and name.
func (w wanted) unnamedBy(dr *v1alpha1.DecisionReplica) bool {
	named := dr.Status.Rejected
	if len(named) < v1alpha1.MaxRejected {
		return false
	}
	return !slices.ContainsFunc(named, func(r v1alpha1.RejectedPolicy) bool {
		return cmp.Or(cmp.Compare(r.Namespace, w.namespace), cmp.Compare(r.Name, w.name)) >= 0
	})
}

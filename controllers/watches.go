package controllers

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
)

// policyChanged lets through a policy whose spec changed, and one that came to
// wait for replicas: a report that arrived while this was being written is
// looked at then.
func policyChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			!waits(e.ObjectOld) && waits(e.ObjectNew)
	}}
}

func waits(o client.Object) bool {
	switch o := o.(type) {
	case *v1alpha1.HookPolicy:
		return isPending(o.Generation, &o.Status)
	case *v1alpha1.ClusterHookPolicy:
		return isPending(o.Generation, &o.Status)
	default:
		return false
	}
}

// callersChanged lets through a policy that came, went, or selects others now.
func callersChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, ok1 := e.ObjectOld.(*v1alpha1.HookPolicy)
		is, ok2 := e.ObjectNew.(*v1alpha1.HookPolicy)
		return ok1 && ok2 && !slices.Equal(was.Spec.Agents.ServiceAccounts, is.Spec.Agents.ServiceAccounts)
	}}
}

// podsChanged lets through a StatefulSet that has another number of pods.
func podsChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, ok1 := e.ObjectOld.(*appsv1.StatefulSet)
		is, ok2 := e.ObjectNew.(*appsv1.StatefulSet)
		return ok1 && ok2 && was.Status.Replicas != is.Status.Replicas
	}}
}

// votesGuardChanged lets through a replica that found votes guarded, or not, and
// did not before.
func votesGuardChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, ok1 := e.ObjectOld.(*v1alpha1.DecisionReplica)
		is, ok2 := e.ObjectNew.(*v1alpha1.DecisionReplica)
		return ok1 && ok2 && was.Status.Votes != is.Status.Votes
	}}
}

// rivalsOf maps a policy to those that may win or lose callers by its change:
// those that select one of its callers, and those of the whole namespace.
// Policies that name their callers lose none to one that does not.
func rivalsOf(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		hp, ok := o.(*v1alpha1.HookPolicy)
		if !ok {
			return nil
		}
		callers := callersOf(hp)
		if !slices.Contains(callers, anyCaller) {
			callers = append(slices.Clone(callers), anyCaller)
		}
		var all []reconcile.Request
		for _, caller := range callers {
			all = append(all, policiesWhere(ctx, c, client.InNamespace(hp.Namespace), client.MatchingFields{indexCaller: caller})...)
		}
		return slices.DeleteFunc(all, func(r reconcile.Request) bool { return r.Name == hp.Name })
	}
}

// boundTo maps a service to the policies that bind to it; pendingOn to those
// of them that wait for its replicas.
func boundTo(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		return policiesWhere(ctx, c, client.MatchingFields{indexService: client.ObjectKeyFromObject(o).String()})
	}
}

func pendingOn(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		return policiesWhere(ctx, c, client.MatchingFields{indexPending: labelledService(o).String()})
	}
}

// labelledService is the service that a child belongs to.
func labelledService(o client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetLabels()[contract.LabelInstance]}
}

func policiesWhere(ctx context.Context, c client.Reader, opts ...client.ListOption) []reconcile.Request {
	var list v1alpha1.HookPolicyList
	if err := c.List(ctx, &list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Could not find the HookPolicies that an event concerns")
		return nil
	}
	requests := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		requests[i].NamespacedName = client.ObjectKeyFromObject(&list.Items[i])
	}
	return requests
}

func clusterPolicies(c client.Reader, keep func(*v1alpha1.ClusterHookPolicy) bool) handler.MapFunc {
	return func(ctx context.Context, _ client.Object) []reconcile.Request {
		var list v1alpha1.ClusterHookPolicyList
		if err := c.List(ctx, &list); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Could not find the ClusterHookPolicies that an event concerns")
			return nil
		}
		var requests []reconcile.Request
		for i := range list.Items {
			if keep(&list.Items[i]) {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
			}
		}
		return requests
	}
}

func everyPolicy(*v1alpha1.ClusterHookPolicy) bool { return true }

func pendingPolicy(chp *v1alpha1.ClusterHookPolicy) bool {
	return isPending(chp.Generation, &chp.Status)
}

// A reportHandler maps the report of a replica to the policies that it may
// concern.
type reportHandler struct {
	all, pending handler.MapFunc
	// cluster chooses among the rejected ones: ClusterHookPolicies, or the others.
	cluster bool
}

var _ handler.EventHandler = (*reportHandler)(nil)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Create is for a replica that is seen for the first time.
func (h *reportHandler) Create(ctx context.Context, e event.CreateEvent, q queue) {
	if dr, ok := e.Object.(*v1alpha1.DecisionReplica); ok {
		add(q, h.pending(ctx, dr), h.rejected(dr))
	}
}

// Update is for a report.
func (h *reportHandler) Update(ctx context.Context, e event.UpdateEvent, q queue) {
	was, ok1 := e.ObjectOld.(*v1alpha1.DecisionReplica)
	is, ok2 := e.ObjectNew.(*v1alpha1.DecisionReplica)
	switch {
	case !ok1 || !ok2:
	case hasReported(was) != hasReported(is), !was.Status.StartedAt.Equal(&is.Status.StartedAt):
		add(q, h.all(ctx, serviceOfReplica(is))) // a process that may have an older set
	default:
		add(q, h.pending(ctx, is), h.rejected(was), h.rejected(is))
	}
}

// Delete is for a replica that does not count any more.
func (h *reportHandler) Delete(ctx context.Context, e event.DeleteEvent, q queue) {
	if dr, ok := e.Object.(*v1alpha1.DecisionReplica); ok {
		add(q, h.all(ctx, serviceOfReplica(dr)))
	}
}

// Generic is never called.
func (h *reportHandler) Generic(context.Context, event.GenericEvent, queue) {}

func (h *reportHandler) rejected(dr *v1alpha1.DecisionReplica) []reconcile.Request {
	var requests []reconcile.Request
	for _, r := range dr.Status.Rejected {
		if (r.Namespace == "") == h.cluster {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: r.Namespace, Name: r.Name}})
		}
	}
	return requests
}

func serviceOfReplica(dr *v1alpha1.DecisionReplica) *v1alpha1.DecisionService {
	ds := &v1alpha1.DecisionService{}
	ds.Namespace, ds.Name = dr.Namespace, dr.Spec.ServiceName
	return ds
}

func add(q queue, lists ...[]reconcile.Request) {
	for _, list := range lists {
		for _, r := range list {
			q.Add(r)
		}
	}
}

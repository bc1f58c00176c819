package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/render"
)

// policyWorkers is how many policies are worked on in parallel. Each costs a
// compilation and, where something changed, one write.
const policyWorkers = 4

// Options are what every reconciler needs.
type Options struct {
	// Render says what services are made of; image and platform namespace are
	// required.
	Render render.Options
	// TrustBundles says that the cluster has ClusterTrustBundles.
	TrustBundles bool
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Setup registers every reconciler, with its watches and indices.
func Setup(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if o.Render.Image == "" || o.Render.PlatformNamespace == "" {
		return errors.New("the image of the replicas and the platform's namespace must be known")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := addIndices(ctx, mgr.GetFieldIndexer(), o.Render.DefaultService); err != nil {
		return err
	}
	return errors.Join(setupServices(mgr, o), setupBindings(mgr, o), setupPolicies(mgr, o), setupClusterPolicies(mgr))
}

func setupServices(mgr ctrl.Manager, o Options) error {
	c := mgr.GetClient()
	r := &DecisionServiceReconciler{
		Client: c, Recorder: mgr.GetEventRecorder(contract.EventSourceManager), Options: o.Render, Now: o.Now,
		Authority: &Authority{Client: c, Namespace: o.Render.PlatformNamespace, TrustBundles: o.TrustBundles, Now: o.Now},
	}
	// What others write into a child beside its spec is not our concern.
	specs := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	b := ctrl.NewControllerManagedBy(mgr).
		Named("decisionservice").
		For(&v1alpha1.DecisionService{}, specs).
		Owns(&appsv1.StatefulSet{}). // its status is what we wait for
		Owns(&v1alpha1.DecisionReplica{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, votesGuardChanged()))).
		Owns(&networkingv1.NetworkPolicy{}, specs).
		Owns(&policyv1.PodDisruptionBudget{}, specs).
		Owns(&corev1.Service{}).
		Owns(&corev1.ServiceAccount{}).
		Owns(&rbacv1.Role{}).
		Owns(&rbacv1.RoleBinding{}).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(serviceOfChild))
	if !o.TrustBundles { // a new namespace needs the bundle
		b = b.Watches(&v1alpha1.HookPolicy{}, handler.EnqueueRequestsFromMapFunc(serviceOfPolicy(o.Render)), builder.WithPredicates(created()))
	}
	return named("DecisionServices", b.Complete(reconcile.AsReconciler(c, r)))
}

func setupBindings(mgr ctrl.Manager, o Options) error {
	r := &BindingsReconciler{Client: mgr.GetClient(), Options: o.Render}
	return named("bindings", ctrl.NewControllerManagedBy(mgr).
		Named("bindings").
		Watches(&v1alpha1.DecisionService{}, handler.EnqueueRequestsFromMapFunc(theBindings),
			builder.WithPredicates(predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
				return e.ObjectNew.GetDeletionTimestamp() != nil
			}})).
		Complete(r))
}

func setupPolicies(mgr ctrl.Manager, o Options) error {
	c := mgr.GetClient()
	r := &HookPolicyReconciler{Client: c, Recorder: mgr.GetEventRecorder(contract.EventSourceManager), Options: o.Render}
	return named("HookPolicies", ctrl.NewControllerManagedBy(mgr).
		Named("hookpolicy").
		WithOptions(controller.Options{MaxConcurrentReconciles: policyWorkers}).
		For(&v1alpha1.HookPolicy{}, builder.WithPredicates(policyChanged())).
		Watches(&v1alpha1.HookPolicy{}, handler.EnqueueRequestsFromMapFunc(rivalsOf(c)), builder.WithPredicates(callersChanged())).
		Watches(&v1alpha1.DecisionService{}, handler.EnqueueRequestsFromMapFunc(boundTo(c)),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.DecisionReplica{}, &reportHandler{all: boundTo(c), pending: pendingOn(c)}).
		Watches(&appsv1.StatefulSet{}, handler.EnqueueRequestsFromMapFunc(pendingOn(c)), builder.WithPredicates(podsChanged())).
		Complete(r.versions.forgetting(reconcile.AsReconciler(c, r))))
}

func setupClusterPolicies(mgr ctrl.Manager) error {
	c := mgr.GetClient()
	r := &ClusterHookPolicyReconciler{Client: c, Recorder: mgr.GetEventRecorder(contract.EventSourceManager)}
	all, pending := clusterPolicies(c, everyPolicy), clusterPolicies(c, pendingPolicy)
	return named("ClusterHookPolicies", ctrl.NewControllerManagedBy(mgr).
		Named("clusterhookpolicy").
		For(&v1alpha1.ClusterHookPolicy{}, builder.WithPredicates(policyChanged())).
		Watches(&v1alpha1.DecisionService{}, handler.EnqueueRequestsFromMapFunc(all),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.DecisionReplica{}, &reportHandler{all: all, pending: pending, cluster: true}).
		Watches(&appsv1.StatefulSet{}, handler.EnqueueRequestsFromMapFunc(pending), builder.WithPredicates(podsChanged())).
		Complete(r.versions.forgetting(reconcile.AsReconciler(c, r))))
}

func named(what string, err error) error {
	if err != nil {
		return fmt.Errorf("set up the reconciler of %s: %w", what, err)
	}
	return nil
}

// serviceOfChild maps what carries a service's labels to the service.
func serviceOfChild(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: labelledService(o)}}
}

func serviceOfPolicy(o render.Options) handler.MapFunc {
	return func(_ context.Context, object client.Object) []reconcile.Request {
		hp, ok := object.(*v1alpha1.HookPolicy)
		if !ok {
			return nil
		}
		return []reconcile.Request{{NamespacedName: serviceOf(hp, o.DefaultService)}}
	}
}

// created lets through what comes into being.
func created() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

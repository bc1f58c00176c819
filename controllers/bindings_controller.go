package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/render"
)

// The ClusterRoles of replicas, and the ClusterRoleBindings of the same names.
// The roles are installed with the manager, which can only bind what it holds,
// and the last of them.
const (
	// RoleReviewer lets every service check its callers' tokens and read the
	// platform's baseline.
	RoleReviewer = "hookpolicy-decision-service"
	// RolePlatform lets the platform's services read every namespace's policies.
	RolePlatform = "hookpolicy-decision-service-platform"
	// RoleApprovals lets the platform's services hold calls in every namespace.
	// A tenant's service has it by a RoleBinding in its own.
	RoleApprovals = contract.RoleApprovals
)

// BindingsReconciler keeps the ClusterRoleBindings of all services. A namespaced
// object cannot own what is cluster-wide, so their subjects are computed anew
// from all DecisionServices whenever one comes or goes.
type BindingsReconciler struct {
	Client  client.Client
	Options render.Options
}

var _ reconcile.Reconciler = (*BindingsReconciler)(nil)

// theBindings is the one request that there is.
func theBindings(context.Context, client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: RoleReviewer}}}
}

// Reconcile writes the bindings.
func (r *BindingsReconciler) Reconcile(ctx context.Context, _ reconcile.Request) (ctrl.Result, error) {
	var services v1alpha1.DecisionServiceList
	if err := r.Client.List(ctx, &services); err != nil {
		return ctrl.Result{}, fmt.Errorf("list the DecisionServices: %w", err)
	}
	slices.SortFunc(services.Items, func(a, b v1alpha1.DecisionService) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	var all, platform []*rbacv1ac.SubjectApplyConfiguration
	for i := range services.Items {
		ds := &services.Items[i]
		if !ds.DeletionTimestamp.IsZero() {
			continue
		}
		subject := rbacv1ac.Subject().WithKind(rbacv1.ServiceAccountKind).
			WithNamespace(ds.Namespace).WithName(contract.ChildName(ds.Name))
		all = append(all, subject)
		if r.Options.TrustOf(ds.Namespace) == v1alpha1.TrustPlatform {
			platform = append(platform, subject)
		}
	}
	if err := apply(ctx, r.Client, clusterRoleBinding(RoleReviewer, all)); err != nil {
		return ctrl.Result{}, err
	}
	if err := apply(ctx, r.Client, clusterRoleBinding(RolePlatform, platform)); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, apply(ctx, r.Client, clusterRoleBinding(RoleApprovals, platform))
}

func clusterRoleBinding(role string, subjects []*rbacv1ac.SubjectApplyConfiguration) *rbacv1ac.ClusterRoleBindingApplyConfiguration {
	return rbacv1ac.ClusterRoleBinding(role).
		WithLabels(commonLabels()).
		WithRoleRef(rbacv1ac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("ClusterRole").WithName(role)).
		WithSubjects(subjects...)
}

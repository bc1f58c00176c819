package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	v1alpha1ac "github.com/hookpolicy/hookpolicy/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/policy"
)

// ClusterHookPolicyReconciler says in a ClusterHookPolicy's status what became
// of it, on every decision service of the cluster.
type ClusterHookPolicyReconciler struct {
	Client   client.Client
	Recorder recorder.EventRecorder

	versions versions
}

var _ reconcile.ObjectReconciler[*v1alpha1.ClusterHookPolicy] = (*ClusterHookPolicyReconciler)(nil)

// clusterScope is what one reconciliation finds.
type clusterScope struct {
	policyScope
	policy   *v1alpha1.ClusterHookPolicy
	services []v1alpha1.DecisionService // all of the cluster
}

// Reconcile looks at one ClusterHookPolicy and reports.
func (r *ClusterHookPolicyReconciler) Reconcile(ctx context.Context, chp *v1alpha1.ClusterHookPolicy) (ctrl.Result, error) {
	if !chp.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	s := &clusterScope{policyScope: newPolicyScope(chp.Generation, chp.Status), policy: chp}
	if err := run(ctx, s, r.compile, r.observe); err != nil {
		return ctrl.Result{}, err
	}
	if status := s.status(); status != nil {
		if err := applyStatus(ctx, r.Client, v1alpha1ac.ClusterHookPolicy(chp.Name).WithUID(chp.UID).WithStatus(status)); err != nil {
			return ctrl.Result{}, err
		}
		s.record(r.Recorder, chp, "Reconcile")
	}
	if s.invalid {
		return ctrl.Result{}, reconcile.TerminalError(errNotCompiled)
	}
	return ctrl.Result{}, nil
}

// compile does what the replicas do with the policy. It refuses a policy whose
// links some service is to resolve where that sees nothing: every service decides
// by it.
func (r *ClusterHookPolicyReconciler) compile(ctx context.Context, s *clusterScope) error {
	var services v1alpha1.DecisionServiceList
	if err := r.Client.List(ctx, &services); err != nil {
		return fmt.Errorf("list the DecisionServices: %w", err)
	}
	// A cache lists in any order; what the status says must not depend on it.
	slices.SortFunc(services.Items, func(a, b v1alpha1.DecisionService) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	s.services = services.Items
	views := make([]policy.View, len(s.services))
	for i := range s.services {
		views[i] = viewOf(&s.services[i])
	}
	segment, _, errs := policy.CompileCluster(s.policy, views...)
	if len(errs) > 0 {
		s.refuse(v1alpha1.ReasonInvalid, problems(s.policy.Spec.Hooks, errs))
		return nil
	}
	s.digest = segment.Digest()
	for i, sees := range views {
		if hidden := hiddenRoots(segment, sees); hidden != "" {
			s.refuse(v1alpha1.ReasonRootNotVisible, fmt.Sprintf("%s: on no data volume of DecisionService %s/%s, which denies such paths; mount it there, or set resolve to Agent",
				hidden, s.services[i].Namespace, s.services[i].Name))
			return nil
		}
	}
	s.accept()
	return nil
}

// observe asks the replicas of every service.
func (r *ClusterHookPolicyReconciler) observe(ctx context.Context, s *clusterScope) error {
	version := r.versions.first(s.policy)
	if s.refused {
		return nil
	}
	var all progress
	for i := range s.services {
		p, err := progressOf(ctx, r.Client, &s.services[i], wanted{
			name: s.policy.Name, generation: s.policy.Generation, resourceVersion: version,
		})
		if err != nil {
			return err
		}
		all.add(p)
	}
	s.program(all, "all decision services")
	return nil
}

package controllers

import (
	"context"
	"fmt"

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
	policy *v1alpha1.ClusterHookPolicy
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
	if s.refused {
		return ctrl.Result{}, reconcile.TerminalError(errNotCompiled)
	}
	return ctrl.Result{}, nil
}

// compile does what every replica does with the policy.
func (r *ClusterHookPolicyReconciler) compile(_ context.Context, s *clusterScope) error {
	segment, _, errs := policy.CompileCluster(s.policy)
	if len(errs) > 0 {
		s.refuse(v1alpha1.ReasonInvalid, problems(s.policy.Spec.Hooks, errs))
		return nil
	}
	s.digest = segment.Digest()
	s.accept()
	return nil
}

// observe asks the replicas of every service.
func (r *ClusterHookPolicyReconciler) observe(ctx context.Context, s *clusterScope) error {
	version := r.versions.first(s.policy)
	if s.refused {
		return nil
	}
	var services v1alpha1.DecisionServiceList
	if err := r.Client.List(ctx, &services); err != nil {
		return fmt.Errorf("list the DecisionServices: %w", err)
	}
	var all progress
	for i := range services.Items {
		p, err := progressOf(ctx, r.Client, &services.Items[i], wanted{
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

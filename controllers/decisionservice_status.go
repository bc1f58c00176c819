package controllers

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	v1alpha1ac "github.com/hookpolicy/hookpolicy/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/render"
)

// observe reads what the StatefulSet came to. It speaks for the spec only when
// it is the one just applied and its controller has seen it.
func (r *DecisionServiceReconciler) observe(ctx context.Context, s *serviceScope) error {
	var sts appsv1.StatefulSet
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.service.Namespace, Name: contract.ChildName(s.service.Name)}, &sts)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the StatefulSet: %w", err)
	}
	s.settled = true
	if s.sayGrowth() {
		s.set(v1alpha1.ConditionServiceProgrammed, metav1.ConditionTrue, v1alpha1.ReasonProgrammed, "")
	}
	want := render.ReplicaCount(s.service)
	s.readyReplicas = sts.Status.ReadyReplicas
	current := sts.Annotations[contract.AnnotationInputs] == s.children.Inputs && // else the cache holds an older one
		sts.Status.ObservedGeneration >= sts.Generation &&
		sts.Status.UpdatedReplicas >= want && sts.Status.ReadyReplicas >= want
	if !current {
		s.set(v1alpha1.ConditionServiceReady, metav1.ConditionFalse, v1alpha1.ReasonReplicasPending,
			fmt.Sprintf("Waits for %d replicas to be ready with this generation", want))
		return nil
	}
	s.set(v1alpha1.ConditionServiceReady, metav1.ConditionTrue, v1alpha1.ReasonReady, fmt.Sprintf("%d of %d replicas decide", want, want))
	return nil
}

// observeVotes says whether the API server guards who votes on held calls, as
// the replicas have found. One that takes a forged vote is enough to doubt it.
func (r *DecisionServiceReconciler) observeVotes(ctx context.Context, s *serviceScope) error {
	tried := false
	for i := range render.ReplicaCount(s.service) {
		var dr v1alpha1.DecisionReplica
		key := client.ObjectKey{Namespace: s.service.Namespace, Name: contract.ReplicaName(s.service.Name, i)}
		if err := r.Client.Get(ctx, key, &dr); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read a DecisionReplica: %w", err)
		}
		switch dr.Status.Votes {
		case v1alpha1.VotesUnguarded:
			s.set(v1alpha1.ConditionApprovalsEnforced, metav1.ConditionFalse, v1alpha1.ReasonVotesUnguarded,
				"The API server takes forged votes, so none is counted: install the chart with admissionPolicies.enabled")
			return nil
		case v1alpha1.VotesGuarded:
			tried = true
		}
	}
	if tried {
		s.set(v1alpha1.ConditionApprovalsEnforced, metav1.ConditionTrue, v1alpha1.ReasonVotesGuarded, "")
	}
	return nil
}

// votesAsKnown says what is known already of who may vote: replicas go on
// whatever becomes of this generation.
func (s *serviceScope) votesAsKnown() {
	was := metav1.Condition{Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonPending, Message: "No replica has tried yet"}
	if c := meta.FindStatusCondition(s.list, v1alpha1.ConditionApprovalsEnforced); c != nil {
		was = *c
	}
	s.set(v1alpha1.ConditionApprovalsEnforced, was.Status, was.Reason, was.Message)
}

// applyStatus writes what was found, if it is new, and tells of transitions.
func (r *DecisionServiceReconciler) applyStatus(ctx context.Context, s *serviceScope) error {
	ds := s.service
	now := v1alpha1.DecisionServiceStatus{
		ObservedGeneration: ds.Generation,
		Conditions:         s.list,
		Trust:              r.Options.TrustOf(ds.Namespace),
		URL:                contract.URL(ds.Namespace, ds.Name),
		Audience:           contract.Audience(ds.Namespace, ds.Name),
		ReadyReplicas:      s.readyReplicas,
	}
	if equality.Semantic.DeepEqual(now, ds.Status) {
		return nil
	}
	status := v1alpha1ac.DecisionServiceStatus().
		WithObservedGeneration(now.ObservedGeneration).WithConditions(s.apply()...).
		WithTrust(now.Trust).WithURL(now.URL).WithAudience(now.Audience).WithReadyReplicas(now.ReadyReplicas)
	if err := applyStatus(ctx, r.Client, v1alpha1ac.DecisionService(ds.Name, ds.Namespace).WithUID(ds.UID).WithStatus(status)); err != nil {
		return err
	}
	s.record(r.Recorder, ds, "Reconcile")
	return nil
}

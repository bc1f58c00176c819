package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/render"
)

// DecisionServiceReconciler makes of a DecisionService what it consists of.
type DecisionServiceReconciler struct {
	Client    client.Client
	Recorder  recorder.EventRecorder
	Options   render.Options
	Authority *Authority
	Now       func() time.Time
}

var _ reconcile.ObjectReconciler[*v1alpha1.DecisionService] = (*DecisionServiceReconciler)(nil)

// serviceScope is what one reconciliation finds.
type serviceScope struct {
	conditionSet
	service  *v1alpha1.DecisionService
	children *render.Children
	// wake is when something is due that no watch can see; zero: nothing.
	wake time.Time
	// refusedGrowth is why the claims could not grow, if they could not.
	refusedGrowth error
	// shrunk says that some claim is larger than the spec wants it.
	shrunk        bool
	readyReplicas int32
	// blocked says what the work waits for, where nobody but a person helps.
	blocked string
	// settled says that Programmed and Ready are known.
	settled bool
}

// errNotRenderable ends the work on a service: only a new spec can help.
var errNotRenderable = errors.New("the spec of the DecisionService cannot be carried out")

// Reconcile makes what is missing, changes what is different, and reports.
func (r *DecisionServiceReconciler) Reconcile(ctx context.Context, ds *v1alpha1.DecisionService) (ctrl.Result, error) {
	if !ds.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // the children are owned; the garbage collector removes them
	}
	s := &serviceScope{conditionSet: newConditionSet(ds.Generation, ds.Status.Conditions), service: ds, readyReplicas: ds.Status.ReadyReplicas}
	s.votesAsKnown()
	err := run(ctx, s, r.render, r.issue, r.shareKey, r.applyChildren, r.growClaims, r.applyStatefulSet, r.prune, r.observe, r.observeVotes)
	if err == nil {
		err = s.refusedGrowth // to be tried again: no watch tells when a class lets volumes grow
	}
	s.settle()
	if statusErr := r.applyStatus(ctx, s); statusErr != nil {
		return ctrl.Result{}, statusErr // not joined: a terminal err would stop the retry
	}
	return s.result(r.Now()), err
}

// result wakes the service when its certificates are due.
func (s *serviceScope) result(now time.Time) ctrl.Result {
	if s.wake.IsZero() {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: max(s.wake.Sub(now), time.Second)}
}

func (s *serviceScope) wakeAt(at time.Time) {
	if s.wake.IsZero() || at.Before(s.wake) {
		s.wake = at
	}
}

// pending notes what stands between the service and being Programmed.
func (s *serviceScope) pending(reason, message string) {
	s.set(v1alpha1.ConditionServiceProgrammed, metav1.ConditionFalse, reason, message)
}

// render says what the service is made of.
func (r *DecisionServiceReconciler) render(_ context.Context, s *serviceScope) error {
	children, err := render.Render(s.service, r.Options)
	if err != nil {
		s.set(v1alpha1.ConditionServiceAccepted, metav1.ConditionFalse, v1alpha1.ReasonInvalid, err.Error())
		s.settled = true
		s.pending(v1alpha1.ReasonNotAccepted, "This generation is not accepted")
		s.set(v1alpha1.ConditionServiceReady, metav1.ConditionFalse, v1alpha1.ReasonNotAccepted, "This generation is not accepted")
		return reconcile.TerminalError(errNotRenderable)
	}
	s.children = children
	note := ""
	if from := s.service.Spec.AllowedNamespaces.From; from != "" && from != v1alpha1.BindFromSame &&
		r.Options.TrustOf(s.service.Namespace) == v1alpha1.TrustTenant {
		note = "Serves its own namespace only: allowedNamespaces is for services of the platform"
	}
	s.set(v1alpha1.ConditionServiceAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted, note)
	return nil
}

// settle says that the work is not done, where it was broken off. What the
// replicas came to is as it was, unless that is about another generation.
func (s *serviceScope) settle() {
	if s.settled {
		return
	}
	message := cmp.Or(s.blocked, "Not all that the service is made of is applied")
	s.pending(v1alpha1.ReasonPending, message)
	if c := meta.FindStatusCondition(s.list, v1alpha1.ConditionServiceReady); c == nil || c.ObservedGeneration != s.generation {
		s.set(v1alpha1.ConditionServiceReady, metav1.ConditionFalse, v1alpha1.ReasonReplicasPending, message)
	}
}

// applyChildren applies all that pods need before there are any.
func (r *DecisionServiceReconciler) applyChildren(ctx context.Context, s *serviceScope) error {
	for _, child := range s.children.All() {
		if child == any(s.children.StatefulSet) {
			continue
		}
		if err := apply(ctx, r.Client, child); err != nil {
			return err
		}
	}
	return nil
}

func (r *DecisionServiceReconciler) applyStatefulSet(ctx context.Context, s *serviceScope) error {
	return apply(ctx, r.Client, s.children.StatefulSet)
}

// prune deletes the DecisionReplicas of replicas that are no more. Their claims
// stay.
func (r *DecisionServiceReconciler) prune(ctx context.Context, s *serviceScope) error {
	wanted := make(map[string]bool)
	for _, dr := range s.children.Replicas {
		wanted[*dr.Name] = true
	}
	var list v1alpha1.DecisionReplicaList
	if err := r.Client.List(ctx, &list, client.InNamespace(s.service.Namespace)); err != nil {
		return fmt.Errorf("list the DecisionReplicas: %w", err)
	}
	for i := range list.Items {
		dr := &list.Items[i]
		if wanted[dr.Name] || !metav1.IsControlledBy(dr, s.service) {
			continue
		}
		if err := r.Client.Delete(ctx, dr, client.Preconditions{UID: &dr.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete a DecisionReplica: %w", err)
		}
	}
	return nil
}

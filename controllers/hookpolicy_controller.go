package controllers

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	v1alpha1ac "github.com/hookpolicy/hookpolicy/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/policy"
	"github.com/hookpolicy/hookpolicy/internal/render"
)

// errNotCompiled ends the work on a policy: only a new spec can help.
var errNotCompiled = errors.New("the policy does not compile")

// HookPolicyReconciler says in a HookPolicy's status what became of it. It
// writes nothing else.
type HookPolicyReconciler struct {
	Client   client.Client
	Recorder recorder.EventRecorder
	// Options are those that services are rendered with: they say which service
	// is the default, and who may bind to which.
	Options render.Options

	versions versions
}

var _ reconcile.ObjectReconciler[*v1alpha1.HookPolicy] = (*HookPolicyReconciler)(nil)

// hookPolicyScope is what one reconciliation finds.
type hookPolicyScope struct {
	policyScope
	policy  *v1alpha1.HookPolicy
	segment *plan.Segment             // nil: it does not compile
	service *v1alpha1.DecisionService // nil: there is none to bind to
}

// Reconcile looks at one HookPolicy and reports.
func (r *HookPolicyReconciler) Reconcile(ctx context.Context, hp *v1alpha1.HookPolicy) (ctrl.Result, error) {
	if !hp.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // it decides until it is gone, and then nobody asks
	}
	s := &hookPolicyScope{policyScope: newPolicyScope(hp.Generation, hp.Status), policy: hp}
	if err := run(ctx, s, r.compile, r.bind, r.seeRoots, r.observe, r.findConflicts); err != nil {
		return ctrl.Result{}, err // nothing is known for certain: the status stays
	}
	if err := r.applyStatus(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	if s.segment == nil {
		return ctrl.Result{}, reconcile.TerminalError(errNotCompiled)
	}
	return ctrl.Result{}, nil
}

// compile does what every replica does with the policy.
func (r *HookPolicyReconciler) compile(_ context.Context, s *hookPolicyScope) error {
	segment, _, errs := policy.Compile(s.policy)
	if len(errs) > 0 {
		s.refuse(v1alpha1.ReasonInvalid, problems(s.policy.Spec.Hooks, errs))
		return nil
	}
	s.segment, s.digest = segment, segment.Digest()
	return nil
}

// bind finds the service that decides by the policy. What does not compile is
// not bound: one thing at a time.
func (r *HookPolicyReconciler) bind(ctx context.Context, s *hookPolicyScope) error {
	if s.segment == nil {
		return nil
	}
	key := serviceOf(s.policy, r.Options.DefaultService)
	if key.Name == "" {
		s.refuse(v1alpha1.ReasonServiceNotFound,
			"The cluster has no default decision service: name one of this namespace in spec.decisionServiceRef")
		return nil
	}
	var ds v1alpha1.DecisionService
	switch err := r.Client.Get(ctx, key, &ds); {
	case apierrors.IsNotFound(err):
		s.refuse(v1alpha1.ReasonServiceNotFound, "There is no DecisionService "+key.String())
	case err != nil:
		return fmt.Errorf("read the DecisionService: %w", err)
	case !r.Options.MayBind(&ds, s.policy.Namespace):
		s.refuse(v1alpha1.ReasonNotAllowed, "DecisionService "+key.String()+" takes no policies of this namespace")
	default:
		s.service = &ds
	}
	return nil
}

// seeRoots compiles the policy for what its service sees, as the replicas do,
// and refuses one whose links the service is to resolve where it sees nothing.
func (r *HookPolicyReconciler) seeRoots(_ context.Context, s *hookPolicyScope) error {
	if s.service == nil {
		return nil
	}
	sees := viewOf(s.service)
	if segment, _, errs := policy.Compile(s.policy, sees); len(errs) == 0 {
		s.segment, s.digest = segment, segment.Digest()
	}
	if hidden := hiddenRoots(s.segment, sees); hidden != "" {
		s.refuse(v1alpha1.ReasonRootNotVisible, fmt.Sprintf("%s: on no data volume of DecisionService %s/%s; mount it there, or set resolve to Agent",
			hidden, s.service.Namespace, s.service.Name))
	}
	return nil
}

// observe accepts what nothing speaks against, and asks the replicas.
func (r *HookPolicyReconciler) observe(ctx context.Context, s *hookPolicyScope) error {
	version := r.versions.first(s.policy)
	if s.refused {
		return nil
	}
	s.accept()
	p, err := progressOf(ctx, r.Client, s.service, wanted{
		namespace: s.policy.Namespace, name: s.policy.Name, generation: s.policy.Generation, resourceVersion: version,
	})
	if err != nil {
		return err
	}
	s.program(p, types.NamespacedName{Namespace: s.service.Namespace, Name: s.service.Name}.String())
	return nil
}

// findConflicts asks whom other policies take away.
func (r *HookPolicyReconciler) findConflicts(ctx context.Context, s *hookPolicyScope) error {
	lost, err := lostCallers(ctx, r.Client, s.policy)
	if err != nil {
		return err
	}
	if lost == "" {
		s.set(v1alpha1.ConditionConflicted, metav1.ConditionFalse, v1alpha1.ReasonNoConflict, "")
		return nil
	}
	s.set(v1alpha1.ConditionConflicted, metav1.ConditionTrue, v1alpha1.ReasonCallersLost, lost)
	return nil
}

// applyStatus writes what was found, if it is new, and tells of transitions.
func (r *HookPolicyReconciler) applyStatus(ctx context.Context, s *hookPolicyScope) error {
	status := s.status()
	if status == nil {
		return nil
	}
	ac := v1alpha1ac.HookPolicy(s.policy.Name, s.policy.Namespace).WithUID(s.policy.UID).WithStatus(status)
	if err := applyStatus(ctx, r.Client, ac); err != nil {
		return err
	}
	s.record(r.Recorder, s.policy, "Reconcile")
	return nil
}

package controllers

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/render"
)

// growClaims makes the claims as large as the spec wants them. A StatefulSet's
// claim templates cannot be changed: so the claims are grown first, then the
// StatefulSet is deleted with its pods left running, and then applied anew. The
// new one takes pods and claims over. Killed anywhere in between, the next run
// goes on from what it finds.
func (r *DecisionServiceReconciler) growClaims(ctx context.Context, s *serviceScope) error {
	if err := r.growEach(ctx, s); err != nil {
		return err
	}
	var sts appsv1.StatefulSet
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.service.Namespace, Name: contract.ChildName(s.service.Name)}, &sts)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the StatefulSet: %w", err)
	}
	template := templateSize(&sts) // nil, too, where there is no StatefulSet
	switch {
	case template == nil:
		return nil
	case !sts.DeletionTimestamp.IsZero():
		return errWait // its end is watched
	case template.Cmp(s.children.ClaimSize) == 0:
		return nil
	case s.refusedGrowth != nil || template.Cmp(s.children.ClaimSize) > 0:
		return r.keepSize(s, *template)
	}
	err = r.Client.Delete(ctx, &sts, client.PropagationPolicy(metav1.DeletePropagationOrphan), client.Preconditions{UID: &sts.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the StatefulSet and leave its pods: %w", err)
	}
	return errWait
}

// growEach asks for more where a claim is too small, also where its replica is
// scaled down: it may come back.
func (r *DecisionServiceReconciler) growEach(ctx context.Context, s *serviceScope) error {
	var claims corev1.PersistentVolumeClaimList
	err := r.Client.List(ctx, &claims, client.InNamespace(s.service.Namespace), client.MatchingLabels(contract.SelectorLabels(s.service.Name)))
	if err != nil {
		return fmt.Errorf("list the volume claims: %w", err)
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if !strings.HasPrefix(claim.Name, render.ClaimPrefix(s.service.Name)) || !claim.DeletionTimestamp.IsZero() {
			continue
		}
		has := claim.Spec.Resources.Requests[corev1.ResourceStorage]
		switch has.Cmp(s.children.ClaimSize) {
		case 1:
			s.shrunk = true
		case -1:
			err := r.grow(ctx, claim, s.children.ClaimSize)
			if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
				s.refusedGrowth = err
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

// grow applies a size to the very claim that was seen.
func (r *DecisionServiceReconciler) grow(ctx context.Context, claim *corev1.PersistentVolumeClaim, to resource.Quantity) error {
	return apply(ctx, r.Client, corev1ac.PersistentVolumeClaim(claim.Name, claim.Namespace).WithUID(claim.UID).
		WithSpec(corev1ac.PersistentVolumeClaimSpec().WithResources(corev1ac.VolumeResourceRequirements().
			WithRequests(corev1.ResourceList{corev1.ResourceStorage: to}))))
}

// keepSize renders the StatefulSet with the claims as they are, so that
// everything else of the spec is carried out.
func (r *DecisionServiceReconciler) keepSize(s *serviceScope, size resource.Quantity) error {
	as := s.service.DeepCopy()
	as.Spec.Audit.Size = size.String()
	children, err := render.Render(as, r.Options)
	if err != nil {
		return fmt.Errorf("render with the size that there is: %w", err)
	}
	s.children = children
	s.shrunk = s.shrunk || s.refusedGrowth == nil
	return nil
}

func templateSize(sts *appsv1.StatefulSet) *resource.Quantity {
	for _, t := range sts.Spec.VolumeClaimTemplates {
		if size, ok := t.Spec.Resources.Requests[corev1.ResourceStorage]; ok {
			return &size
		}
	}
	return nil
}

// sayGrowth reports what growing the claims came to, and whether they are as
// wanted.
func (s *serviceScope) sayGrowth() bool {
	switch {
	case s.refusedGrowth != nil:
		s.pending(v1alpha1.ReasonVolumeNotGrown, "The cluster refuses to grow the volume claims; the storage class may not allow it")
	case s.shrunk:
		s.pending(v1alpha1.ReasonVolumeTooSmall, "A volume claim is larger than spec.audit.size; volumes cannot shrink")
	default:
		return true
	}
	return false
}

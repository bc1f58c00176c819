// Package testkit holds the invariants that tests of the reconcilers check.
package testkit

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
)

// CheckStatus fails the test when the status of an object of ours breaks what
// holds for every status at every time. A status that was never written is none.
func CheckStatus(tb testing.TB, object client.Object) {
	tb.Helper()
	for _, problem := range problems(object) {
		tb.Errorf("status of %T %s: %s", object, client.ObjectKeyFromObject(object), problem)
	}
}

func problems(object client.Object) []string {
	switch o := object.(type) {
	case *v1alpha1.HookPolicy:
		return policyProblems(o, &o.Status, v1alpha1.ConditionAccepted, v1alpha1.ConditionProgrammed, v1alpha1.ConditionConflicted)
	case *v1alpha1.ClusterHookPolicy:
		return policyProblems(o, &o.Status, v1alpha1.ConditionAccepted, v1alpha1.ConditionProgrammed)
	case *v1alpha1.DecisionService:
		return serviceProblems(o)
	default:
		return []string{"is of no kind that this package knows"}
	}
}

func policyProblems(o client.Object, s *v1alpha1.PolicyStatus, kinds ...string) []string {
	if s.ObservedGeneration == 0 && len(s.Conditions) == 0 {
		return nil
	}
	all := common(o, s.ObservedGeneration, s.Conditions, kinds)
	accepted := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionAccepted)
	if accepted == nil {
		return all
	}
	if accepted.Status == metav1.ConditionTrue && s.Digest == "" {
		all = append(all, "is Accepted without a digest")
	}
	if accepted.Reason == v1alpha1.ReasonInvalid && s.Digest != "" {
		all = append(all, "has a digest of what does not compile")
	}
	if accepted.Status != metav1.ConditionTrue && meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionProgrammed) {
		all = append(all, "is Programmed and not Accepted")
	}
	return all
}

func serviceProblems(o *v1alpha1.DecisionService) []string {
	s := &o.Status
	if s.ObservedGeneration == 0 && len(s.Conditions) == 0 {
		return nil
	}
	all := common(o, s.ObservedGeneration, s.Conditions,
		[]string{v1alpha1.ConditionServiceAccepted, v1alpha1.ConditionServiceProgrammed, v1alpha1.ConditionServiceReady, v1alpha1.ConditionApprovalsEnforced})
	if s.Trust == "" || s.URL == "" || s.Audience == "" {
		all = append(all, "lacks trust, url or audience")
	}
	if !meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionServiceAccepted) &&
		meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionServiceProgrammed) {
		all = append(all, "is Programmed and not Accepted")
	}
	return all
}

// common holds for every list of conditions of ours.
func common(o client.Object, observed int64, conditions []metav1.Condition, kinds []string) []string {
	var all []string
	if observed > o.GetGeneration() {
		all = append(all, fmt.Sprintf("observed generation %d of %d", observed, o.GetGeneration()))
	}
	for _, kind := range kinds {
		if meta.FindStatusCondition(conditions, kind) == nil {
			all = append(all, "has no condition "+kind)
		}
	}
	seen := make(map[string]bool)
	for _, c := range conditions {
		if !slices.Contains(kinds, c.Type) || seen[c.Type] {
			all = append(all, "has a condition "+c.Type+" too many")
		}
		seen[c.Type] = true
		all = append(all, conditionProblems(c, observed)...)
	}
	return all
}

func conditionProblems(c metav1.Condition, observed int64) []string {
	var all []string
	if !slices.Contains([]metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}, c.Status) {
		all = append(all, c.Type+" has the status "+string(c.Status))
	}
	if len(validation.IsQualifiedName(c.Reason)) > 0 {
		all = append(all, c.Type+" has no reason")
	}
	if c.LastTransitionTime.IsZero() {
		all = append(all, c.Type+" has no time of transition")
	}
	if c.ObservedGeneration > observed {
		all = append(all, c.Type+" is ahead of observedGeneration")
	}
	if c.Status != metav1.ConditionTrue && c.Message == "" && c.Type != v1alpha1.ConditionConflicted {
		all = append(all, c.Type+" is not True and does not say why")
	}
	return all
}

package controllers

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	v1alpha1ac "github.com/hookpolicy/hookpolicy/api/v1alpha1/applyconfiguration/api/v1alpha1"
)

// A policyScope is what one reconciliation of a policy, of either kind, finds.
type policyScope struct {
	conditionSet
	was    v1alpha1.PolicyStatus
	digest string
	// refused says that Accepted is False. Each condition is set once: setting
	// it to and fro would give it another time of transition.
	refused bool
	// invalid says that it is so because the policy does not compile.
	invalid bool
}

func newPolicyScope(generation int64, was v1alpha1.PolicyStatus) policyScope {
	return policyScope{conditionSet: newConditionSet(generation, was.Conditions), was: was}
}

// accept sets Accepted to True.
func (s *policyScope) accept() {
	s.set(v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted, "")
}

// refuse sets Accepted to False, and Programmed with it. Only what does not
// compile leaves an earlier generation in force: see what replicas do with the
// others.
func (s *policyScope) refuse(reason, message string) {
	s.refused, s.invalid = true, reason == v1alpha1.ReasonInvalid
	s.set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, reason, message)
	s.set(v1alpha1.ConditionProgrammed, metav1.ConditionFalse, v1alpha1.ReasonNotAccepted, "This generation is not accepted; "+outcomeOf(reason))
}

// outcomeOf is what becomes of the calls that a refused generation governs.
func outcomeOf(reason string) string {
	switch reason {
	case v1alpha1.ReasonRootNotVisible:
		return "it decides all the same, and denies the paths that the service cannot resolve"
	case v1alpha1.ReasonServiceNotFound, v1alpha1.ReasonNotAllowed:
		return "no service decides by it, so its callers are denied"
	default:
		return "the last one that was, if any, stays in force"
	}
}

// program sets Programmed from what replicas have reached. Where names them.
func (s *policyScope) program(p progress, where string) {
	generation := "Generation " + strconv.FormatInt(s.generation, 10)
	switch {
	case p.done():
		s.set(v1alpha1.ConditionProgrammed, metav1.ConditionTrue, v1alpha1.ReasonProgrammed,
			fmt.Sprintf("%s is in force on %d of %d replicas of %s", generation, p.reached, p.live, where))
	case p.live == 0:
		s.set(v1alpha1.ConditionProgrammed, metav1.ConditionFalse, v1alpha1.ReasonPending,
			"No replica of "+where+" is up")
	case p.rejected > 0:
		s.set(v1alpha1.ConditionProgrammed, metav1.ConditionFalse, v1alpha1.ReasonPending,
			fmt.Sprintf("%s was rejected by %d of %d replicas of %s; their logs say why", generation, p.rejected, p.live, where))
	default:
		s.set(v1alpha1.ConditionProgrammed, metav1.ConditionFalse, v1alpha1.ReasonPending,
			fmt.Sprintf("%s is in force on %d of %d replicas of %s", generation, p.reached, p.live, where))
	}
}

// status returns the status to write, nil if it is what the object has.
func (s *policyScope) status() *v1alpha1ac.PolicyStatusApplyConfiguration {
	now := v1alpha1.PolicyStatus{ObservedGeneration: s.generation, Digest: s.digest, Conditions: s.list}
	if equality.Semantic.DeepEqual(now, s.was) {
		return nil
	}
	ac := v1alpha1ac.PolicyStatus().WithObservedGeneration(s.generation).WithConditions(s.apply()...)
	if s.digest != "" {
		ac.WithDigest(s.digest)
	}
	return ac
}

// isPending reports whether a policy waits for replicas, as far as its status
// tells. Of a status that speaks of an older generation, it does.
func isPending(generation int64, status *v1alpha1.PolicyStatus) bool {
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionProgrammed)
	return c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != generation
}

// problems is what a compiler reports, in one text: the hooks by their names,
// then field and fault.
func problems(hooks []v1alpha1.Hook, errs field.ErrorList) string {
	const most = 10
	lines := make([]string, 0, most)
	for i, err := range errs {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more", len(errs)-most))
			break
		}
		lines = append(lines, hookOf(hooks, err.Field)+err.Error())
	}
	return strings.Join(lines, "; ")
}

// hookOf names the hook that a field belongs to, for people who do not count.
func hookOf(hooks []v1alpha1.Hook, path string) string {
	rest, ok := strings.CutPrefix(path, "spec.hooks[")
	if !ok {
		return ""
	}
	number, _, _ := strings.Cut(rest, "]")
	i, err := strconv.Atoi(number)
	if err != nil || i >= len(hooks) || hooks[i].Name == "" {
		return ""
	}
	return fmt.Sprintf("hook %s: ", clip(hooks[i].Name, 63))
}

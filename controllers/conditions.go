package controllers

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
)

// maxMessage bounds the message of a condition.
const maxMessage = 2048

// A conditionSet is the conditions of one object as a reconciliation finds
// them. It begins with those that the object has, for the times of their last
// transitions.
type conditionSet struct {
	generation int64
	before     []metav1.Condition
	list       []metav1.Condition
}

func newConditionSet(generation int64, before []metav1.Condition) conditionSet {
	return conditionSet{generation: generation, before: before, list: slices.Clone(before)}
}

func (c *conditionSet) set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&c.list, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: clip(message, maxMessage), ObservedGeneration: c.generation,
	})
}

// apply returns every condition for server-side apply.
func (c *conditionSet) apply() []*metav1ac.ConditionApplyConfiguration {
	all := make([]*metav1ac.ConditionApplyConfiguration, len(c.list))
	for i, x := range c.list {
		all[i] = metav1ac.Condition().WithType(x.Type).WithStatus(x.Status).
			WithReason(x.Reason).WithMessage(x.Message).
			WithObservedGeneration(x.ObservedGeneration).WithLastTransitionTime(x.LastTransitionTime)
	}
	return all
}

// record makes an event of each condition that came to be another one. What is
// merely on its way, or follows from another condition, is none.
func (c *conditionSet) record(r recorder.EventRecorder, object runtime.Object, action string) {
	quiet := []string{
		v1alpha1.ReasonPending, v1alpha1.ReasonReplicasPending, v1alpha1.ReasonNotAccepted, v1alpha1.ReasonNoConflict,
	}
	for _, now := range c.list {
		was := meta.FindStatusCondition(c.before, now.Type)
		if slices.Contains(quiet, now.Reason) || was != nil && was.Status == now.Status && was.Reason == now.Reason {
			continue
		}
		severity := corev1.EventTypeNormal
		if bad := metav1.ConditionFalse; now.Status == bad || now.Type == v1alpha1.ConditionConflicted {
			severity = corev1.EventTypeWarning
		}
		note := now.Message
		if note == "" {
			note = now.Type
		}
		r.Eventf(object, nil, severity, now.Reason, action, "%s", clip(note, maxNote))
	}
}

// maxNote bounds the note of an event; the API takes 1 KiB.
const maxNote = 1000

// clip bounds a text, at the end of a character.
func clip(s string, longest int) string {
	if len(s) <= longest {
		return s
	}
	const more = "…"
	end := longest - len(more)
	for end > 0 && s[end]&0xC0 == 0x80 {
		end--
	}
	return s[:end] + more
}

package controllers

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
)

// settled is a policy that is in force.
func settled(hp *v1alpha1.HookPolicy) *v1alpha1.HookPolicy {
	hp.Status = v1alpha1.PolicyStatus{ObservedGeneration: hp.Generation, Digest: "sha256:x"}
	for _, kind := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionProgrammed} {
		hp.Status.Conditions = append(hp.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: kind, ObservedGeneration: hp.Generation, LastTransitionTime: metav1.NewTime(start),
		})
	}
	return hp
}

func replica(reached string, rejected ...v1alpha1.RejectedPolicy) *v1alpha1.DecisionReplica {
	return &v1alpha1.DecisionReplica{
		ObjectMeta: metav1.ObjectMeta{Namespace: platform, Name: "hookpolicy-default-0", Labels: contract.Labels("default")},
		Spec:       v1alpha1.DecisionReplicaSpec{ServiceName: "default"},
		Status: v1alpha1.DecisionReplicaStatus{
			Reached: v1alpha1.ReachedVersions{HookPolicies: reached}, Rejected: rejected, StartedAt: metav1.NewTime(start),
		},
	}
}

func TestAReportWakesThoseThatItConcerns(t *testing.T) {
	const many = 500
	objects := []client.Object{openService(1)}
	for i := range many {
		objects = append(objects, settled(policyOf("team-a", fmt.Sprintf("settled-%d", i))))
	}
	objects = append(objects, policyOf("team-b", "new"), settled(policyOf("team-b", "bad")), elsewhere(policyOf("team-b", "foreign")))
	w := newWorld(t, objects...)
	h := &reportHandler{all: boundTo(w.client), pending: pendingOn(w.client)}
	bad := v1alpha1.RejectedPolicy{Namespace: "team-b", Name: "bad", Generation: 1}
	base := v1alpha1.RejectedPolicy{Name: "base", Generation: 1}
	restarted := replica("20")
	restarted.Status.StartedAt = metav1.NewTime(start.Add(time.Hour))

	for name, tc := range map[string]struct {
		was, is *v1alpha1.DecisionReplica
		want    []string // nil: all that are bound
	}{
		"one that reads on":                           {replica("10"), replica("20"), []string{"team-b/new"}},
		"one that rejects a policy":                   {replica("10"), replica("20", bad, base), []string{"team-b/bad", "team-b/new"}},
		"one that rejects it no more":                 {replica("10", bad), replica("20"), []string{"team-b/bad", "team-b/new"}},
		"one that started anew":                       {replica("10"), restarted, nil},
		"one that reports for the first time":         {replica(""), replica("20"), nil},
		"one that has nothing to report any more":     {replica("10"), replica(""), nil},
		"one whose report says the same as it did":    {replica("10"), replica("10"), []string{"team-b/new"}},
		"one that rejects a policy of the platform's": {replica("10"), replica("20", base), []string{"team-b/new"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := queued(t, func(q queue) { h.Update(t.Context(), event.UpdateEvent{ObjectOld: tc.was, ObjectNew: tc.is}, q) })
			if tc.want == nil && len(got) != many+2 || tc.want != nil && !slices.Equal(got, tc.want) {
				t.Errorf("woke %d: %.200q", len(got), got)
			}
		})
	}
	if got := queued(t, func(q queue) { h.Create(t.Context(), event.CreateEvent{Object: replica("1", bad)}, q) }); !slices.Equal(got, []string{"team-b/bad", "team-b/new"}) {
		t.Errorf("a replica that is seen first woke %.200q", got)
	}
	if got := queued(t, func(q queue) { h.Delete(t.Context(), event.DeleteEvent{Object: replica("1")}, q) }); len(got) != many+2 {
		t.Errorf("a replica that is gone woke %d", len(got))
	}
}

func TestAReportWakesBaselinesToo(t *testing.T) {
	w := newWorld(t, clusterPolicy("base"), clusterPolicy("second"))
	h := &reportHandler{all: clusterPolicies(w.client, everyPolicy), pending: clusterPolicies(w.client, pendingPolicy), cluster: true}
	bad := v1alpha1.RejectedPolicy{Namespace: "team-b", Name: "bad", Generation: 1}
	got := queued(t, func(q queue) {
		h.Update(t.Context(), event.UpdateEvent{ObjectOld: replica("1"), ObjectNew: replica("2", bad)}, q)
	})
	if !slices.Equal(got, []string{"/base", "/second"}) {
		t.Errorf("woke %q", got)
	}
}

func TestOnlyRivalsAreWokenByAnEdit(t *testing.T) {
	w := newWorld(t, policyOf("team-a", "p", "etl"), policyOf("team-a", "same", "web", "etl"), policyOf("team-a", "other", "web"),
		policyOf("team-a", "whole"), policyOf("team-b", "elsewhere", "etl"))
	for name, tc := range map[string]struct {
		of   *v1alpha1.HookPolicy
		want []string
	}{
		"those of its callers, and of all":  {policyOf("team-a", "p", "etl"), []string{"team-a/same", "team-a/whole"}},
		"those of all, by one of all":       {policyOf("team-a", "q"), []string{"team-a/whole"}},
		"nobody, in a namespace of its own": {policyOf("team-c", "q"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := names(rivalsOf(w.client)(t.Context(), tc.of)); !slices.Equal(got, tc.want) {
				t.Errorf("woke %q, want %q", got, tc.want)
			}
		})
	}
}

func TestWhatLetsAnUpdateOfAPolicyThrough(t *testing.T) {
	next := policyOf("n", "p")
	next.Generation = 2
	for name, tc := range map[string]struct {
		was, is          client.Object
		changed, callers bool
	}{
		"a new spec":                       {policyOf("n", "p"), next, true, false},
		"other callers":                    {policyOf("n", "p", "a"), func() client.Object { hp := policyOf("n", "p", "b"); hp.Generation = 2; return hp }(), true, true},
		"its own status, that it is there": {policyOf("n", "p"), settled(policyOf("n", "p")), false, false},
		"its own status, that it waits":    {settled(policyOf("n", "p")), policyOf("n", "p"), true, false},
		"nothing":                          {policyOf("n", "p"), policyOf("n", "p"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := event.UpdateEvent{ObjectOld: tc.was, ObjectNew: tc.is}
			if got := policyChanged().Update(e); got != tc.changed {
				t.Errorf("policyChanged = %v", got)
			}
			if got := callersChanged().Update(e); got != tc.callers {
				t.Errorf("callersChanged = %v", got)
			}
		})
	}
}

func TestOnlyTheNumberOfPodsConcernsPolicies(t *testing.T) {
	sts := func(pods, ready int32) *appsv1.StatefulSet {
		return &appsv1.StatefulSet{Status: appsv1.StatefulSetStatus{Replicas: pods, ReadyReplicas: ready}}
	}
	if podsChanged().Update(event.UpdateEvent{ObjectOld: sts(1, 0), ObjectNew: sts(1, 1)}) {
		t.Error("readiness wakes policies")
	}
	if !podsChanged().Update(event.UpdateEvent{ObjectOld: sts(1, 1), ObjectNew: sts(2, 1)}) {
		t.Error("a new pod wakes none")
	}
}

// queued returns what ends in a queue.
func queued(t *testing.T, fill func(queue)) []string {
	t.Helper()
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	fill(q)
	var requests []reconcile.Request
	for q.Len() > 0 {
		r, _ := q.Get()
		requests = append(requests, r)
		q.Done(r)
	}
	return names(requests)
}

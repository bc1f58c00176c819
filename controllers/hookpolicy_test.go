package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
)

func quantity(s string) resource.Quantity { return resource.MustParse(s) }

func TestAPolicyIsAcceptedOrSaysWhatIsWrong(t *testing.T) {
	own := func(hp *v1alpha1.HookPolicy) {
		hp.Spec.DecisionServiceRef = &v1alpha1.DecisionServiceRef{Name: "own"}
	}
	roots := func(resolve v1alpha1.Resolve, roots ...string) func(*v1alpha1.HookPolicy) {
		return func(hp *v1alpha1.HookPolicy) {
			own(hp)
			hp.Spec.Hooks = append(hp.Spec.Hooks, v1alpha1.Hook{
				Name: "stay-in", PathAllowlist: &v1alpha1.PathAllowlist{Roots: roots, Resolve: resolve},
			})
		}
	}
	ownService := service("team-a", "own", v1alpha1.DecisionServiceSpec{
		DataVolumes: []v1alpha1.DataVolume{{Name: "d", ClaimName: "d", MountPath: "/data/a"}},
	})
	names := service(platform, "default", v1alpha1.DecisionServiceSpec{
		AllowedNamespaces: v1alpha1.AllowedNamespaces{From: v1alpha1.BindFromNames, Names: []string{"team-b"}},
	})
	for name, tc := range map[string]struct {
		services []*v1alpha1.DecisionService
		change   func(*v1alpha1.HookPolicy)
		want     string
		says     []string
	}{
		"bound to the default service": {
			services: []*v1alpha1.DecisionService{openService(1)}, want: "Accepted=True/Accepted",
		},
		"bound to a service of its own namespace": {
			services: []*v1alpha1.DecisionService{ownService}, change: own, want: "Accepted=True/Accepted",
		},
		"no default service": {want: "Accepted=False/ServiceNotFound", says: []string{"platform/default"}},
		"a service that is not there": {
			services: []*v1alpha1.DecisionService{openService(1)}, change: own, want: "Accepted=False/ServiceNotFound", says: []string{"team-a/own"},
		},
		"a service of another namespace of the same name is not meant": {
			services: []*v1alpha1.DecisionService{service("team-b", "own", v1alpha1.DecisionServiceSpec{})}, change: own, want: "Accepted=False/ServiceNotFound",
		},
		"a namespace that the service does not take": {
			services: []*v1alpha1.DecisionService{names}, want: "Accepted=False/NotAllowed", says: []string{"platform/default"},
		},
		"a spec that does not compile": {
			services: []*v1alpha1.DecisionService{openService(1)},
			change: func(hp *v1alpha1.HookPolicy) {
				hp.Spec.Hooks[0].DestructiveSQL.Overrides = []v1alpha1.Override{{Class: "forbidden", Decision: v1alpha1.DecisionAllow}}
			},
			want: "Accepted=False/Invalid", says: []string{"hook no-accidents: spec.hooks[0].destructiveSQL.overrides[0]"},
		},
		"a root on a volume of the service": {
			services: []*v1alpha1.DecisionService{ownService}, change: roots("", "/data/a", "/data/a/b"), want: "Accepted=True/Accepted",
		},
		"a root that the service cannot see": {
			services: []*v1alpha1.DecisionService{ownService}, change: roots(v1alpha1.ResolveService, "/data/a", "/data/ab"),
			want: "Accepted=False/RootNotVisible", says: []string{"hook stay-in: root /data/ab:", "team-a/own"},
		},
		"a root above a volume": {
			services: []*v1alpha1.DecisionService{ownService}, change: roots(v1alpha1.ResolveService, "/data"), want: "Accepted=False/RootNotVisible",
		},
		"a root that the service cannot see, and nothing said of who resolves it": {
			services: []*v1alpha1.DecisionService{ownService}, change: roots("", "/data/a", "/data/ab"), want: "Accepted=True/Accepted",
		},
		"a root that the agent resolves": {
			services: []*v1alpha1.DecisionService{ownService}, change: roots(v1alpha1.ResolveAgent, "/srv"), want: "Accepted=True/Accepted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			hp := policyOf("team-a", "p")
			if tc.change != nil {
				tc.change(hp)
			}
			w := newWorld(t, hp)
			for _, ds := range tc.services {
				w.do(w.client.Create(t.Context(), ds.DeepCopy()))
			}
			got := w.reconcilePolicy()
			wantConditions(t, got.Status.Conditions, tc.want)
			for _, text := range tc.says {
				if m := message(got.Status.Conditions, "Accepted"); !strings.Contains(m, text) {
					t.Errorf("message %q does not say %q", m, text)
				}
			}
			writes := w.writes
			w.reconcilePolicy()
			if w.writes != writes {
				t.Error("wrote again, though nothing changed")
			}
		})
	}
}

func TestAPolicyIsProgrammedWhenEveryLiveReplicaHasReachedIt(t *testing.T) {
	w := newWorld(t, openService(2), policyOf("team-a", "p"))
	if _, err := w.reconcileService(platform, "default"); err != nil {
		t.Fatal(err)
	}
	hp := w.reconcilePolicy()
	wantConditions(t, hp.Status.Conditions, "Accepted=True/Accepted", "Programmed=False/Pending", "Conflicted=False/NoConflict")
	seen := "1000" // the version at which the generation was first seen
	w.policies.versions.seen[request("team-a", "p").NamespacedName].resourceVersion = seen

	step := func(what, want, says string) {
		t.Helper()
		hp = w.reconcilePolicy()
		wantConditions(t, hp.Status.Conditions, "Programmed="+want)
		if m := message(hp.Status.Conditions, "Programmed"); !strings.Contains(m, says) {
			t.Errorf("%s: %q does not say %q", what, m, says)
		}
	}
	step("no replica", "False/Pending", "No replica of platform/default is up")
	w.report("default#0", seen)
	step("one has reported, the other is not there", "True/Programmed", "in force on 1 of 1 replicas")
	w.pods(2)
	step("the other's pod is there and silent", "False/Pending", "1 of 2")
	w.report("default#1", "999")
	step("it has read less: 999 is before 1000", "False/Pending", "1 of 2")
	w.report("default#1", "10000")
	step("it has read more", "True/Programmed", "Generation 1 is in force on 2 of 2 replicas of platform/default")
	w.report("default#0", seen, v1alpha1.RejectedPolicy{Namespace: "team-a", Name: "p", Generation: 1})
	step("one rejects it", "False/Pending", "rejected by 1 of 2")
	w.report("default#0", seen, v1alpha1.RejectedPolicy{Namespace: "team-b", Name: "p", Generation: 1})
	step("one rejects another one", "True/Programmed", "2 of 2")
	w.report("default#0", "not-a-version")
	step("what cannot be compared was not reached", "False/Pending", "1 of 2")
	w.report("default#0", seen)

	edit(w, &v1alpha1.HookPolicy{}, "team-a", "p", func(hp *v1alpha1.HookPolicy) { hp.Spec.Enforcement = v1alpha1.EnforcementDryRun })
	digest := hp.Status.Digest
	hp = w.reconcilePolicy()
	if hp.Status.ObservedGeneration != 2 || hp.Status.Digest == digest {
		t.Errorf("generation %d digest %s", hp.Status.ObservedGeneration, hp.Status.Digest)
	}
	if got := w.policies.versions.seen[request("team-a", "p").NamespacedName].resourceVersion; got == seen {
		t.Error("the new generation is looked for at the old version")
	}
}

func TestOwnStatusWritesDoNotMoveTheGoal(t *testing.T) {
	w := newWorld(t, openService(1), policyOf("team-a", "p"))
	if _, err := w.reconcileService(platform, "default"); err != nil {
		t.Fatal(err)
	}
	version := get(w, &v1alpha1.HookPolicy{}, "team-a", "p").ResourceVersion
	if after := w.reconcilePolicy().ResourceVersion; after == version {
		t.Fatal("no status was written")
	}
	w.report("default#0", version)
	wantConditions(t, w.reconcilePolicy().Status.Conditions, "Programmed=True/Programmed")

	w.restart()
	wantConditions(t, w.reconcilePolicy().Status.Conditions, "Programmed=False/Pending")
	w.report("default#0", get(w, &v1alpha1.HookPolicy{}, "team-a", "p").ResourceVersion)
	wantConditions(t, w.reconcilePolicy().Status.Conditions, "Programmed=True/Programmed")
}

func TestAPolicyThatIsGoneIsForgotten(t *testing.T) {
	w := newWorld(t, openService(1), policyOf("team-a", "p"))
	hp := w.reconcilePolicy()
	w.do(w.client.Delete(t.Context(), hp))
	inner := w.policies.versions.forgetting(reconcile.AsReconciler(client.Client(w.client), reconcile.ObjectReconciler[*v1alpha1.HookPolicy](w.policies)))
	if _, err := inner.Reconcile(t.Context(), request("team-a", "p")); err != nil {
		t.Fatal(err)
	}
	if n := len(w.policies.versions.seen); n != 0 {
		t.Errorf("%d versions are remembered", n)
	}
}

func TestTheOlderPolicyWinsAndTheOtherSaysWhatItLost(t *testing.T) {
	later := func(hp *v1alpha1.HookPolicy) *v1alpha1.HookPolicy {
		hp.CreationTimestamp = metav1.NewTime(start.Add(time.Hour))
		return hp
	}
	broken := policyOf("team-a", "broken", "etl")
	broken.Spec.Hooks[0].Name = ""
	broken.CreationTimestamp = metav1.NewTime(start.Add(-time.Hour))
	for name, tc := range map[string]struct {
		policy *v1alpha1.HookPolicy
		others []*v1alpha1.HookPolicy
		says   string // empty: no conflict
	}{
		"alone":                         {policy: policyOf("team-a", "p", "etl")},
		"other callers":                 {policy: policyOf("team-a", "p", "etl"), others: []*v1alpha1.HookPolicy{policyOf("team-a", "o", "web")}},
		"another namespace":             {policy: later(policyOf("team-a", "p", "etl")), others: []*v1alpha1.HookPolicy{policyOf("team-b", "o", "etl")}},
		"the younger loses":             {later(policyOf("team-a", "p", "etl", "web")), []*v1alpha1.HookPolicy{policyOf("team-a", "o", "etl")}, "etl by o"},
		"the older keeps":               {policy: policyOf("team-a", "p", "etl"), others: []*v1alpha1.HookPolicy{later(policyOf("team-a", "o", "etl"))}},
		"of one age the name decides":   {policyOf("team-a", "p", "etl"), []*v1alpha1.HookPolicy{policyOf("team-a", "o", "etl")}, "etl by o"},
		"named beats all":               {policy: later(policyOf("team-a", "p", "etl")), others: []*v1alpha1.HookPolicy{policyOf("team-a", "o")}},
		"all loses what others name":    {policyOf("team-a", "p"), []*v1alpha1.HookPolicy{later(policyOf("team-a", "o", "web", "etl"))}, "etl by o, web by o"},
		"the younger of two for all":    {later(policyOf("team-a", "p")), []*v1alpha1.HookPolicy{policyOf("team-a", "o")}, "every ServiceAccount, by o"},
		"one that does not compile":     {policyOf("team-a", "p", "etl"), []*v1alpha1.HookPolicy{broken}, "etl by broken"},
		"one that is decided elsewhere": {policyOf("team-a", "p", "etl"), []*v1alpha1.HookPolicy{elsewhere(policyOf("team-a", "o", "etl"))}, "etl by o"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, openService(1), tc.policy)
			for _, o := range tc.others {
				w.do(w.client.Create(t.Context(), o.DeepCopy()))
			}
			got := w.reconcilePolicy()
			want := "Conflicted=False/NoConflict"
			if tc.says != "" {
				want = "Conflicted=True/CallersLost"
			}
			wantConditions(t, got.Status.Conditions, want, "Accepted=True/Accepted")
			if m := message(got.Status.Conditions, "Conflicted"); !strings.HasSuffix(m, tc.says) {
				t.Errorf("%q does not say %q", m, tc.says)
			}
		})
	}
}

func elsewhere(hp *v1alpha1.HookPolicy) *v1alpha1.HookPolicy {
	hp.Spec.DecisionServiceRef = &v1alpha1.DecisionServiceRef{Name: "own"}
	return hp
}

func TestABaselineIsProgrammedOnTheReplicasOfEveryService(t *testing.T) {
	w := newWorld(t, openService(1), service(platform, "second", v1alpha1.DecisionServiceSpec{}), clusterPolicy("base"))
	wantConditions(t, w.reconcileCluster().Status.Conditions, "Accepted=True/Accepted", "Programmed=False/Pending")
	for _, name := range []string{"default", "second"} {
		if _, err := w.reconcileService(platform, name); err != nil {
			t.Fatal(err)
		}
	}
	w.report("default#0", "100000")
	w.report("second#0", "1")
	wantConditions(t, w.reconcileCluster().Status.Conditions, "Programmed=False/Pending")
	w.report("second#0", "100000")
	chp := w.reconcileCluster()
	wantConditions(t, chp.Status.Conditions, "Programmed=True/Programmed")
	if m := message(chp.Status.Conditions, "Programmed"); !strings.Contains(m, "2 of 2 replicas of all decision services") {
		t.Error(m)
	}
	w.report("second#0", "100000", v1alpha1.RejectedPolicy{Name: "base", Generation: 1})
	wantConditions(t, w.reconcileCluster().Status.Conditions, "Programmed=False/Pending")

	edit(w, &v1alpha1.ClusterHookPolicy{}, "", "base", func(chp *v1alpha1.ClusterHookPolicy) { chp.Spec.Hooks = nil })
	chp = w.reconcileCluster()
	wantConditions(t, chp.Status.Conditions, "Accepted=False/Invalid", "Programmed=False/NotAccepted")
}

func TestABaselineIsRefusedWhereAServiceDoesNotSeeItsRoots(t *testing.T) {
	mounted := func(paths ...string) v1alpha1.DecisionServiceSpec {
		var spec v1alpha1.DecisionServiceSpec
		for _, p := range paths {
			spec.DataVolumes = append(spec.DataVolumes, v1alpha1.DataVolume{Name: "data", ClaimName: "data", MountPath: p})
		}
		return spec
	}
	for name, tc := range map[string]struct {
		resolve v1alpha1.Resolve
		second  v1alpha1.DecisionServiceSpec
		want    string
	}{
		"every service sees them":              {v1alpha1.ResolveService, mounted("/srv/"), "Accepted=True/Accepted"},
		"one does not":                         {v1alpha1.ResolveService, mounted(), "Accepted=False/RootNotVisible"},
		"one does not, and the agent resolves": {v1alpha1.ResolveAgent, mounted(), "Accepted=True/Accepted"},
		"one does not, and nothing is said":    {"", mounted(), "Accepted=True/Accepted"},
	} {
		t.Run(name, func(t *testing.T) {
			chp := clusterPolicy("base")
			chp.Spec.Hooks = []v1alpha1.Hook{{Name: "stay", PathAllowlist: &v1alpha1.PathAllowlist{Roots: []string{"/srv/shared"}, Resolve: tc.resolve}}}
			w := newWorld(t, service(platform, "default", mounted("/srv")), service(platform, "second", tc.second), chp)
			got := w.reconcileCluster().Status.Conditions
			wantConditions(t, got, tc.want)
			if m := message(got, "Accepted"); strings.Contains(tc.want, "False") && !strings.Contains(m, "platform/second") {
				t.Errorf("message %q", m)
			}
		})
	}
}

func TestTheOrderOfACacheDoesNotShowInAStatus(t *testing.T) {
	chp := clusterPolicy("base")
	chp.Spec.Hooks = []v1alpha1.Hook{{Name: "stay", PathAllowlist: &v1alpha1.PathAllowlist{Roots: []string{"/srv"}, Resolve: v1alpha1.ResolveService}}}
	w := newWorld(t, openService(1), service(platform, "second", v1alpha1.DecisionServiceSpec{}), chp)
	w.reconcileCluster()
	writes := w.writes
	w.baselines.Client = interceptor.NewClient(w.client, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if l, ok := list.(*v1alpha1.DecisionServiceList); ok {
				slices.Reverse(l.Items)
			}
			return err
		},
	})
	w.reconcileCluster()
	if w.writes != writes {
		t.Error("the status was written again, though nothing changed")
	}
}

func TestAReplicaThatCannotNameAllThatItRejectsIsNotBelieved(t *testing.T) {
	w := newWorld(t, openService(1), policyOf("team-a", "p"), clusterPolicy("base"))
	if _, err := w.reconcileService(platform, "default"); err != nil {
		t.Fatal(err)
	}
	rejects := func(namespace string, n int) []v1alpha1.RejectedPolicy {
		var all []v1alpha1.RejectedPolicy
		for i := range n {
			all = append(all, v1alpha1.RejectedPolicy{Namespace: namespace, Name: fmt.Sprintf("r%03d", i), Generation: 1})
		}
		return all
	}
	for name, tc := range map[string]struct {
		rejected        []v1alpha1.RejectedPolicy
		policy, policy0 string
	}{
		"it names all that it rejects":                     {rejects("aaa", v1alpha1.MaxRejected-1), "True/Programmed", "True/Programmed"},
		"its list is full, and this policy is beyond":      {rejects("aaa", v1alpha1.MaxRejected), "False/Pending", "True/Programmed"},
		"its list is full, and this policy is before":      {rejects("zzz", v1alpha1.MaxRejected), "True/Programmed", "True/Programmed"},
		"its list is full of baselines, and more may come": {rejects("", v1alpha1.MaxRejected), "False/Pending", "True/Programmed"},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			w.report("default#0", "100000", tc.rejected...)
			wantConditions(t, w.reconcilePolicy().Status.Conditions, "Programmed="+tc.policy)
			wantConditions(t, w.reconcileCluster().Status.Conditions, "Programmed="+tc.policy0)
		})
	}
}

func TestARefusedPolicySaysWhatBecomesOfItsCalls(t *testing.T) {
	w := newWorld(t, openService(1), policyOf("team-a", "p"))
	for _, step := range []struct {
		change func(*v1alpha1.HookPolicy)
		reason string
		says   string
	}{
		{func(hp *v1alpha1.HookPolicy) { hp.Spec.Hooks[0].Name = "" }, "Invalid", "the last one that was, if any, stays in force"},
		{func(hp *v1alpha1.HookPolicy) {
			hp.Spec.Hooks = []v1alpha1.Hook{{Name: "stay", PathAllowlist: &v1alpha1.PathAllowlist{Resolve: v1alpha1.ResolveService}}}
		}, "RootNotVisible", "it decides all the same"},
		{func(hp *v1alpha1.HookPolicy) { elsewhere(hp) }, "ServiceNotFound", "its callers are denied"},
	} {
		edit(w, &v1alpha1.HookPolicy{}, "team-a", "p", step.change)
		got := w.reconcilePolicy().Status.Conditions
		wantConditions(t, got, "Accepted=False/"+step.reason, "Programmed=False/NotAccepted")
		if m := message(got, "Programmed"); !strings.Contains(m, step.says) {
			t.Errorf("%s: %q does not say %q", step.reason, m, step.says)
		}
	}
}

func TestEventsTellOfTransitionsOnly(t *testing.T) {
	w := newWorld(t, openService(1), policyOf("team-a", "p"))
	if _, err := w.reconcileService(platform, "default"); err != nil {
		t.Fatal(err)
	}
	w.told()
	w.reconcilePolicy()
	if got := w.told(); len(got) != 1 || !strings.HasPrefix(got[0], "Normal Accepted") {
		t.Errorf("first look: %q", got)
	}
	w.reconcilePolicy()
	if got := w.told(); len(got) != 0 {
		t.Errorf("nothing new: %q", got)
	}
	w.report("default#0", "100000")
	w.reconcilePolicy()
	if got := w.told(); len(got) != 1 || !strings.HasPrefix(got[0], "Normal Programmed") {
		t.Errorf("in force: %q", got)
	}
	edit(w, &v1alpha1.HookPolicy{}, "team-a", "p", func(hp *v1alpha1.HookPolicy) { hp.Spec.Hooks[0].Name = "" })
	w.reconcilePolicy()
	if got := w.told(); len(got) != 1 || !strings.HasPrefix(got[0], "Warning Invalid") {
		t.Errorf("broken: %q", got)
	}
}

package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoac "k8s.io/client-go/applyconfigurations"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	ac "github.com/hookpolicy/hookpolicy/api/v1alpha1/applyconfiguration"
	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/render"
	"github.com/hookpolicy/hookpolicy/internal/testkit"
)

const platform = "platform"

var (
	errKilled = errors.New("killed")
	start     = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	// options are those of every test.
	options = render.Options{
		Image: "registry.test/hookpolicy:v1", PlatformNamespace: platform,
		DefaultService: types.NamespacedName{Namespace: platform, Name: "default"},
	}
)

// A world is a cluster in memory and the reconcilers that work on it. It has no
// validation, no garbage collection and no controllers of Kubernetes' own.
type world struct {
	t      *testing.T
	client client.WithWatch
	now    time.Time
	events *events.FakeRecorder

	trustBundles bool
	// writes counts the writes; that of number killAt and all later ones fail.
	writes, killAt int
	rounds         int // of a scenario with faults
	// refuse fails the writes for which it returns an error.
	refuse func(object any) error

	policies  *HookPolicyReconciler
	baselines *ClusterHookPolicyReconciler
	authority *Authority
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := &world{t: t, now: start, events: events.NewFakeRecorder(1000), trustBundles: true}
	s := runtime.NewScheme()
	// Only what is needed: the fake client goes through the scheme at each write.
	for _, add := range []func(*runtime.Scheme) error{
		v1alpha1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme, policyv1.AddToScheme,
		networkingv1.AddToScheme, certificatesv1.AddToScheme,
	} {
		w.do(add(s))
	}
	b := fake.NewClientBuilder().WithScheme(s).
		WithTypeConverters(ac.NewTypeConverter(s), clientgoac.NewTypeConverter(s)).
		WithStatusSubresource(&v1alpha1.HookPolicy{}, &v1alpha1.ClusterHookPolicy{}, &v1alpha1.DecisionService{}, &v1alpha1.DecisionReplica{}, &appsv1.StatefulSet{}).
		WithObjects(objects...).
		WithInterceptorFuncs(w.faults())
	for _, i := range indexers(options.DefaultService) {
		b = b.WithIndex(&v1alpha1.HookPolicy{}, i.field, i.extract)
	}
	w.client = b.Build()
	w.restart()
	return w
}

// restart makes the reconcilers anew: what they remembered is gone.
func (w *world) restart() {
	w.policies = &HookPolicyReconciler{Client: w.client, Recorder: w.events, Options: options}
	w.baselines = &ClusterHookPolicyReconciler{Client: w.client, Recorder: w.events}
	w.authority = &Authority{Client: w.client, Namespace: platform, TrustBundles: w.trustBundles, Now: func() time.Time { return w.now }}
}

// write counts a write and fails it if the process is dead by then.
func (w *world) write(object any) error {
	w.writes++
	if w.killAt > 0 && w.writes >= w.killAt {
		return errKilled
	}
	if w.refuse != nil {
		return w.refuse(object)
	}
	return nil
}

func (w *world) faults() interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return first(w.write(o), func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return first(w.write(o), func() error { return c.Update(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return first(w.write(o), func() error { return c.Delete(ctx, o, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return first(w.write(o), func() error {
				if np, ok := o.(*networkingv1ac.NetworkPolicyApplyConfiguration); ok {
					return putNetworkPolicy(ctx, c, np)
				}
				return c.Apply(ctx, o, opts...)
			})
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			return first(w.write(o), func() error { return c.SubResource(sub).Apply(ctx, o, opts...) })
		},
	}
}

// putNetworkPolicy does without server-side apply: the fake client gives a
// NetworkPolicy a status, which its schema does not have.
func putNetworkPolicy(ctx context.Context, c client.Client, ac *networkingv1ac.NetworkPolicyApplyConfiguration) error {
	doc, err := json.Marshal(ac)
	if err != nil {
		return err
	}
	var np, old networkingv1.NetworkPolicy
	if err := json.Unmarshal(doc, &np); err != nil {
		return err
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(&np), &old); err != nil {
		return c.Create(ctx, &np)
	}
	old.Labels, old.OwnerReferences, old.Spec = np.Labels, np.OwnerReferences, np.Spec
	return c.Update(ctx, &old)
}

func first(err error, then func() error) error {
	if err != nil {
		return err
	}
	return then()
}

// reconcileService runs the reconciler of DecisionServices once.
func (w *world) reconcileService(namespace, name string) (reconcile.Result, error) {
	w.t.Helper()
	r := &DecisionServiceReconciler{Client: w.client, Recorder: w.events, Options: options, Authority: w.authority, Now: func() time.Time { return w.now }}
	res, err := reconcile.AsReconciler(client.Client(w.client), reconcile.ObjectReconciler[*v1alpha1.DecisionService](r)).
		Reconcile(w.t.Context(), request(namespace, name))
	w.check()
	return res, err
}

// reconcilePolicy runs the reconciler of HookPolicies on team-a/p once and
// returns what it made of the status.
func (w *world) reconcilePolicy() *v1alpha1.HookPolicy {
	w.t.Helper()
	inner := reconcile.AsReconciler(client.Client(w.client), reconcile.ObjectReconciler[*v1alpha1.HookPolicy](w.policies))
	_, err := w.policies.versions.forgetting(inner).Reconcile(w.t.Context(), request("team-a", "p"))
	if err != nil && !errors.Is(err, reconcile.TerminalError(nil)) {
		w.t.Fatalf("reconcile: %v", err)
	}
	w.check()
	return get(w, &v1alpha1.HookPolicy{}, "team-a", "p")
}

// reconcileCluster does the same with the ClusterHookPolicy base.
func (w *world) reconcileCluster() *v1alpha1.ClusterHookPolicy {
	w.t.Helper()
	inner := reconcile.AsReconciler(client.Client(w.client), reconcile.ObjectReconciler[*v1alpha1.ClusterHookPolicy](w.baselines))
	_, err := w.baselines.versions.forgetting(inner).Reconcile(w.t.Context(), request("", "base"))
	if err != nil && !errors.Is(err, reconcile.TerminalError(nil)) {
		w.t.Fatalf("reconcile: %v", err)
	}
	w.check()
	return get(w, &v1alpha1.ClusterHookPolicy{}, "", "base")
}

// check holds every status to the invariants.
func (w *world) check() {
	w.t.Helper()
	for _, list := range []client.ObjectList{&v1alpha1.HookPolicyList{}, &v1alpha1.ClusterHookPolicyList{}, &v1alpha1.DecisionServiceList{}} {
		if err := w.client.List(w.t.Context(), list); err != nil {
			w.t.Fatal(err)
		}
		if err := meta.EachListItem(list, func(o runtime.Object) error {
			testkit.CheckStatus(w.t, o.(client.Object))
			return nil
		}); err != nil {
			w.t.Fatal(err)
		}
	}
}

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

func get[O client.Object](w *world, o O, namespace, name string) O {
	w.t.Helper()
	if err := w.client.Get(w.t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, o); err != nil {
		w.t.Fatalf("get %T %s/%s: %v", o, namespace, name, err)
	}
	return o
}

// edit changes an object as its owner does: its generation grows.
func edit[O client.Object](w *world, o O, namespace, name string, change func(O)) {
	w.t.Helper()
	get(w, o, namespace, name)
	change(o)
	o.SetGeneration(o.GetGeneration() + 1)
	w.do(w.client.Update(w.t.Context(), o))
}

func (w *world) do(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// report writes what a replica has in force, as the replica does.
func (w *world) report(service, version string, rejected ...v1alpha1.RejectedPolicy) {
	w.t.Helper()
	name, ordinal, _ := strings.Cut(service, "#")
	i, err := strconv.ParseInt(ordinal, 10, 32)
	w.do(err)
	dr := get(w, &v1alpha1.DecisionReplica{}, platform, contract.ReplicaName(name, int32(i)))
	dr.Status.Reached = v1alpha1.ReachedVersions{HookPolicies: version, ClusterHookPolicies: version}
	dr.Status.Rejected = rejected
	dr.Status.StartedAt = metav1.NewTime(start)
	w.do(w.client.Status().Update(w.t.Context(), dr))
}

// pods plays the StatefulSet controller.
func (w *world) pods(n int32) {
	w.t.Helper()
	sts := get(w, &appsv1.StatefulSet{}, platform, "hookpolicy-default")
	sts.Status = appsv1.StatefulSetStatus{ObservedGeneration: sts.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n}
	w.do(w.client.Status().Update(w.t.Context(), sts))
}

// told returns the events so far and forgets them.
func (w *world) told() []string {
	var all []string
	for {
		select {
		case e := <-w.events.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

func service(namespace, name string, spec v1alpha1.DecisionServiceSpec) *v1alpha1.DecisionService {
	return &v1alpha1.DecisionService{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "-" + name), Generation: 1},
		Spec:       spec,
	}
}

// openService is the platform's default service, for every namespace.
func openService(replicas int32) *v1alpha1.DecisionService {
	return service(platform, "default", v1alpha1.DecisionServiceSpec{
		Replicas: replicas, AllowedNamespaces: v1alpha1.AllowedNamespaces{From: v1alpha1.BindFromAll},
	})
}

// policyOf is a policy that compiles and needs no volumes.
func policyOf(namespace, name string, accounts ...string) *v1alpha1.HookPolicy {
	return &v1alpha1.HookPolicy{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID("uid-" + name), Generation: 1, CreationTimestamp: metav1.NewTime(start),
		},
		Spec: v1alpha1.HookPolicySpec{
			Agents: v1alpha1.Agents{ServiceAccounts: accounts},
			Hooks:  []v1alpha1.Hook{{Name: "no-accidents", DestructiveSQL: &v1alpha1.DestructiveSQL{}}},
		},
	}
}

func clusterPolicy(name string) *v1alpha1.ClusterHookPolicy {
	return &v1alpha1.ClusterHookPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Generation: 1},
		Spec:       v1alpha1.ClusterHookPolicySpec{Hooks: []v1alpha1.Hook{{Name: "no-accidents", DestructiveSQL: &v1alpha1.DestructiveSQL{}}}},
	}
}

// condition is a condition as "Type=Status/Reason".
func condition(list []metav1.Condition, kind string) string {
	c := meta.FindStatusCondition(list, kind)
	if c == nil {
		return kind + " missing"
	}
	return fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason)
}

func wantConditions(t *testing.T, list []metav1.Condition, want ...string) {
	t.Helper()
	for _, w := range want {
		kind, _, _ := strings.Cut(w, "=")
		if got := condition(list, kind); got != w {
			t.Errorf("%s, want %s (%s)", got, w, message(list, kind))
		}
	}
}

func message(list []metav1.Condition, kind string) string {
	if c := meta.FindStatusCondition(list, kind); c != nil {
		return c.Message
	}
	return ""
}

func claim(name, size string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: platform, Name: name, UID: types.UID("uid-" + name), Labels: contract.Labels("default")},
		Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: quantity(size)},
		}},
	}
}

func names(requests []reconcile.Request) []string {
	var all []string
	for _, r := range requests {
		all = append(all, r.String())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

package controllers

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/certs"
	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/render"
)

func TestAServiceGetsEverythingThatItIsMadeOf(t *testing.T) {
	w := newWorld(t, openService(2))
	res, err := w.reconcileService(platform, "default")
	if err != nil {
		t.Fatal(err)
	}
	name := "hookpolicy-default"
	for _, o := range []client.Object{
		&corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}, &corev1.Service{}, &policyv1.PodDisruptionBudget{},
		&networkingv1.NetworkPolicy{}, &appsv1.StatefulSet{},
	} {
		if !metav1.IsControlledBy(get(w, o, platform, name), openService(2)) {
			t.Errorf("%T has no owner", o)
		}
	}
	get(w, &v1alpha1.DecisionReplica{}, platform, name+"-1")
	secret := get(w, &corev1.Secret{}, platform, name+"-serving")
	bundle := get(w, &certificatesv1.ClusterTrustBundle{}, "", contract.TrustBundle)
	if !strings.Contains(bundle.Spec.TrustBundle, "CERTIFICATE") || bundle.Spec.SignerName != contract.TrustBundleSigner {
		t.Errorf("bundle %+v", bundle.Spec)
	}
	pair, err := certs.ParsePair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil || !slices.Equal(pair.Certificate.DNSNames, render.ServingNames(openService(2))) {
		t.Errorf("certificate for %v: %v", pair, err)
	}
	if want := 60 * 24 * time.Hour; res.RequeueAfter < want-time.Hour || res.RequeueAfter > want {
		t.Errorf("wakes after %s, want about %s", res.RequeueAfter, want)
	}
	ds := get(w, &v1alpha1.DecisionService{}, platform, "default")
	wantConditions(t, ds.Status.Conditions, "Accepted=True/Accepted", "Programmed=True/Programmed", "Ready=False/ReplicasPending")
	if ds.Status.Trust != v1alpha1.TrustPlatform || ds.Status.URL != "https://hookpolicy-default.platform.svc" || ds.Status.Audience != "hookpolicy.dev/platform/default" {
		t.Errorf("status %+v", ds.Status)
	}

	w.pods(2)
	w.mustReconcile()
	ds = get(w, &v1alpha1.DecisionService{}, platform, "default")
	wantConditions(t, ds.Status.Conditions, "Ready=True/Ready")
	version := ds.ResourceVersion
	w.mustReconcile()
	if get(w, &v1alpha1.DecisionService{}, platform, "default").ResourceVersion != version {
		t.Error("status was written though nothing changed")
	}
}

func TestReplicasOfAnOlderGenerationDoNotCount(t *testing.T) {
	w := newWorld(t, openService(1))
	w.mustReconcile()
	w.pods(1)
	edit(w, &v1alpha1.DecisionService{}, platform, "default", func(ds *v1alpha1.DecisionService) { ds.Spec.Unmatched = v1alpha1.UnmatchedAllow })
	w.mustReconcile()
	sts := get(w, &appsv1.StatefulSet{}, platform, "hookpolicy-default")
	sts.Generation = 2 // as the API server counts
	w.do(w.client.Update(t.Context(), sts))
	w.mustReconcile()
	ds := get(w, &v1alpha1.DecisionService{}, platform, "default")
	wantConditions(t, ds.Status.Conditions, "Programmed=True/Programmed", "Ready=False/ReplicasPending")
}

func TestATenantsServiceIsOfTheTenantOnly(t *testing.T) {
	ds := service("team-a", "own", v1alpha1.DecisionServiceSpec{AllowedNamespaces: v1alpha1.AllowedNamespaces{From: v1alpha1.BindFromAll}})
	w := newWorld(t, ds)
	if _, err := w.reconcileService("team-a", "own"); err != nil {
		t.Fatal(err)
	}
	got := get(w, &v1alpha1.DecisionService{}, "team-a", "own")
	if got.Status.Trust != v1alpha1.TrustTenant {
		t.Errorf("trust %s", got.Status.Trust)
	}
	if m := message(got.Status.Conditions, "Accepted"); !strings.Contains(m, "own namespace only") {
		t.Errorf("message %q", m)
	}
}

func TestAServiceCanBringItsOwnCertificate(t *testing.T) {
	w := newWorld(t, service(platform, "default", v1alpha1.DecisionServiceSpec{TLS: v1alpha1.ServingCertificate{SecretName: "own"}}))
	res, err := w.reconcileService(platform, "default")
	if err != nil || res.RequeueAfter != 0 {
		t.Errorf("%v %v", res, err)
	}
	var secrets corev1.SecretList
	w.do(w.client.List(t.Context(), &secrets))
	if len(secrets.Items) != 1 || secrets.Items[0].Name != contract.BindingSecret("default") {
		t.Errorf("%d Secrets were made", len(secrets.Items))
	}
}

func TestTheKeyThatReplicasShareIsMadeOnceAndForEver(t *testing.T) {
	w := newWorld(t, openService(2))
	key := func() []byte {
		if _, err := w.reconcileService(platform, "default"); err != nil {
			t.Fatal(err)
		}
		return get(w, &corev1.Secret{}, platform, contract.BindingSecret("default")).Data[contract.BindingKey]
	}
	first := key()
	if len(first) != 32 || !slices.Equal(first, key()) {
		t.Errorf("keys of %d bytes, which change", len(first))
	}
}

func TestAKeyThatSomebodyElseMadeIsNotUsed(t *testing.T) {
	planted := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: platform, Name: contract.BindingSecret("default")},
		Data:       map[string][]byte{contract.BindingKey: make([]byte, 32)},
	}
	w := newWorld(t, openService(2), planted)
	res, err := w.reconcileService(platform, "default")
	if err != nil || res.RequeueAfter == 0 || res.RequeueAfter > time.Minute {
		t.Errorf("wakes after %s: %v", res.RequeueAfter, err)
	}
	ds := get(w, &v1alpha1.DecisionService{}, platform, "default")
	if m := message(ds.Status.Conditions, "Programmed"); !strings.Contains(m, contract.BindingSecret("default")) {
		t.Errorf("message %q", m)
	}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: platform, Name: "hookpolicy-default"}, &appsv1.StatefulSet{}); !apierrors.IsNotFound(err) {
		t.Errorf("replicas were started: %v", err)
	}
}

func TestASpecThatCannotBeCarriedOutIsTerminal(t *testing.T) {
	w := newWorld(t, service(platform, "default", v1alpha1.DecisionServiceSpec{Audit: v1alpha1.AuditVolume{Size: "large"}}))
	if _, err := w.reconcileService(platform, "default"); !errors.Is(err, reconcile.TerminalError(nil)) {
		t.Errorf("err %v", err)
	}
	ds := get(w, &v1alpha1.DecisionService{}, platform, "default")
	wantConditions(t, ds.Status.Conditions, "Accepted=False/Invalid", "Programmed=False/NotAccepted", "Ready=False/NotAccepted")
}

func TestScalingDownTakesReportsAwayAndLeavesClaims(t *testing.T) {
	w := newWorld(t, openService(2), claim("audit-hookpolicy-default-1", "10Gi"))
	w.mustReconcile()
	foreign := &v1alpha1.DecisionReplica{ObjectMeta: metav1.ObjectMeta{Namespace: platform, Name: "foreign", UID: "f"}, Spec: v1alpha1.DecisionReplicaSpec{ServiceName: "other"}}
	w.do(w.client.Create(t.Context(), foreign))
	edit(w, &v1alpha1.DecisionService{}, platform, "default", func(ds *v1alpha1.DecisionService) { ds.Spec.Replicas = 1 })
	w.mustReconcile()
	var list v1alpha1.DecisionReplicaList
	w.do(w.client.List(t.Context(), &list))
	var left []string
	for _, dr := range list.Items {
		left = append(left, dr.Name)
	}
	if !slices.Equal(left, []string{"foreign", "hookpolicy-default-0"}) {
		t.Errorf("left: %q", left)
	}
	get(w, &corev1.PersistentVolumeClaim{}, platform, "audit-hookpolicy-default-1")
}

func TestClaimsGrowAndTheStatefulSetIsMadeAnew(t *testing.T) {
	w := newWorld(t, openService(1), claim("audit-hookpolicy-default-0", "10Gi"), claim("audit-hookpolicy-default-1", "10Gi"), claim("data-other", "1Gi"))
	w.mustReconcile()
	w.setSize("20Gi")
	w.mustReconcile()
	if err := w.client.Get(t.Context(), stsKey, &appsv1.StatefulSet{}); !apierrors.IsNotFound(err) {
		t.Errorf("the StatefulSet is still there: %v", err)
	}
	wantConditions(t, get(w, &v1alpha1.DecisionService{}, platform, "default").Status.Conditions, "Programmed=False/Pending")
	w.mustReconcile()
	sts := get(w, &appsv1.StatefulSet{}, platform, "hookpolicy-default")
	if got := templateSize(sts).String(); got != "20Gi" {
		t.Errorf("claim template of %s", got)
	}
	for name, want := range map[string]string{"audit-hookpolicy-default-0": "20Gi", "audit-hookpolicy-default-1": "20Gi", "data-other": "1Gi"} {
		if got := sizeOf(w, name); got != want {
			t.Errorf("%s has %s, want %s", name, got, want)
		}
	}
	wantConditions(t, get(w, &v1alpha1.DecisionService{}, platform, "default").Status.Conditions, "Programmed=True/Programmed")
}

func TestAStatefulSetThatIsBeingDeletedIsWaitedFor(t *testing.T) {
	w := newWorld(t, openService(1))
	w.mustReconcile()
	sts := get(w, &appsv1.StatefulSet{}, platform, "hookpolicy-default")
	sts.Finalizers = []string{"orphan"}
	w.do(w.client.Update(t.Context(), sts))
	w.setSize("20Gi")
	w.mustReconcile()
	w.mustReconcile()
	if sts = get(w, &appsv1.StatefulSet{}, platform, "hookpolicy-default"); sts.DeletionTimestamp.IsZero() || templateSize(sts).String() != "10Gi" {
		t.Fatal("the StatefulSet was not deleted, or written while it was being deleted")
	}
	sts.Finalizers = nil
	w.do(w.client.Update(t.Context(), sts))
	w.mustReconcile()
	if got := templateSize(get(w, &appsv1.StatefulSet{}, platform, "hookpolicy-default")).String(); got != "20Gi" {
		t.Errorf("claim template of %s", got)
	}
}

func TestWhatCannotGrowHoldsNothingElseUp(t *testing.T) {
	w := newWorld(t, openService(1), claim("audit-hookpolicy-default-0", "10Gi"))
	w.mustReconcile()
	w.refuse = func(object any) error {
		if _, ok := object.(*corev1ac.PersistentVolumeClaimApplyConfiguration); ok {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumeclaims"}, "c", errors.New("the class must support resize"))
		}
		return nil
	}
	edit(w, &v1alpha1.DecisionService{}, platform, "default", func(ds *v1alpha1.DecisionService) {
		ds.Spec.Audit.Size = "20Gi"
		ds.Spec.Replicas = 2
	})
	if _, err := w.reconcileService(platform, "default"); err == nil || errors.Is(err, reconcile.TerminalError(nil)) {
		t.Errorf("err %v: it is to be tried again", err)
	}
	sts := get(w, &appsv1.StatefulSet{}, platform, "hookpolicy-default")
	if got := templateSize(sts).String(); got != "10Gi" || *sts.Spec.Replicas != 2 {
		t.Errorf("template of %s, %d replicas", got, *sts.Spec.Replicas)
	}
	wantConditions(t, get(w, &v1alpha1.DecisionService{}, platform, "default").Status.Conditions, "Programmed=False/VolumeNotGrown")
}

func TestAClaimThatIsLargerIsLeftAsItIs(t *testing.T) {
	w := newWorld(t, openService(1), claim("audit-hookpolicy-default-0", "30Gi"))
	w.mustReconcile()
	wantConditions(t, get(w, &v1alpha1.DecisionService{}, platform, "default").Status.Conditions, "Programmed=False/VolumeTooSmall")
	if got := sizeOf(w, "audit-hookpolicy-default-0"); got != "30Gi" {
		t.Errorf("the claim has %s", got)
	}
}

func TestWithoutTrustBundlesBoundNamespacesGetAConfigMap(t *testing.T) {
	w := newWorld(t, openService(1), policyOf("team-a", "p"), elsewhere(policyOf("team-b", "p")))
	w.trustBundles = false
	w.restart()
	w.mustReconcile()
	for namespace, want := range map[string]bool{platform: true, "team-a": true, "team-b": false} {
		var cm corev1.ConfigMap
		err := w.client.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: contract.CAConfigMap}, &cm)
		if got := err == nil && strings.Contains(cm.Data["ca.crt"], "CERTIFICATE"); got != want {
			t.Errorf("%s: %v (%v)", namespace, got, err)
		}
	}
	writes := w.writes
	w.mustReconcile()
	again := w.writes - writes
	w.do(w.client.Create(t.Context(), policyOf("team-c", "p")))
	writes = w.writes
	w.mustReconcile()
	if w.writes-writes != again+1 {
		t.Errorf("a new namespace cost %d writes more", w.writes-writes-again)
	}
}

func TestANamespaceMadeAnewIsToldAgainWhomToTrust(t *testing.T) {
	open := openService(1)
	listed := service(platform, "default", v1alpha1.DecisionServiceSpec{
		AllowedNamespaces: v1alpha1.AllowedNamespaces{From: v1alpha1.BindFromNames, Names: []string{"team-a"}},
	})
	for name, ds := range map[string]*v1alpha1.DecisionService{"served with all others": open, "served by name": listed} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, ds, policyOf("team-a", "p"))
			w.trustBundles = false
			w.restart()
			w.mustReconcile()
			key := types.NamespacedName{Namespace: "team-a", Name: contract.CAConfigMap}
			w.do(w.client.Delete(t.Context(), get(w, &corev1.ConfigMap{}, key.Namespace, key.Name)))
			w.do(w.client.Delete(t.Context(), policyOf("team-a", "p")))
			anew := policyOf("team-a", "p")
			anew.CreationTimestamp = metav1.NewTime(start.Add(time.Hour))
			w.do(w.client.Create(t.Context(), anew))
			w.mustReconcile()
			if err := w.client.Get(t.Context(), key, &corev1.ConfigMap{}); err != nil {
				t.Error(err)
			}
			writes := w.writes
			w.mustReconcile()
			again := w.writes - writes
			writes = w.writes
			w.mustReconcile()
			if w.writes-writes != again {
				t.Errorf("%d writes, then %d, though nothing changed", again, w.writes-writes)
			}
		})
	}
}

func TestTheCertificateIsRenewedAndTheAuthorityRotated(t *testing.T) {
	w := newWorld(t, openService(1))
	w.mustReconcile()
	serving := func() string {
		return string(get(w, &corev1.Secret{}, platform, "hookpolicy-default-serving").Data["tls.crt"])
	}
	bundle := func() int {
		b := get(w, &certificatesv1.ClusterTrustBundle{}, "", contract.TrustBundle)
		return strings.Count(b.Spec.TrustBundle, "BEGIN CERTIFICATE")
	}
	was := serving()
	w.now = start.Add(59 * 24 * time.Hour)
	w.mustReconcile()
	if serving() != was {
		t.Error("renewed too early")
	}
	w.now = start.Add(61 * 24 * time.Hour)
	w.mustReconcile()
	if serving() == was {
		t.Error("not renewed at two thirds of its life")
	}
	w.now = start.Add(certs.AuthorityLifetime * 2 / 3)
	w.mustReconcile()
	if bundle() != 2 {
		t.Errorf("%d authorities are published, want the next one too", bundle())
	}
	ca := func() string { return string(get(w, &corev1.Secret{}, platform, AuthoritySecret).Data["tls.crt"]) }
	old := ca()
	w.now = w.now.Add(certs.OverlapPeriod + time.Second)
	w.mustReconcile()
	if ca() == old || bundle() != 2 {
		t.Errorf("the next authority does not sign, or %d are published", bundle())
	}
}

func TestADamagedAuthorityIsNotReplaced(t *testing.T) {
	w := newWorld(t, openService(1), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: platform, Name: AuthoritySecret}, Data: map[string][]byte{"tls.crt": []byte("x")}})
	if _, err := w.reconcileService(platform, "default"); err == nil {
		t.Error("no error")
	}
	if got := get(w, &corev1.Secret{}, platform, AuthoritySecret).Data["tls.crt"]; string(got) != "x" {
		t.Error("it was replaced")
	}
	wantConditions(t, get(w, &v1alpha1.DecisionService{}, platform, "default").Status.Conditions, "Programmed=False/Pending", "Ready=False/ReplicasPending")
}

func TestOneBindingCoversAllServicesOfTheCluster(t *testing.T) {
	w := newWorld(t, openService(1), service("team-a", "own", v1alpha1.DecisionServiceSpec{}))
	r := &BindingsReconciler{Client: w.client, Options: options}
	subjects := func(name string) []string {
		if _, err := r.Reconcile(t.Context(), theBindings(t.Context(), nil)[0]); err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, s := range get(w, &rbacv1.ClusterRoleBinding{}, "", name).Subjects {
			all = append(all, s.Namespace+"/"+s.Name)
		}
		return all
	}
	if got := subjects(RoleReviewer); !slices.Equal(got, []string{"platform/hookpolicy-default", "team-a/hookpolicy-own"}) {
		t.Errorf("all: %q", got)
	}
	if got := subjects(RolePlatform); !slices.Equal(got, []string{"platform/hookpolicy-default"}) {
		t.Errorf("platform: %q", got)
	}
	w.do(w.client.Delete(t.Context(), get(w, &v1alpha1.DecisionService{}, platform, "default")))
	if got := subjects(RolePlatform); len(got) != 0 {
		t.Errorf("platform, once its service is gone: %q", got)
	}
}

var stsKey = types.NamespacedName{Namespace: platform, Name: "hookpolicy-default"}

func (w *world) mustReconcile() {
	w.t.Helper()
	if _, err := w.reconcileService(platform, "default"); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) setSize(size string) {
	w.t.Helper()
	edit(w, &v1alpha1.DecisionService{}, platform, "default", func(ds *v1alpha1.DecisionService) { ds.Spec.Audit.Size = size })
}

func sizeOf(w *world, name string) string {
	size := get(w, &corev1.PersistentVolumeClaim{}, platform, name).Spec.Resources.Requests[corev1.ResourceStorage]
	return size.String()
}

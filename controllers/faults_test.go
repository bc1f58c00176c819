package controllers

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/certs"
	"github.com/hookpolicy/hookpolicy/internal/contract"
)

// Each scenario is run once without a fault. Then it is run again for every
// write that it made: with a process that dies at this write, and another that
// starts anew. The cluster must come to the same.
func TestTheManagerCanBeKilledBetweenAnyTwoWrites(t *testing.T) {
	settle := func(w *world) error {
		for range w.rounds {
			if _, err := w.reconcileService(platform, "default"); err != nil {
				return err
			}
		}
		return nil
	}
	for name, scenario := range map[string]struct {
		rounds  int // reconciliations until all is done
		prepare func(w *world)
	}{
		"a new service": {1, func(*world) {}},
		"growth": {2, func(w *world) { // the StatefulSet goes, and comes
			w.do(settle(w))
			w.setSize("20Gi")
		}},
		"scaling down": {1, func(w *world) {
			w.do(settle(w))
			edit(w, &v1alpha1.DecisionService{}, platform, "default", func(ds *v1alpha1.DecisionService) { ds.Spec.Replicas = 1 })
		}},
		"the next authority": {1, func(w *world) {
			w.do(settle(w))
			w.now = start.Add(certs.AuthorityLifetime * 2 / 3)
		}},
		"rotation": {1, func(w *world) {
			w.do(settle(w))
			w.now = start.Add(certs.AuthorityLifetime * 2 / 3)
			w.do(settle(w))
			w.now = w.now.Add(2 * certs.OverlapPeriod)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			fresh := func(t *testing.T) *world {
				t.Helper()
				w := newWorld(t, openService(2), claim("audit-hookpolicy-default-0", "10Gi"), claim("audit-hookpolicy-default-1", "10Gi"))
				w.rounds = scenario.rounds
				scenario.prepare(w)
				w.restart()
				w.writes = 0
				return w
			}
			w := fresh(t)
			w.do(settle(w))
			want, writes := dump(w), w.writes
			if writes < 3 {
				t.Fatalf("only %d writes: nothing is tested", writes)
			}
			for n := 1; n <= writes; n++ {
				t.Run(fmt.Sprintf("write %d", n), func(t *testing.T) {
					w := fresh(t)
					w.killAt = n
					if err := settle(w); !errors.Is(err, errKilled) {
						t.Fatalf("err %v", err)
					}
					w.killAt = 0
					w.restart()
					w.do(settle(w))
					if diff := cmp.Diff(want, dump(w)); diff != "" {
						t.Errorf("the cluster differs (-without a fault +with one):\n%s", diff)
					}
				})
			}
		})
	}
}

// dump is everything in the cluster, without what differs from run to run.
func dump(w *world) map[string]string {
	w.t.Helper()
	all := make(map[string]string)
	for _, list := range []client.ObjectList{
		&corev1.ServiceAccountList{}, &corev1.ServiceList{}, &corev1.SecretList{}, &corev1.ConfigMapList{}, &corev1.PersistentVolumeClaimList{},
		&rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &policyv1.PodDisruptionBudgetList{}, &networkingv1.NetworkPolicyList{},
		&appsv1.StatefulSetList{}, &certificatesv1.ClusterTrustBundleList{},
		&v1alpha1.DecisionServiceList{}, &v1alpha1.DecisionReplicaList{},
	} {
		if err := w.client.List(w.t.Context(), list); err != nil {
			w.t.Fatal(err)
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			o := item.(client.Object)
			o.SetResourceVersion("")
			o.SetManagedFields(nil)
			normalize(w, o)
			doc, err := json.MarshalIndent(o, "", " ")
			all[fmt.Sprintf("%T %s/%s", o, o.GetNamespace(), o.GetName())] = string(doc)
			return err
		}); err != nil {
			w.t.Fatal(err)
		}
	}
	return all
}

// normalize replaces keys and certificates by what matters about them.
func normalize(w *world, o client.Object) {
	count := func(pem string) string { return fmt.Sprint(strings.Count(pem, "BEGIN CERTIFICATE"), " certificates") }
	switch o := o.(type) {
	case *corev1.Secret:
		for key := range maps.Clone(o.Data) {
			o.Data[key] = []byte(count(string(o.Data[key])))
		}
		if o.Name == "hookpolicy-default-serving" {
			o.Data["good"] = fmt.Append(nil, servesNow(w))
		}
	case *corev1.ConfigMap:
		o.Data[contract.CAConfigMapKey] = count(o.Data[contract.CAConfigMapKey])
	case *certificatesv1.ClusterTrustBundle:
		o.Spec.TrustBundle = count(o.Spec.TrustBundle)
	case *v1alpha1.DecisionService:
		for i := range o.Status.Conditions {
			o.Status.Conditions[i].LastTransitionTime = metav1.Time{}
		}
	}
}

// servesNow reports whether the serving certificate is good for those who trust
// what is published.
func servesNow(w *world) bool {
	var ca, serving corev1.Secret
	w.do(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: platform, Name: AuthoritySecret}, &ca))
	w.do(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: platform, Name: "hookpolicy-default-serving"}, &serving))
	authority, err := certs.ParseAuthority(ca.Data)
	w.do(err)
	pair, err := certs.ParsePair(serving.Data["tls.crt"], serving.Data["tls.key"])
	w.do(err)
	bundle := get(w, &certificatesv1.ClusterTrustBundle{}, "", "hookpolicy.dev:serving:ca")
	return bundle.Spec.TrustBundle == string(authority.Bundle()) && authority.Serves(pair, pair.Certificate.DNSNames, w.now)
}

func TestAPolicysStatusSurvivesAFailedWrite(t *testing.T) {
	w := newWorld(t, openService(1), policyOf("team-a", "p"))
	w.killAt = 1
	r := w.policies
	hp := get(w, &v1alpha1.HookPolicy{}, "team-a", "p")
	if _, err := r.Reconcile(t.Context(), hp); !errors.Is(err, errKilled) {
		t.Fatalf("err %v", err)
	}
	hp.Spec.Hooks[0].Name = ""
	if _, err := r.Reconcile(t.Context(), hp); !errors.Is(err, errKilled) {
		t.Fatalf("err %v: a policy that does not compile must not hide that its status was not written", err)
	}
	w.killAt = 0
	wantConditions(t, w.reconcilePolicy().Status.Conditions, "Accepted=True/Accepted")
	if len(w.told()) != 1 {
		t.Error("an event was lost, or told of a status that was not written")
	}
}

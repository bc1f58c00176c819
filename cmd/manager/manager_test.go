package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
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
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/controllers"
	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/kubetest"
	"github.com/hookpolicy/hookpolicy/internal/testkit"
)

// platform is the namespace of config/rbac/manager.yaml.
const platform = "hookpolicy-system"

// within is how long something may take that takes milliseconds.
const within = 20 * time.Second

var kube kubetest.Shared

func TestMain(m *testing.M) { os.Exit(kube.Run(m)) }

// startManager runs the manager as the ServiceAccount of the committed
// manifest, with what this grants and no more.
func startManager(t *testing.T) *kubetest.Server {
	t.Helper()
	s := kube.Server(t)
	s.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: platform}})
	admin := s.Kubeconfig(t, s.Config())
	if out, err := kubetest.Kubectl(t, admin, "", "apply", "-f", "../../config/rbac/manager.yaml"); err != nil {
		t.Fatalf("apply the manifest: %v\n%s", err, out)
	}
	token := s.Token(t, kubetest.TokenFor{Namespace: platform, ServiceAccount: "hookpolicy-manager"})
	cmd := newCommand(func(slog.Handler) {})
	cmd.SetArgs([]string{
		"--kubeconfig", s.Kubeconfig(t, s.Bearer(token)), "--image", "registry.test/hookpolicy:v1", "--platform-namespace", platform,
		"--default-decision-service", platform + "/default", "--metrics-address", "0", "--health-address", "127.0.0.1:0", "--log-level", "error",
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the manager ended: %v", err)
		}
	})
	return s
}

func TestTheManagerOnARealAPIServer(t *testing.T) {
	s := startManager(t)
	team := s.Namespace(t, "team")
	s.Create(t, &v1alpha1.DecisionService{
		ObjectMeta: metav1.ObjectMeta{Namespace: platform, Name: "default"},
		Spec: v1alpha1.DecisionServiceSpec{
			Replicas: 2, AllowedNamespaces: v1alpha1.AllowedNamespaces{From: v1alpha1.BindFromAll},
			Audit: v1alpha1.AuditVolume{StorageClassName: new("grows")},
		},
	})
	t.Run("a service gets all that it is made of", func(t *testing.T) { serviceIsMade(t, s) })
	t.Run("what others own stays, what we own is put right", func(t *testing.T) { driftIsRepaired(t, s) })
	t.Run("a policy is accepted, and programmed once replicas report", func(t *testing.T) { policyIsProgrammed(t, s, team) })
	t.Run("a baseline is programmed too", func(t *testing.T) { baselineIsProgrammed(t, s) })
	t.Run("a tenant's service is bound to read its own namespace only", func(t *testing.T) { tenantIsBound(t, s, team) })
	t.Run("replicas may do what they must", func(t *testing.T) { replicasMay(t, s, team) })
	t.Run("volumes grow", func(t *testing.T) { volumesGrow(t, s) })
}

func serviceIsMade(t *testing.T, s *kubetest.Server) {
	t.Helper()
	name := contract.ChildName("default")
	wantService(t, s, "Programmed=True")
	for _, o := range []client.Object{
		&corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}, &corev1.Service{},
		&policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{}, &appsv1.StatefulSet{},
	} {
		fetch(t, s, o, platform, name)
		for _, f := range o.GetManagedFields() {
			if f.Operation == metav1.ManagedFieldsOperationApply && f.Manager != string(controllers.FieldOwner) {
				t.Errorf("%T has fields applied by %s", o, f.Manager)
			}
		}
		if len(o.GetFinalizers()) > 0 {
			t.Errorf("%T has finalizers", o)
		}
	}
	for i := range int32(2) {
		fetch(t, s, &v1alpha1.DecisionReplica{}, platform, contract.ReplicaName("default", i))
	}
	bundle := fetch(t, s, &certificatesv1.ClusterTrustBundle{}, "", contract.TrustBundle)
	secret := fetch(t, s, &corev1.Secret{}, platform, contract.ServingSecret("default"))
	if !strings.Contains(bundle.Spec.TrustBundle, "BEGIN CERTIFICATE") || secret.Type != corev1.SecretTypeTLS {
		t.Error("no bundle, or no certificate")
	}
}

func driftIsRepaired(t *testing.T, s *kubetest.Server) {
	t.Helper()
	svc := fetch(t, s, &corev1.Service{}, platform, contract.ChildName("default"))
	change := []byte(`{"metadata":{"annotations":{"mesh":"on"}},"spec":{"selector":{"app.kubernetes.io/instance":"evil"}}}`)
	if err := s.Client().Patch(t.Context(), svc, client.RawPatch(types.MergePatchType, change)); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, within, "the selector is put right", func(context.Context) error {
		svc := fetch(t, s, &corev1.Service{}, platform, contract.ChildName("default"))
		if svc.Annotations["mesh"] != "on" {
			t.Fatal("somebody else's annotation was taken away")
		}
		if got := svc.Spec.Selector[contract.LabelInstance]; got != "default" {
			return fmt.Errorf("instance %s", got)
		}
		return nil
	})
}

func policyIsProgrammed(t *testing.T, s *kubetest.Server, team string) {
	t.Helper()
	hp := &v1alpha1.HookPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "p"},
		Spec:       v1alpha1.HookPolicySpec{Hooks: []v1alpha1.Hook{{Name: "sql", DestructiveSQL: &v1alpha1.DestructiveSQL{}}}},
	}
	s.Create(t, hp)
	wantPolicy(t, s, team, "Accepted=True", "Programmed=False", "Conflicted=False")
	wantReported(t, s, team, "p", "Programmed=True")

	enforce(t, s, team, "p", v1alpha1.EnforcementDryRun)
	wantPolicy(t, s, team, "Accepted=True", "Programmed=False")
	wantReported(t, s, team, "p", "Programmed=True")

	// Reports that change nothing write nothing: the second policy's status
	// shows that they were looked at.
	other := &v1alpha1.HookPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "other"}, Spec: *hp.Spec.DeepCopy()}
	other.Spec.Agents.ServiceAccounts = []string{"etl"}
	s.Create(t, other)
	wantReported(t, s, team, "other", "Programmed=True", "Conflicted=False")
	wantPolicy(t, s, team, "Programmed=True", "Conflicted=True")
	version := fetch(t, s, &v1alpha1.HookPolicy{}, team, "p").ResourceVersion
	report(t, s, 0, other.ResourceVersion+"0")
	enforce(t, s, team, "other", v1alpha1.EnforcementOff)
	wantPolicyNamed(t, s, team, "other", "Programmed=False")
	if got := fetch(t, s, &v1alpha1.HookPolicy{}, team, "p").ResourceVersion; got != version {
		t.Error("a report and another policy's edit wrote this one's status")
	}
}

// enforce edits a policy, as its owner does.
func enforce(t *testing.T, s *kubetest.Server, namespace, name string, e v1alpha1.Enforcement) {
	t.Helper()
	hp := &v1alpha1.HookPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	edit := fmt.Appendf(nil, `{"spec":{"enforcement":%q}}`, e)
	if err := s.Client().Patch(t.Context(), hp, client.RawPatch(types.MergePatchType, edit)); err != nil {
		t.Fatal(err)
	}
}

func baselineIsProgrammed(t *testing.T, s *kubetest.Server) {
	t.Helper()
	chp := &v1alpha1.ClusterHookPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "base"},
		Spec:       v1alpha1.ClusterHookPolicySpec{Hooks: []v1alpha1.Hook{{Name: "sql", DestructiveSQL: &v1alpha1.DestructiveSQL{}}}},
	}
	s.Create(t, chp)
	kubetest.Eventually(t, within, "the baseline is programmed", func(context.Context) error {
		got := fetch(t, s, &v1alpha1.ClusterHookPolicy{}, "", "base")
		report(t, s, 0, got.ResourceVersion)
		report(t, s, 1, got.ResourceVersion)
		testkit.CheckStatus(t, got)
		return want(got.Status.Conditions, "Accepted=True", "Programmed=True")
	})
}

func tenantIsBound(t *testing.T, s *kubetest.Server, team string) {
	t.Helper()
	s.Create(t, &v1alpha1.DecisionService{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "own"}})
	kubetest.Eventually(t, within, "the service is bound", func(context.Context) error {
		ds := fetch(t, s, &v1alpha1.DecisionService{}, team, "own")
		testkit.CheckStatus(t, ds)
		subject := rbacv1.Subject{Kind: "ServiceAccount", Namespace: team, Name: contract.ChildName("own")}
		if ds.Status.Trust != v1alpha1.TrustTenant {
			return fmt.Errorf("trust %q", ds.Status.Trust)
		}
		if !slices.Contains(fetch(t, s, &rbacv1.ClusterRoleBinding{}, "", controllers.RoleReviewer).Subjects, subject) {
			return errors.New("it may not review tokens")
		}
		if slices.Contains(fetch(t, s, &rbacv1.ClusterRoleBinding{}, "", controllers.RolePlatform).Subjects, subject) {
			t.Fatal("a tenant's service reads every namespace")
		}
		return want(ds.Status.Conditions, "Programmed=True")
	})
}

// volumesGrow plays the StatefulSet controller and the garbage collector, which
// are not here.
func volumesGrow(t *testing.T, s *kubetest.Server) {
	t.Helper()
	s.Create(t, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "grows"}, Provisioner: "test", AllowVolumeExpansion: new(true)})
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: platform, Name: "audit-" + contract.ReplicaName("default", 0), Labels: contract.Labels("default")},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new("grows"), VolumeName: "pv",
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}},
		},
	}
	s.Create(t, claim)
	claim.Status.Phase = corev1.ClaimBound
	claim.Status.Capacity = claim.Spec.Resources.Requests
	if err := s.Client().Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	ds := fetch(t, s, &v1alpha1.DecisionService{}, platform, "default")
	ds.Spec.Audit.Size = "20Gi"
	if err := s.Client().Update(t.Context(), ds); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, within, "the StatefulSet is made anew", func(context.Context) error {
		var sts appsv1.StatefulSet
		if err := s.Client().Get(t.Context(), client.ObjectKey{Namespace: platform, Name: contract.ChildName("default")}, &sts); err != nil {
			return err
		}
		if slices.Contains(sts.Finalizers, metav1.FinalizerOrphanDependents) {
			sts.Finalizers = nil
			return errors.Join(errors.New("it was being deleted"), s.Client().Update(t.Context(), &sts))
		}
		size := sts.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage]
		if size.String() != "20Gi" {
			return fmt.Errorf("template of %s", size.String())
		}
		return nil
	})
	size := fetch(t, s, &corev1.PersistentVolumeClaim{}, platform, claim.Name).Spec.Resources.Requests[corev1.ResourceStorage]
	if size.String() != "20Gi" {
		t.Errorf("the claim has %s", size.String())
	}
	wantService(t, s, "Programmed=True")
}

func fetch[O client.Object](t *testing.T, s *kubetest.Server, o O, namespace, name string) O {
	t.Helper()
	if err := s.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		t.Fatalf("get %T %s/%s: %v", o, namespace, name, err)
	}
	return o
}

// report writes a replica's report, which a replica does itself.
func report(t *testing.T, s *kubetest.Server, ordinal int32, version string) {
	t.Helper()
	dr := fetch(t, s, &v1alpha1.DecisionReplica{}, platform, contract.ReplicaName("default", ordinal))
	dr.Status.Reached = v1alpha1.ReachedVersions{HookPolicies: version, ClusterHookPolicies: version}
	if err := s.Client().Status().Update(t.Context(), dr); err != nil {
		t.Fatal(err)
	}
}

// wantReported waits for what a policy comes to while both replicas go on
// reading, as they do: a status that is written moves them on as well.
func wantReported(t *testing.T, s *kubetest.Server, namespace, name string, conditions ...string) {
	t.Helper()
	kubetest.Eventually(t, within, fmt.Sprintf("policy %s has %q", name, conditions), func(context.Context) error {
		hp := fetch(t, s, &v1alpha1.HookPolicy{}, namespace, name)
		report(t, s, 0, hp.ResourceVersion)
		report(t, s, 1, hp.ResourceVersion)
		testkit.CheckStatus(t, hp)
		if hp.Status.ObservedGeneration != hp.Generation {
			return errors.New("not looked at yet")
		}
		return want(hp.Status.Conditions, conditions...)
	})
}

func wantPolicy(t *testing.T, s *kubetest.Server, namespace string, conditions ...string) {
	t.Helper()
	wantPolicyNamed(t, s, namespace, "p", conditions...)
}

func wantPolicyNamed(t *testing.T, s *kubetest.Server, namespace, name string, conditions ...string) {
	t.Helper()
	kubetest.Eventually(t, within, fmt.Sprintf("policy %s has %q", name, conditions), func(context.Context) error {
		hp := fetch(t, s, &v1alpha1.HookPolicy{}, namespace, name)
		testkit.CheckStatus(t, hp)
		if hp.Status.ObservedGeneration != hp.Generation {
			return errors.New("not looked at yet")
		}
		return want(hp.Status.Conditions, conditions...)
	})
}

func wantService(t *testing.T, s *kubetest.Server, conditions ...string) {
	t.Helper()
	kubetest.Eventually(t, within, fmt.Sprintf("the service has %q", conditions), func(context.Context) error {
		ds := fetch(t, s, &v1alpha1.DecisionService{}, platform, "default")
		testkit.CheckStatus(t, ds)
		if ds.Status.ObservedGeneration != ds.Generation {
			return errors.New("not looked at yet")
		}
		return want(ds.Status.Conditions, conditions...)
	})
}

func want(list []metav1.Condition, conditions ...string) error {
	for _, w := range conditions {
		kind, status, _ := strings.Cut(w, "=")
		c := meta.FindStatusCondition(list, kind)
		if c == nil || string(c.Status) != status {
			return fmt.Errorf("want %s, have %+v", w, c)
		}
	}
	return nil
}

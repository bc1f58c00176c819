package chart

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/kubetest"
)

// TestTheLifeOfARelease goes through it in order on an API server that has
// never heard of the project.
func TestTheLifeOfARelease(t *testing.T) {
	s := kube.Server(t)
	s.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted",
	}}})
	kubeconfig := s.Kubeconfig(t, s.Config())
	run := func(t *testing.T, args ...string) {
		t.Helper()
		out, errs, err := helm(t, kubeconfig, append(args, "-n", namespace)...)
		if err != nil {
			t.Fatalf("helm %s: %v\n%s%s", args[0], err, out, errs)
		}
		if strings.Contains(errs, "PodSecurity") {
			t.Errorf("helm %s: pods are not at the restricted level:\n%s", args[0], errs)
		}
	}
	service := func(t *testing.T) *v1alpha1.DecisionService {
		t.Helper()
		ds := &v1alpha1.DecisionService{}
		if err := s.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "default"}, ds); err != nil {
			t.Fatalf("the default DecisionService: %v", err)
		}
		return ds
	}

	run(t, "install", release, chartDir)
	first := service(t)

	t.Run("the API server takes every manifest of every values file", func(t *testing.T) {
		for _, values := range valuesFiles(t) {
			for _, m := range manifests(t, render(t, values)) {
				if err := dryRun(t, s, m); err != nil {
					t.Errorf("%s: %s %s: %v", values, m.kind(), m.metadata()["name"], err)
				}
			}
		}
	})

	t.Run("only the pod of a replica writes the replica's status", func(t *testing.T) { onlyItsPod(t, s) })

	t.Run("an upgrade changes the default service in place", func(t *testing.T) {
		run(t, "upgrade", release, chartDir, "--set", "decisionService.replicas=3")
		if ds := service(t); ds.UID != first.UID || ds.Spec.Replicas != 3 {
			t.Errorf("replicas = %d, the same object: %v", ds.Spec.Replicas, ds.UID == first.UID)
		}
		run(t, "upgrade", release, chartDir, "--set", "decisionService.replicas=2")
		if ds := service(t); ds.UID != first.UID || ds.Spec.Replicas != 2 {
			t.Errorf("replicas = %d, the same object: %v", ds.Spec.Replicas, ds.UID == first.UID)
		}
	})

	t.Run("what is uninstalled leaves policies and the default service", func(t *testing.T) {
		policy := &v1alpha1.HookPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kept"}}
		s.Create(t, policy)
		run(t, "uninstall", release)
		if err := s.Client().Get(t.Context(), client.ObjectKeyFromObject(policy), policy); err != nil {
			t.Errorf("the policy: %v", err)
		}
		service(t)
	})

	t.Run("it can be installed again", func(t *testing.T) {
		run(t, "install", release, chartDir)
		if ds := service(t); ds.UID != first.UID || ds.Spec.Replicas != 1 {
			t.Errorf("replicas = %d, the same object: %v", ds.Spec.Replicas, ds.UID == first.UID)
		}
	})
}

// dryRun asks the API server whether it would take a manifest.
func dryRun(t *testing.T, s *kubetest.Server, m manifest) error {
	t.Helper()
	u := &unstructured.Unstructured{Object: m.object}
	if u.GroupVersionKind().Group == "monitoring.coreos.com" {
		return nil // the Prometheus operator's, not there
	}
	return s.Client().Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u),
		client.DryRunAll, client.FieldOwner("test"), client.ForceOwnership)
}

func onlyItsPod(t *testing.T, s *kubetest.Server) {
	t.Helper()
	ns := s.Namespace(t, "replicas")
	s.ServiceAccount(t, ns, "replica")
	s.Create(t, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "replica"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{v1alpha1.Group}, Resources: []string{"decisionreplicas", "decisionreplicas/status"},
			Verbs: []string{"get", "update", "patch"},
		}},
	})
	s.Create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "replica"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "replica"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: "replica"}},
	})
	as := func(podName string) client.Client {
		request := kubetest.TokenFor{Namespace: ns, ServiceAccount: "replica"}
		if podName != "" {
			pod := s.Pod(t, ns, podName, "replica")
			request.PodName, request.PodUID = pod.Name, pod.UID
		}
		return s.ClientFor(t, s.Bearer(s.Token(t, request)))
	}
	own, other, unbound := as("service-0"), as("service-1"), as("")
	replica := &v1alpha1.DecisionReplica{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "service-0"}, Spec: v1alpha1.DecisionReplicaSpec{ServiceName: "service"},
	}
	s.Create(t, replica)
	write := func(ctx context.Context, c client.Client) error {
		r := replica.DeepCopy()
		patch := client.MergeFrom(r.DeepCopy())
		r.Status.Policies++
		return c.Status().Patch(ctx, r, patch)
	}
	for who, c := range map[string]client.Client{
		"another pod of the same ServiceAccount": other, "a token of the ServiceAccount that no pod has": unbound, "an administrator": s.Client(),
	} {
		// The API server needs a moment until a new policy is in force.
		kubetest.Eventually(t, 30*time.Second, who+" is refused", func(ctx context.Context) error {
			if err := write(ctx, c); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "only the pod of this name") {
				return fmt.Errorf("error is %w", err)
			}
			return nil
		})
	}
	if err := write(t.Context(), own); err != nil {
		t.Errorf("the pod itself: %v", err)
	}
}

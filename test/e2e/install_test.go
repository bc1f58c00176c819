package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestInstallAsAUser is "helm install" and nothing else, in a namespace that
// takes restricted pods only.
func TestInstallAsAUser(t *testing.T) {
	p := install(t, "")

	t.Run("helm test gets one call allowed and one denied", func(t *testing.T) {
		out := p.helm(t, "", "test", releaseName, "--timeout", patience.String())
		if !strings.Contains(out, "Phase:          Succeeded") {
			t.Errorf("helm test says:\n%s", out)
		}
	})

	t.Run("no pod was started anew", func(t *testing.T) {
		var pods corev1.PodList
		if err := p.List(t.Context(), &pods, client.InNamespace(platformNamespace)); err != nil {
			t.Fatal(err)
		}
		if len(pods.Items) != 2 {
			t.Errorf("%d pods, want a manager and a replica", len(pods.Items))
		}
		for _, pod := range pods.Items {
			for _, s := range pod.Status.ContainerStatuses {
				if s.RestartCount != 0 || !s.Ready {
					t.Errorf("%s: %d restarts, ready is %t", pod.Name, s.RestartCount, s.Ready)
				}
			}
		}
	})

	t.Run("the test's calls are in the audit log on the claim", func(t *testing.T) {
		if out := p.verifyAudit(t, platformNamespace, serviceName); !strings.Contains(out, platformNamespace+"/hookpolicy-test") {
			t.Errorf("no chain of the test's policy:\n%s", out)
		}
	})
}

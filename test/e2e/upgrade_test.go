package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestARollingUpgradeLosesNoDecision rolls a service out anew while an agent asks
// without pause.
func TestARollingUpgradeLosesNoDecision(t *testing.T) {
	const ns = "customer-f"
	p := install(t, "decisionService: {replicas: 2}")
	p.tenantOf(t, ns)
	before := p.uids(t)
	a := p.loader(t, ns, "loader", 40*time.Second)
	p.kubectl(t, "-n", platformNamespace, "patch", "decisionservice", serviceName, "--type=merge",
		"-p", `{"spec":{"resources":{"requests":{"cpu":"50m","memory":"128Mi"},"limits":{"memory":"600Mi"}}}}`)
	eventually(t, patience, "every replica is a new one, and decides", func(ctx context.Context) error {
		pods, err := p.replicas(ctx, platformNamespace, serviceName)
		if err != nil {
			return err
		}
		for _, pod := range pods {
			if before[string(pod.UID)] || !isReady(&pod) {
				return fmt.Errorf("%s is not", pod.Name)
			}
		}
		if len(pods) != len(before) {
			return fmt.Errorf("%d replicas", len(pods))
		}
		return nil
	})
	p.checkAnswers(t, a.answers(t))
	p.verifyAudit(t, platformNamespace, serviceName)
}

// uids are those of the default service's pods.
func (p *platform) uids(t *testing.T) map[string]bool {
	t.Helper()
	pods, err := p.replicas(t.Context(), platformNamespace, serviceName)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]bool)
	for _, pod := range pods {
		all[string(pod.UID)] = true
	}
	return all
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
)

// TestLife is what happens to an installation over time. Evidence outlives it.
func TestLife(t *testing.T) {
	const ns = "customer-c"
	p := install(t, "")
	a := p.tenantOf(t, ns)
	search := call("kb_search", `{"query":"late orders"}`)

	t.Run("an edit is in force on all replicas", func(t *testing.T) {
		begun := time.Now()
		p.kubectl(t, "-n", ns, "patch", "hookpolicy", "guarded", "--type=merge", "-p", `{"spec":{"unlistedTools":"Deny"}}`)
		p.programmed(t, ns)
		t.Logf("programmed %s after kubectl patch began", time.Since(begun).Round(time.Millisecond))
		if err := a.gets(t, search, decisionv1.Deny, "tool.unlisted"); err != nil {
			t.Error(err)
		}
	})

	t.Run("one replica becomes three and one again, and no claim goes", func(t *testing.T) {
		for _, n := range []int{3, 1} {
			p.kubectl(t, "-n", platformNamespace, "patch", "decisionservice", serviceName, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
			eventually(t, patience, fmt.Sprintf("%d replicas decide", n), func(ctx context.Context) error {
				var list v1alpha1.DecisionReplicaList
				var ds v1alpha1.DecisionService
				if err := p.Get(ctx, client.ObjectKey{Namespace: platformNamespace, Name: serviceName}, &ds); err != nil {
					return err
				}
				if err := p.List(ctx, &list, client.InNamespace(platformNamespace)); err != nil {
					return err
				}
				pods, err := p.replicas(ctx, platformNamespace, serviceName)
				if err != nil || len(pods) != n || len(list.Items) != n || int(ds.Status.ReadyReplicas) != n {
					return fmt.Errorf("%d pods, %d reports, %d ready: %w", len(pods), len(list.Items), ds.Status.ReadyReplicas, err)
				}
				return nil
			})
			p.ready(t)
			p.programmed(t, ns)
			if err := a.gets(t, search, decisionv1.Deny, "tool.unlisted"); err != nil {
				t.Errorf("with %d replicas: %v", n, err)
			}
		}
		if got := len(strings.Fields(p.claims(t))); got != 3 {
			t.Errorf("%d claims are there, want the three that were used", got)
		}
	})

	t.Run("a replica that is deleted by force comes back with its record", func(t *testing.T) {
		pods, err := p.replicas(t.Context(), platformNamespace, serviceName)
		if err != nil || len(pods) != 1 {
			t.Fatalf("%d replicas: %v", len(pods), err)
		}
		p.kubectl(t, "-n", platformNamespace, "delete", "pod", pods[0].Name, "--grace-period=0", "--force")
		eventually(t, patience, "the new one decides", func(context.Context) error { return a.gets(t, search, decisionv1.Deny, "tool.unlisted") })
		p.ready(t)
		if out := p.verifyAudit(t, platformNamespace, serviceName); !strings.Contains(out, ns+"/guarded") {
			t.Errorf("no chain of the policy:\n%s", out)
		}
	})

	t.Run("policies can be switched off for everybody, which is on record", func(t *testing.T) {
		p.kubectl(t, "-n", ns, "patch", "hookpolicy", "guarded", "--type=merge", "-p", `{"spec":{"enforcement":"Off"}}`)
		p.programmed(t, ns)
		if err := a.gets(t, search, decisionv1.Allow, ""); err != nil {
			t.Error(err)
		}
	})

	t.Run("a deleted policy decides nothing any more", func(t *testing.T) {
		p.kubectl(t, "-n", ns, "delete", "hookpolicy", "guarded")
		eventually(t, patience, "its callers are denied", func(context.Context) error { return a.gets(t, search, decisionv1.Deny, "policy.none") })
	})

	t.Run("evidence outlives the service and the release", func(t *testing.T) {
		before := p.claims(t)
		p.kubectl(t, "-n", platformNamespace, "delete", "decisionservice", serviceName, "--wait")
		p.helm(t, "", "uninstall", releaseName, "--wait")
		eventually(t, patience, "every pod is gone", func(ctx context.Context) error {
			pods, err := p.replicas(ctx, platformNamespace, serviceName)
			if err != nil || len(pods) > 0 {
				return fmt.Errorf("%d pods: %w", len(pods), err)
			}
			return nil
		})
		if after := p.claims(t); after != before || before == "" {
			t.Errorf("claims were %q and are %q", before, after)
		}
	})
}

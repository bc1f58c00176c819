package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// tenantOf makes a namespace with a policy of the built-in hooks, which the
// platform's default service decides by, and starts its agent.
func (p *platform) tenantOf(t *testing.T, namespace string) *agent {
	t.Helper()
	p.namespace(t, namespace)
	p.apply(t, fmt.Sprintf(`
apiVersion: hookpolicy.dev/v1alpha1
kind: HookPolicy
metadata: { name: guarded, namespace: %s }
spec: { hooks: [{ name: no-accidents, destructiveSQL: {} }] }
`, namespace))
	p.programmed(t, namespace)
	return p.agent(t, namespace, "etl-agent")
}

// programmed waits until the latest generation of a tenant's policy is in force
// everywhere.
func (p *platform) programmed(t *testing.T, namespace string) {
	t.Helper()
	p.kubectl(t, "-n", namespace, "wait", "hookpolicy/guarded", "--for=condition=Programmed", "--timeout", patience.String())
}

// claims names the claims of the platform's services.
func (p *platform) claims(t *testing.T) string {
	t.Helper()
	return strings.Join(strings.Fields(p.kubectl(t, "-n", platformNamespace, "get", "pvc", "-o", "jsonpath={.items[*].metadata.name}")), " ")
}

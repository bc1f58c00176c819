package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
)

// TestFailure takes away what a decision service stands on, a thing at a time,
// and looks at what the agent gets, and at what is there again afterwards without
// anybody's hands.
func TestFailure(t *testing.T) {
	const ns = "customer-e"
	p := install(t, "decisionService: {audit: {size: 64Mi, storageClassName: memory}}")
	a := p.tenantOf(t, ns)
	t.Cleanup(func() { p.node(t, "start", "kube-apiserver", "kubelet") })
	search, deletes := call("kb_search", `{"query":"late orders"}`), call("db_query_sql", `{"sql":"DELETE FROM orders"}`)
	again := func(t *testing.T) {
		t.Helper()
		eventually(t, patience, "calls are decided again", func(context.Context) error { return a.gets(t, search, decisionv1.Allow, "") })
	}

	t.Run("a full volume denies, and decides again when there is space", func(t *testing.T) {
		const big = "/fill"
		volume := p.volume(t, platformNamespace, strings.Fields(p.claims(t))[0])
		again(t)
		p.node(t, "exec", "sh", "-c", "dd if=/dev/zero of="+volume+big+" bs=1M 2>/dev/null || true")
		eventually(t, patience, "calls are denied for want of space", func(context.Context) error {
			return a.gets(t, search, decisionv1.Deny, "audit.unavailable")
		})
		p.node(t, "exec", "rm", volume+big)
		again(t)
		p.verifyAudit(t, platformNamespace, serviceName)
	})

	t.Run("a service that may not review tokens knows nobody, and the manager gives it the right again", func(t *testing.T) {
		p.kubectl(t, "-n", platformNamespace, "scale", "deployment/hookpolicy-manager", "--replicas=0")
		p.kubectl(t, "delete", "clusterrolebinding", "hookpolicy-decision-service")
		eventually(t, patience, "no caller is known", func(context.Context) error {
			if got := a.ask(t, search)[0]; got.Decision != decisionv1.Deny || got.Reason == nil || !strings.HasPrefix(got.Reason.Code, "caller.") {
				return fmt.Errorf("the answer is %s %+v", got.Decision, got.Reason)
			}
			return nil
		})
		p.kubectl(t, "-n", platformNamespace, "scale", "deployment/hookpolicy-manager", "--replicas=1")
		again(t)
	})

	t.Run("without the API server decisions go on, also after a restart, and nobody is asked in vain", func(t *testing.T) {
		again(t)
		replica := p.container(t, platformNamespace, "hookpolicy-"+serviceName+"-0")
		agent := p.container(t, ns, a.name)
		p.node(t, "stop", "kube-apiserver")
		// Not by kubectl, which needs the API server as well.
		for _, c := range []struct {
			call decisionv1.Request
			want string
		}{{search, `"Allow"`}, {deletes, `"approval.unavailable"`}} {
			if out := p.askOnNode(t, agent, c.call); !strings.Contains(out, c.want) {
				t.Errorf("%s: %s, want %s", c.call.Tool, out, c.want)
			}
		}
		p.node(t, "exec", "ctr", "-n", "k8s.io", "task", "kill", "-s", "SIGKILL", replica)
		// A new process has reviewed nobody's token, so it knows nobody: it is up, and denies.
		eventually(t, patience, "the kubelet starts the replica again, which answers", func(context.Context) error {
			if out := p.askOnNode(t, agent, search); !strings.Contains(out, "caller.") {
				return errors.New(out)
			}
			return nil
		})
		p.node(t, "start", "kube-apiserver")
		p.try(t, "get", "--raw", "/readyz")
		p.try(t, "-n", ns, "exec", a.name, "--", "/agent") // says how it is used, once the kubelet can be reached
		again(t)
		eventually(t, patience, "people can be asked again", func(context.Context) error { return a.gets(t, deletes, decisionv1.AskUser, "") })
		p.verifyAudit(t, platformNamespace, serviceName)
	})

	t.Run("a new certificate authority is trusted by new agents", func(t *testing.T) {
		p.kubectl(t, "-n", platformNamespace, "delete", "secret", contract.CAConfigMap, contract.ServingSecret(serviceName))
		p.kubectl(t, "-n", platformNamespace, "rollout", "restart", "deployment/hookpolicy-manager")
		p.kubectl(t, "-n", platformNamespace, "rollout", "status", "deployment/hookpolicy-manager", "--timeout", patience.String())
		fresh := p.agent(t, ns, "etl-agent-2")
		eventually(t, patience, "an agent that was started since is answered", func(context.Context) error {
			return fresh.gets(t, search, decisionv1.Allow, "")
		})
	})
}

// container is the id of the first container of a pod.
func (c *cluster) container(t *testing.T, namespace, pod string) string {
	t.Helper()
	var p corev1.Pod
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: pod}, &p); err != nil {
		t.Fatal(err)
	}
	_, id, ok := strings.Cut(p.Status.ContainerStatuses[0].ContainerID, "://")
	if !ok {
		t.Fatalf("%s has no container", pod)
	}
	return id
}

// askOnNode has an agent ask through the container runtime, and returns what it
// prints.
func (c *cluster) askOnNode(t *testing.T, container string, request decisionv1.Request) string {
	t.Helper()
	line := fmt.Sprintf(`{"tool":%q,"args":%s}`, request.Tool, request.Args)
	out, err := command(t, line+"\n", root+"/hack/cluster/cluster", "exec", "ctr", "-n", "k8s.io", "task", "exec", "--exec-id", fmt.Sprintf("ask-%d", nextExec()), container, "/agent", "ask")
	if err != nil {
		return fmt.Sprintf("%v: %s", err, out)
	}
	return out
}

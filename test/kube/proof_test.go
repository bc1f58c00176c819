package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/kubetest"
)

// twoReplicas are the values of the platform: two replicas, which see the roots
// that the sample policy names.
const twoReplicas = `
decisionService:
  replicas: 2
  dataVolumes:
    - {name: data, claimName: data, mountPath: /data/customer-a}
    - {name: uploads, claimName: uploads, mountPath: /srv/uploads}
`

const (
	tenant  = "customer-a" // namespace and name of the sample policy
	account = "etl-agent"  // the ServiceAccount that it governs
)

// TestTheMainJobOnKubernetes is one story, told in order.
func TestTheMainJobOnKubernetes(t *testing.T) {
	p := install(t, twoReplicas)
	for _, ns := range []string{tenant, "customer-b"} {
		p.s.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
	}
	audience := contract.Audience(platformNamespace, serviceName)

	sample, err := os.ReadFile(filepath.Join(root, "test", "policies", "customer-a.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p.apply(t, string(sample))
	var accepted, decided string // the digests in the status and in an answer
	a := p.newAgent(t, tenant, account, audience)
	neighbour := p.newAgent(t, "customer-b", account, audience)

	t.Run("an applied policy is in force on every replica, and its status says so", func(t *testing.T) {
		p.programmed(t, 1)
		hp, err := p.policy(t.Context(), tenant, tenant)
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.ask(t.Context(), p.replicas[0], selectCall)
		if err != nil {
			t.Fatal(err)
		}
		if got.Policy == nil || got.Policy.Generation != 1 || got.Policy.Name != tenant {
			t.Errorf("the answer is by %+v, want generation 1 of %s", got.Policy, tenant)
		}
		accepted, decided = hp.Status.Digest, got.Policy.Digest
		if accepted == "" {
			t.Error("the status has no digest")
		}
	})

	t.Run("an agent with a ServiceAccount token gets the four decisions", func(t *testing.T) {
		for _, c := range []struct {
			call decisionv1.Request
			want decisionv1.Decision
		}{
			{searchCall, decisionv1.Allow}, {selectCall, decisionv1.Rewrite}, {deleteCall, decisionv1.AskUser}, {dropCall, decisionv1.Deny},
		} {
			if err := a.gets(t.Context(), c.call, c.want, ""); err != nil {
				t.Errorf("%s %s: %v", c.call.Tool, c.call.Args, err)
			}
		}
	})

	t.Run("helm test passes", p.helmTest)

	t.Run("people decide held calls", func(t *testing.T) { p.approvals(t, a) })

	t.Run("a token for somebody else is no token", func(t *testing.T) {
		p.s.ServiceAccount(t, tenant, "other")
		for name, audience := range map[string]string{"for the API server": "", "for another decision service": contract.Audience(tenant, "own")} {
			wrong := &agent{p: p, roots: a.roots, token: p.s.Token(t, kubetest.TokenFor{Namespace: tenant, ServiceAccount: account, Audience: audience})}
			for _, r := range p.replicas {
				got, err := wrong.ask(t.Context(), r, searchCall)
				if err != nil || got.Decision != decisionv1.Deny || !strings.HasPrefix(got.Reason.Code, "caller.") {
					t.Errorf("a token %s gets %+v, %v", name, got, err)
				}
			}
		}
	})

	t.Run("a second namespace cannot use the first one's policy", func(t *testing.T) {
		if err := neighbour.gets(t.Context(), searchCall, decisionv1.Deny, "policy.none"); err != nil {
			t.Error(err)
		}
	})

	t.Run("an edit is in force on every replica without a restart", func(t *testing.T) {
		begun := time.Now()
		p.patch(t, tenant, tenant, `{"spec":{"unlistedTools":"Deny"}}`)
		a.soon(t, searchCall, decisionv1.Deny, "")
		t.Logf("in force on %d replicas %s after kubectl patch began", len(p.replicas), time.Since(begun).Round(time.Millisecond))
		p.programmed(t, 2)
		for _, r := range p.replicas {
			if !r.running() {
				t.Errorf("%s has ended", r.podName)
			}
		}
	})

	t.Run("a policy that stops compiling leaves the old one in force and says what is wrong", func(t *testing.T) {
		p.patchJSON(t, tenant, tenant, `[{"op":"add","path":"/spec/hooks/1/destructiveSQL/data/0/type","value":"string"},
			{"op":"add","path":"/spec/hooks/1/destructiveSQL/data/0/pattern","value":"("}]`)
		c := p.condition(t, tenant, tenant, v1alpha1.ConditionAccepted, metav1.ConditionFalse, 3)
		if c.Reason != v1alpha1.ReasonInvalid || !strings.Contains(c.Message, "hook no-accidents") ||
			!strings.Contains(c.Message, "spec.hooks[1].destructiveSQL.data[0].pattern") {
			t.Errorf("the message does not name hook and field: %s: %s", c.Reason, c.Message)
		}
		p.condition(t, tenant, tenant, v1alpha1.ConditionProgrammed, metav1.ConditionFalse, 3)
		kubetest.Eventually(t, patience, "every replica reports the rejection", func(ctx context.Context) error {
			return p.everyReplica(ctx, func(s v1alpha1.DecisionReplicaStatus) bool {
				return slices.Contains(s.Rejected, v1alpha1.RejectedPolicy{Namespace: tenant, Name: tenant, Generation: 3})
			})
		})
		for call, want := range map[*decisionv1.Request]decisionv1.Decision{
			&searchCall: decisionv1.Deny, &selectCall: decisionv1.Rewrite, &dropCall: decisionv1.Deny,
		} {
			if err := a.gets(t.Context(), *call, want, ""); err != nil {
				t.Errorf("%s: %v", call.Tool, err)
			}
		}
		p.patchJSON(t, tenant, tenant, `[{"op":"remove","path":"/spec/hooks/1/destructiveSQL/data/0/pattern"}]`)
		p.programmed(t, 4)
	})

	t.Run("kubectl apply refuses a wrong policy in words", func(t *testing.T) {
		for name, c := range map[string]struct{ spec, says string }{
			"an answer that there is not": {"unlistedTools: Maybe", `supported values: "Allow", "Ask", "Deny"`},
			"a name twice":                {"hooks: [{name: a, destructiveSQL: {}}, {name: a, destructiveSQL: {}}]", "the names of hooks must be unique"},
			"a hook of two kinds":         {"hooks: [{name: a, destructiveSQL: {}, pathAllowlist: {}}]", "spec.hooks[0]"},
			"a field that there is not":   {"unlistedTool: Deny", `unknown field "spec.unlistedTool"`},
		} {
			out, err := kubetest.Kubectl(t, p.kubeconfig, policyYAML(tenant, "wrong", c.spec), "apply", "-f", "-")
			if err == nil || !strings.Contains(out, c.says) {
				t.Errorf("%s: kubectl says %q, want it to say %q", name, out, c.says)
			}
		}
	})

	t.Run("a policy that is bound to another service decides nothing here", func(t *testing.T) {
		p.apply(t, policyYAML("customer-b", "elsewhere", "decisionServiceRef: {name: own}"))
		neighbour.soon(t, searchCall, decisionv1.Deny, "policy.elsewhere")
		c := p.condition(t, "customer-b", "elsewhere", v1alpha1.ConditionAccepted, metav1.ConditionFalse, 1)
		if c.Reason != v1alpha1.ReasonServiceNotFound {
			t.Errorf("reason %s: %s", c.Reason, c.Message)
		}
	})

	t.Run("decisions go on without the API server, and edits made meanwhile are in force afterwards", func(t *testing.T) {
		a.soon(t, searchCall, decisionv1.Deny, "") // its token is known now
		p.gate.Shut()
		for call, want := range map[*decisionv1.Request]decisionv1.Decision{&searchCall: decisionv1.Deny, &selectCall: decisionv1.Rewrite} {
			if err := a.gets(t.Context(), *call, want, ""); err != nil {
				t.Errorf("%s: %v", call.Tool, err)
			}
		}
		if err := a.gets(t.Context(), deletes("while_away"), decisionv1.Deny, "approval.unavailable"); err != nil {
			t.Errorf("a call that nobody can be asked about: %v", err)
		}
		p.patch(t, tenant, tenant, `{"spec":{"unlistedTools":"Allow"}}`)
		p.gate.Open()
		a.soon(t, searchCall, decisionv1.Allow, "")
		p.programmed(t, 5)
		a.soon(t, deletes("when_back"), decisionv1.AskUser, "")
	})

	t.Run("the callers of a deleted policy are denied", func(t *testing.T) {
		if out, err := kubetest.Kubectl(t, p.kubeconfig, "", "-n", tenant, "delete", "hookpolicy", tenant); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		a.soon(t, searchCall, decisionv1.Deny, "policy.none")
	})

	t.Run("what was decided is in audit chains that verify", func(t *testing.T) {
		for _, r := range p.replicas {
			r.stop(t)
			out, err := r.hookpolicy(t, "audit", "verify", r.auditDir)
			if err != nil {
				t.Errorf("%s: %v\n%s", r.podName, err, out)
			}
			if !strings.Contains(out, tenant) {
				t.Errorf("%s has no chain of %s:\n%s", r.podName, tenant, out)
			}
		}
	})

	t.Run("a chain shows that what the status accepted is what decided", func(t *testing.T) {
		if got := p.replicas[0].inForce(t)[decided]; got != accepted {
			t.Errorf("answers are by %s, in which the policy is %q, and the status says %s", decided, got, accepted)
		}
	})
}

// inForce are the tenant's policies by the digests that answers carry, as the
// replica's audit log tells.
func (r *replica) inForce(t *testing.T) map[string]string {
	t.Helper()
	out, err := r.hookpolicy(t, "audit", "show", r.auditDir, "-o", "json", "--tenant", tenant+"/"+tenant)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	known := make(map[string]string)
	for line := range strings.Lines(out) {
		var record struct {
			Reason, Policy string
			Detail         struct{ Digest string }
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if record.Reason == "policy.in_force" {
			known[record.Policy] = record.Detail.Digest
		}
	}
	return known
}

// hookpolicy runs the program beside the replica and returns what it prints.
func (r *replica) hookpolicy(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), programs.path(t, "hookpolicy"), args...).CombinedOutput()
	return string(out), err
}

func policyYAML(namespace, name, spec string) string {
	return fmt.Sprintf("apiVersion: hookpolicy.dev/v1alpha1\nkind: HookPolicy\nmetadata: {namespace: %s, name: %s}\nspec:\n  %s\n", namespace, name, spec)
}

func (p *platform) apply(t *testing.T, doc string) {
	t.Helper()
	if out, err := kubetest.Kubectl(t, p.kubeconfig, doc, "apply", "-f", "-"); err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
}

func (p *platform) patch(t *testing.T, namespace, name, patch string) {
	t.Helper()
	p.kubectlPatch(t, namespace, name, "merge", patch)
}

func (p *platform) patchJSON(t *testing.T, namespace, name, patch string) {
	t.Helper()
	p.kubectlPatch(t, namespace, name, "json", patch)
}

func (p *platform) kubectlPatch(t *testing.T, namespace, name, kind, patch string) {
	t.Helper()
	if out, err := kubetest.Kubectl(t, p.kubeconfig, "", "-n", namespace, "patch", "hookpolicy", name, "--type", kind, "-p", patch); err != nil {
		t.Fatalf("kubectl patch: %v\n%s", err, out)
	}
}

// programmed waits until a generation of the tenant's policy is in force
// everywhere.
func (p *platform) programmed(t *testing.T, generation int64) {
	t.Helper()
	c := p.condition(t, tenant, tenant, v1alpha1.ConditionProgrammed, metav1.ConditionTrue, generation)
	want := fmt.Sprintf("Generation %d is in force on %d of %d replicas", generation, len(p.replicas), len(p.replicas))
	if !strings.Contains(c.Message, want) {
		t.Errorf("message is %q, want %q", c.Message, want)
	}
}

// condition waits until a condition has a status for a generation.
func (p *platform) condition(t *testing.T, namespace, name, kind string, status metav1.ConditionStatus, generation int64) *metav1.Condition {
	t.Helper()
	var c *metav1.Condition
	kubetest.Eventually(t, patience, fmt.Sprintf("%s of %s/%s is %s", kind, namespace, name, status), func(ctx context.Context) error {
		hp, err := p.policy(ctx, namespace, name)
		if err != nil {
			return err
		}
		c = meta.FindStatusCondition(hp.Status.Conditions, kind)
		if c == nil || c.Status != status || c.ObservedGeneration != generation {
			return fmt.Errorf("conditions of generation %d are %+v", hp.Generation, hp.Status.Conditions)
		}
		return nil
	})
	return c
}

func (p *platform) everyReplica(ctx context.Context, is func(v1alpha1.DecisionReplicaStatus) bool) error {
	var list v1alpha1.DecisionReplicaList
	if err := p.s.Client().List(ctx, &list, client.InNamespace(platformNamespace)); err != nil {
		return err
	}
	if len(list.Items) != len(p.replicas) {
		return fmt.Errorf("%d DecisionReplicas, want %d", len(list.Items), len(p.replicas))
	}
	for i := range list.Items {
		if !is(list.Items[i].Status) {
			return errors.New(list.Items[i].Name + " does not")
		}
	}
	return nil
}

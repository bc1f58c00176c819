package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
)

// approvalsNamespace is the tenant's of this scenario.
const approvalsNamespace = "customer-b"

// TestPeopleDecideHeldCalls is about the agents' calls that wait for a person.
// People are impersonated by the administrator: admission sees whom it would see
// if they had come themselves.
func TestPeopleDecideHeldCalls(t *testing.T) {
	const ns = approvalsNamespace
	p := install(t, "decisionService: {replicas: 2}")
	a := p.tenantOf(t, ns)
	p.kubectl(t, "-n", ns, "create", "rolebinding", "approvers", "--clusterrole=hookpolicy-approver", "--user=alice", "--user=bob")
	p.kubectl(t, "-n", ns, "create", "rolebinding", "readers", "--clusterrole=hookpolicy-viewer", "--user=mallory")
	p.kubectl(t, "-n", platformNamespace, "wait", "decisionservice/"+serviceName, "--for=condition=ApprovalsEnforced", "--timeout", patience.String())

	t.Run("a call that waits in line is released by a person with the verb, and by nobody else", func(t *testing.T) {
		waiting := call("db_query_sql", `{"sql":"DELETE FROM orders"}`)
		waiting.WaitSeconds = 120
		answers := make(chan answer, 1)
		go func() { answers <- a.ask(t, waiting)[0] }()
		id := p.held(t, ns, "DELETE on orders")
		if out, err := p.decide(t, "approve", id, "mallory"); err == nil || !strings.Contains(out, "forbidden") && !strings.Contains(out, "Forbidden") {
			t.Errorf("somebody without the verb: %v: %s", err, out)
		}
		if out, err := p.decide(t, "approve", id, "alice"); err != nil || !strings.Contains(out, "is Approved") {
			t.Errorf("alice: %v: %s", err, out)
		}
		if got := <-answers; got.Decision != decisionv1.Allow {
			t.Errorf("the agent got %s (%+v %s)", got.Decision, got.Reason, got.Error)
		}
	})

	t.Run("a held call outlives the replica that holds it", func(t *testing.T) {
		deletes := call("db_query_sql", `{"sql":"DELETE FROM invoices"}`)
		if err := a.gets(t, deletes, decisionv1.AskUser, ""); err != nil {
			t.Fatal(err)
		}
		id := p.held(t, ns, "DELETE on invoices")
		var ta v1alpha1.ToolApproval
		if err := p.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: id}, &ta); err != nil {
			t.Fatal(err)
		}
		p.kubectl(t, "-n", platformNamespace, "delete", "pod", ta.Spec.Request.Replica, "--grace-period=0", "--force")
		if out, err := p.decide(t, "approve", id, "bob"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		eventually(t, patience, "the repeat passes", func(context.Context) error { return a.gets(t, deletes, decisionv1.Allow, "") })
		if err := a.gets(t, deletes, decisionv1.AskUser, ""); err != nil {
			t.Errorf("once more: %v", err)
		}
	})

	t.Run("a refusal is told apart from a time-out", func(t *testing.T) {
		deletes := call("db_query_sql", `{"sql":"DELETE FROM suppliers"}`)
		if err := a.gets(t, deletes, decisionv1.AskUser, ""); err != nil {
			t.Fatal(err)
		}
		if out, err := p.decide(t, "reject", p.held(t, ns, "DELETE on suppliers"), "alice"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		eventually(t, patience, "the repeat is refused", func(context.Context) error { return a.gets(t, deletes, decisionv1.Deny, "approval.rejected") })
	})

	t.Run("all of it is on record", func(t *testing.T) {
		p.ready(t)
		if out := p.verifyAudit(t, platformNamespace, serviceName); !strings.Contains(out, ns+"/guarded") {
			t.Errorf("no chain of the policy:\n%s", out)
		}
	})
}

// held waits for a held call whose prompt holds a text, and returns its name.
func (p *platform) held(t *testing.T, namespace, prompt string) (name string) {
	t.Helper()
	eventually(t, patience, "a call is held: "+prompt, func(ctx context.Context) error {
		var list v1alpha1.ToolApprovalList
		if err := p.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return err
		}
		for _, ta := range list.Items {
			if ta.Status.State == "" && strings.Contains(ta.Spec.Request.Prompt, prompt) {
				name = ta.Name
				return nil
			}
		}
		return errors.New(fmt.Sprint(len(list.Items), " others are"))
	})
	return name
}

// decide runs kubectl hookpolicy as a person.
func (p *platform) decide(t *testing.T, verb, id, user string) (string, error) {
	t.Helper()
	return command(t, "", filepath.Join(root, "hack", "cluster", "cluster"), "net",
		filepath.Join(root, "bin", "kubectl-hookpolicy"), verb, id, "--kubeconfig", p.kubeconfig(), "-n", approvalsNamespace, "--as", user, "--as-group", "system:authenticated")
}

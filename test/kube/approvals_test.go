package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/kubetest"
)

// people gives the chart's role for approvers to alice and bob, in the tenant's
// namespace, and every right on ToolApprovals to mallory.
func (p *platform) people(t *testing.T) map[string]client.Client {
	t.Helper()
	user := func(name string) rbacv1.Subject {
		return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}
	}
	p.s.Create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "approvers"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "hookpolicy-approver"},
		Subjects:   []rbacv1.Subject{user("alice"), user("bob")},
	})
	p.s.Create(t, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "meddler"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{v1alpha1.Group}, Resources: []string{"toolapprovals", "toolapprovals/status"},
			Verbs: []string{"get", "list", "create", "update", "patch", "delete"},
		}},
	})
	p.s.Create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "meddler"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "meddler"},
		Subjects:   []rbacv1.Subject{user("mallory")},
	})
	all := make(map[string]client.Client)
	for _, name := range []string{"alice", "bob", "mallory"} {
		all[name] = p.s.ClientFor(t, p.s.User(t, name))
	}
	return all
}

func castVote(ctx context.Context, c client.Client, id, user string, word v1alpha1.VoteDecision) error {
	patch := fmt.Appendf(nil, `[{"op":"add","path":"/spec/votes/-","value":{"user":%q,"decision":%q}}]`, user, word)
	return c.Patch(ctx, &v1alpha1.ToolApproval{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: id}}, client.RawPatch(types.JSONPatchType, patch))
}

// asksOn makes a call on one replica.
func (a *agent) asksOn(t *testing.T, replica int, call decisionv1.Request) *decisionv1.Response {
	t.Helper()
	got, err := a.ask(t.Context(), a.p.replicas[replica], call)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// becomes waits until a repeat on a replica is answered so: the replicas hear
// of what people say one after another.
func (a *agent) becomes(t *testing.T, replica int, call decisionv1.Request, want decisionv1.Decision, code string) {
	t.Helper()
	kubetest.Eventually(t, patience, fmt.Sprintf("replica %d answers %s %s", replica, want, code), func(ctx context.Context) error {
		got, err := a.ask(ctx, a.p.replicas[replica], call)
		if err != nil {
			return err
		}
		if got.Decision != want || code != "" && (got.Reason == nil || got.Reason.Code != code) {
			return fmt.Errorf("it answers %s %+v", got.Decision, got.Reason)
		}
		return nil
	})
}

func deletes(table string) decisionv1.Request {
	return decisionv1.Request{Tool: "db_query_sql", Args: json.RawMessage(fmt.Sprintf(`{"sql":"DELETE FROM %s"}`, table))}
}

// approvals is the part of the story that people play.
func (p *platform) approvals(t *testing.T, a *agent) {
	people := p.people(t)
	kubetest.Eventually(t, patience, "the service says that votes are guarded", func(ctx context.Context) error {
		var ds v1alpha1.DecisionService
		if err := p.s.Client().Get(ctx, client.ObjectKey{Namespace: platformNamespace, Name: serviceName}, &ds); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(ds.Status.Conditions, v1alpha1.ConditionApprovalsEnforced) {
			return fmt.Errorf("conditions %+v", ds.Status.Conditions)
		}
		return nil
	})

	t.Run("a person with the verb releases a call on any replica, once", func(t *testing.T) {
		call := deletes("invoices")
		held := a.asksOn(t, 0, call)
		if held.Decision != decisionv1.AskUser {
			t.Fatalf("%+v", held)
		}
		id := held.Approval.ID
		if err := castVote(t.Context(), people["mallory"], id, "mallory", v1alpha1.VoteApprove); err == nil || !strings.Contains(err.Error(), "verb approve") {
			t.Errorf("somebody without the verb votes: %v", err)
		}
		if err := castVote(t.Context(), people["alice"], id, "bob", v1alpha1.VoteApprove); err == nil {
			t.Error("a vote in another's name is taken")
		}
		if got := a.asksOn(t, 1, call); got.Decision != decisionv1.AskUser || got.Approval.ID != id {
			t.Errorf("the other replica does not know the held call: %+v", got)
		}
		alice := []string{"--kubeconfig", p.s.Kubeconfig(t, p.s.User(t, "alice")), "-n", tenant}
		out, err := p.replicas[0].hookpolicy(t, append([]string{"pending", id}, alice...)...)
		if err != nil || !strings.Contains(out, "DELETE on invoices") || !strings.Contains(out, "0 of 1") {
			t.Errorf("pending shows %v:\n%s", err, out)
		}
		out, err = p.replicas[0].hookpolicy(t, append([]string{"approve", id, "--reason", "agreed"}, alice...)...)
		if err != nil || !strings.Contains(out, id+" is Approved") {
			t.Fatalf("approve: %v\n%s", err, out)
		}
		a.becomes(t, 1, call, decisionv1.Rewrite, "")
		for i := range p.replicas {
			if got := a.asksOn(t, i, call); got.Decision != decisionv1.AskUser {
				t.Errorf("replica %d lets it pass again: %+v", i, got)
			}
		}
		var ta v1alpha1.ToolApproval
		if err := p.s.Client().Get(t.Context(), client.ObjectKey{Namespace: tenant, Name: id}, &ta); err != nil {
			t.Fatal(err)
		}
		if ta.Status.State != v1alpha1.ApprovalUsed || ta.Status.UsedBy.Replica != p.replicas[1].podName || ta.Spec.Request.Replica != p.replicas[0].podName {
			t.Errorf("status %+v", ta.Status)
		}
	})

	t.Run("whoever waits in line on the other replica is released", func(t *testing.T) {
		call := deletes("customers")
		id := a.asksOn(t, 0, call).Approval.ID
		waiting := call
		waiting.WaitSeconds = 60
		answers := make(chan *decisionv1.Response, 1)
		go func() {
			got, err := a.ask(t.Context(), p.replicas[1], waiting)
			if err != nil {
				t.Error(err)
			}
			answers <- got
		}()
		begun := time.Now()
		if err := castVote(t.Context(), people["bob"], id, "bob", v1alpha1.VoteApprove); err != nil {
			t.Fatal(err)
		}
		if got := <-answers; got == nil || got.Decision != decisionv1.Rewrite {
			t.Errorf("the answer is %+v", got)
		}
		t.Logf("released %s after the vote began", time.Since(begun).Round(time.Millisecond))
	})

	t.Run("a refusal refuses on every replica", func(t *testing.T) {
		call := deletes("suppliers")
		id := a.asksOn(t, 1, call).Approval.ID
		if err := castVote(t.Context(), people["alice"], id, "alice", v1alpha1.VoteReject); err != nil {
			t.Fatal(err)
		}
		for i := range p.replicas {
			a.becomes(t, i, call, decisionv1.Deny, "approval.rejected")
		}
		if err := castVote(t.Context(), people["bob"], id, "bob", v1alpha1.VoteApprove); err == nil {
			t.Error("a vote after the refusal is taken")
		}
	})

	t.Run("nobody votes through the service's own door", func(t *testing.T) {
		id := a.asksOn(t, 0, deletes("archive")).Approval.ID
		out, err := p.replicas[0].hookpolicy(t, "approve", id, "--admin-socket", p.replicas[0].socket)
		if err == nil || !strings.Contains(out, "kubectl hookpolicy approve") {
			t.Errorf("%v: %s", err, out)
		}
	})

	t.Run("without the admission policies no vote counts", func(t *testing.T) {
		names := p.removeAdmission(t)
		kubetest.Eventually(t, patience, "every replica finds votes unguarded", func(ctx context.Context) error {
			return p.everyReplica(ctx, func(s v1alpha1.DecisionReplicaStatus) bool { return s.Votes == v1alpha1.VotesUnguarded })
		})
		call := deletes("ledger")
		id := a.asksOn(t, 0, call).Approval.ID
		if err := castVote(t.Context(), people["mallory"], id, "alice", v1alpha1.VoteApprove); err != nil {
			t.Fatalf("the forged vote is refused all the same: %v", err)
		}
		if got := a.asksOn(t, 0, call); got.Decision != decisionv1.AskUser || got.Approval.ID != id {
			t.Errorf("a forged vote counts: %+v", got)
		}
		if len(names) == 0 {
			t.Error("there was nothing to remove")
		}
	})
}

// removeAdmission deletes the bindings of the admission policies.
func (p *platform) removeAdmission(t *testing.T) []string {
	t.Helper()
	out, err := kubetest.Kubectl(t, p.kubeconfig, "", "delete", "validatingadmissionpolicybinding", "--all", "-o", "name")
	if err != nil {
		t.Fatal(errors.Join(err, errors.New(out)))
	}
	return strings.Fields(out)
}

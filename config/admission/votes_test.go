package admission_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
)

func heldCall(namespace, name string, minimum int32) *v1alpha1.ToolApproval {
	now := metav1.NowMicro()
	return &v1alpha1.ToolApproval{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.ToolApprovalSpec{Request: v1alpha1.ApprovalRequest{
			Prompt: "DELETE on orders WITHOUT WHERE: all rows", Risk: "High", Tool: "db_query_sql",
			Requester:   "system:serviceaccount:" + namespace + ":agent",
			Policies:    []v1alpha1.ApprovalPolicy{{Kind: v1alpha1.KindHookPolicy, Name: policyName}},
			Asks:        []v1alpha1.ApprovalAsk{{Hook: namespace + "/" + policyName + "/no-accidents"}},
			ChainDigest: "sha256:c", Digest: "d", DecisionID: "1", Service: "a/b", Replica: "replica-0", Consent: v1alpha1.ConsentHuman,
			HeldAt: now, DecideBy: metav1.NewMicroTime(now.Add(time.Hour)), UseWithinSeconds: 300, MinimumApprovers: minimum,
		}},
	}
}

// refused returns nil if the API server refused for a reason of its own, and
// what it did instead otherwise.
func refused(err error) error {
	switch {
	case err == nil:
		return errors.New("it was accepted")
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return nil
	default:
		return fmt.Errorf("it was not refused: %w", err)
	}
}

func approve(user string) v1alpha1.ToolApprovalVote {
	return v1alpha1.ToolApprovalVote{User: user, Decision: v1alpha1.VoteApprove}
}

func reject(user string) v1alpha1.ToolApprovalVote {
	return v1alpha1.ToolApprovalVote{User: user, Decision: v1alpha1.VoteReject}
}

// A ballot is one held call.
type ballot struct {
	*town
	t    *testing.T
	call *v1alpha1.ToolApproval
}

func (w *town) hold(t *testing.T, minimum int32, change ...func(*v1alpha1.ToolApproval)) *ballot {
	t.Helper()
	call := heldCall(w.namespace, "", minimum)
	call.GenerateName = "ap-"
	for _, f := range change {
		f(call)
	}
	if err := w.service.Create(t.Context(), call); err != nil {
		t.Fatalf("hold a call: %v", err)
	}
	return &ballot{w, t, call}
}

// add appends votes by JSON Patch, as kubectl hookpolicy does.
func (b *ballot) add(c client.Client, votes ...v1alpha1.ToolApprovalVote) error {
	var patch []map[string]any
	for _, v := range votes {
		patch = append(patch, map[string]any{"op": "add", "path": "/spec/votes/-", "value": v})
	}
	return b.patch(c, types.JSONPatchType, patch)
}

func (b *ballot) patch(c client.Client, kind types.PatchType, patch any) error {
	text, err := json.Marshal(patch)
	if err != nil {
		b.t.Fatal(err)
	}
	return c.Patch(b.t.Context(), b.fresh(), client.RawPatch(kind, text))
}

// merge is a merge patch of JSON text.
func (b *ballot) merge(c client.Client, text string) error {
	return b.patch(c, types.MergePatchType, json.RawMessage(text))
}

func (b *ballot) settle(c client.Client, status string) error {
	return c.Status().Patch(b.t.Context(), b.fresh(), client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`)))
}

func (b *ballot) fresh() *v1alpha1.ToolApproval {
	return &v1alpha1.ToolApproval{ObjectMeta: metav1.ObjectMeta{Namespace: b.call.Namespace, Name: b.call.Name}}
}

func (b *ballot) voters() string {
	b.t.Helper()
	a := b.fresh()
	if err := b.s.Client().Get(b.t.Context(), client.ObjectKeyFromObject(a), a); err != nil {
		b.t.Fatal(err)
	}
	var voters []string
	for _, v := range a.Spec.Votes {
		voters = append(voters, v.User+" "+string(v.Decision))
	}
	return strings.Join(voters, ", ")
}

// check runs what somebody tries, in order, and what the server must say.
func (b *ballot) check(allowed bool, what string, err error) {
	b.t.Helper()
	if allowed && err != nil {
		b.t.Errorf("%s: %v", what, err)
	}
	if !allowed {
		if err := refused(err); err != nil {
			b.t.Errorf("%s: %v", what, err)
		}
	}
}

const yes, no = true, false

func TestOnlyADecisionServiceHoldsCalls(t *testing.T) {
	w := newTown(t)
	withVote := heldCall(w.namespace, "voted", 1)
	withVote.Spec.Votes = []v1alpha1.ToolApprovalVote{approve("alice")}
	b := &ballot{town: w, t: t}
	b.check(no, "the service holds a call with a vote on it", w.service.Create(t.Context(), withVote))
	b.check(no, "somebody who may create ToolApprovals, but not hold", w.people["mallory"].Create(t.Context(), heldCall(w.namespace, "forged", 1)))
	b.check(no, "an agent", w.agent.Create(t.Context(), heldCall(w.namespace, "forged", 1)))
	applied := fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":{"name":"forged"},"spec":{"votes":[{"user":"alice","decision":"Approve"}]}}`,
		v1alpha1.SchemeGroupVersion, v1alpha1.KindToolApproval)
	b.check(no, "a vote that creates what it is cast on", w.people["alice"].Patch(t.Context(), heldCall(w.namespace, "forged", 1),
		client.RawPatch(types.ApplyPatchType, applied), client.FieldOwner("vote")))
	b.check(yes, "the service", w.service.Create(t.Context(), heldCall(w.namespace, "held", 1)))
}

func TestAVoteIsOnesOwnAndIsCastOnce(t *testing.T) {
	w := newTown(t)
	b := w.hold(t, 2)
	alice, bob := w.people["alice"], w.people["bob"]
	b.check(no, "in another's name", b.add(alice, approve("bob")))
	b.check(no, "in another's name, by merge patch", b.merge(alice, `{"spec":{"votes":[{"user":"bob","decision":"Approve"}]}}`))
	b.check(no, "one's own and another's", b.add(alice, approve("alice"), approve("bob")))
	b.check(no, "without the verb approve", b.add(w.people["noverb"], approve("noverb")))
	b.check(no, "with every right on ToolApprovals but without the verb", b.add(w.people["mallory"], approve("mallory")))
	b.check(no, "an agent that has the verb, on its own call", b.add(w.agent, approve("system:serviceaccount:"+w.namespace+":agent")))
	b.check(no, "the decision service that has the verb", b.add(w.service, approve("system:serviceaccount:"+w.namespace+":service")))
	b.check(no, "the decision service in a person's name", b.add(w.service, approve("alice")))
	b.check(yes, "the first", b.add(alice, approve("alice")))
	b.check(no, "the same again", b.add(alice, approve("alice")))
	b.check(no, "the same person in capitals", b.add(w.people["ALICE"], approve("ALICE")))
	b.check(no, "changed by its author", b.merge(alice, `{"spec":{"votes":[{"user":"alice","decision":"Reject"}]}}`))
	b.check(no, "given a reason by another", b.patch(bob, types.JSONPatchType, []map[string]any{{"op": "add", "path": "/spec/votes/0/reason", "value": "x"}}))
	b.check(no, "withdrawn", b.merge(alice, `{"spec":{"votes":[]}}`))
	b.check(no, "removed", b.merge(bob, `{"spec":{"votes":null}}`))
	b.check(no, "replaced by another's", b.merge(bob, `{"spec":{"votes":[{"user":"bob","decision":"Approve"}]}}`))
	b.check(no, "inserted before the others, with one changed", b.patch(bob, types.JSONPatchType, []map[string]any{
		{"op": "replace", "path": "/spec/votes/0/decision", "value": "Reject"}, {"op": "add", "path": "/spec/votes/-", "value": approve("bob")},
	}))
	b.check(yes, "the second", b.add(bob, approve("bob")))
	b.check(no, "after the quorum, before the state is written", b.add(w.people["carol"], reject("carol")))
	if got := b.voters(); got != "alice Approve, bob Approve" {
		t.Errorf("the votes are %s", got)
	}
}

func TestAVoteNeedsTheVerbOnEveryPolicyThatAsks(t *testing.T) {
	w := newTown(t)
	baseline := v1alpha1.ApprovalPolicy{Kind: v1alpha1.KindClusterHookPolicy, Name: "platform"}
	tests := map[string][]v1alpha1.ApprovalPolicy{
		"the baseline too":                {{Kind: v1alpha1.KindHookPolicy, Name: policyName}, baseline},
		"the baseline alone":              {baseline},
		"another policy of the namespace": {{Kind: v1alpha1.KindHookPolicy, Name: "other"}},
		"an eighth policy": func() (all []v1alpha1.ApprovalPolicy) {
			for range 7 {
				all = append(all, v1alpha1.ApprovalPolicy{Kind: v1alpha1.KindHookPolicy, Name: policyName})
			}
			return append(all, baseline)
		}(),
	}
	for name, policies := range tests {
		b := w.hold(t, 1, func(a *v1alpha1.ToolApproval) { a.Spec.Request.Policies = policies })
		b.check(no, name, b.add(w.people["alice"], approve("alice")))
	}
	mine := make([]v1alpha1.ApprovalPolicy, 8)
	for i := range mine {
		mine[i] = v1alpha1.ApprovalPolicy{Kind: v1alpha1.KindHookPolicy, Name: policyName}
	}
	b := w.hold(t, 1, func(a *v1alpha1.ToolApproval) { a.Spec.Request.Policies = mine })
	b.check(yes, "eight lookups are within what admission may spend", b.add(w.people["alice"], approve("alice")))
}

func TestAHeldCallIsFrozen(t *testing.T) {
	w := newTown(t)
	b := w.hold(t, 2)
	bob := w.people["bob"]
	b.check(no, "fewer approvers", b.merge(bob, `{"spec":{"request":{"minimumApprovers":1}}}`))
	b.check(no, "more time", b.merge(w.service, `{"spec":{"request":{"useWithinSeconds":86400}}}`))
	b.check(no, "another prompt", b.merge(w.service, `{"spec":{"request":{"prompt":"nothing much"}}}`))
	b.check(no, "a finalizer, which would keep it for ever", b.merge(bob, `{"metadata":{"finalizers":["x.y/z"]}}`))
	b.check(no, "an owner, which would delete it", b.merge(bob, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"u"}]}}`))
	b.check(no, "labels", b.merge(bob, `{"metadata":{"labels":{"a":"b"}}}`))
	b.check(yes, "an annotation, which nobody reads", b.merge(bob, `{"metadata":{"annotations":{"a/b":"c"}}}`))
}

func TestWhatIsDecidedStaysDecided(t *testing.T) {
	w := newTown(t)
	used := `{"state":"Used","usedBy":{"decisionID":"2","replica":"replica-1","at":"2026-12-01T00:00:00.000000Z"}}`
	usedAgain := strings.Replace(used, `"2"`, `"3"`, 1)

	b := w.hold(t, 1)
	b.check(no, "approved without votes", b.settle(w.service, `{"state":"Approved"}`))
	b.check(no, "used without votes", b.settle(w.service, used))
	b.check(yes, "a vote", b.add(w.people["alice"], approve("alice")))
	b.check(no, "settled by somebody else", b.settle(w.people["mallory"], `{"state":"Approved"}`))
	b.check(yes, "approved", b.settle(w.service, `{"state":"Approved"}`))
	b.check(no, "rejected after all", b.settle(w.service, `{"state":"Rejected"}`))
	b.check(no, "open again", b.settle(w.service, `{"state":null}`))
	b.check(no, "open again, the whole status gone", b.settle(w.service, `null`))
	b.check(no, "used by nobody", b.settle(w.service, `{"state":"Used"}`))
	b.check(yes, "used", b.settle(w.service, used))
	b.check(no, "used by another", b.settle(w.service, usedAgain))
	b.check(no, "voided after its use", b.settle(w.service, `{"state":"Voided","usedBy":null}`))

	b = w.hold(t, 2)
	b.check(yes, "timed out", b.settle(w.service, `{"state":"TimedOut"}`))
	b.check(no, "a vote that comes too late", b.add(w.people["alice"], approve("alice")))
	b.check(no, "approved after the end", b.settle(w.service, `{"state":"Approved"}`))

	b = w.hold(t, 1)
	b.check(yes, "a refusal", b.add(w.people["carol"], reject("carol")))
	b.check(no, "an approval after it", b.add(w.people["alice"], approve("alice")))
	b.check(no, "approved in spite of it", b.settle(w.service, `{"state":"Approved"}`))
	b.check(no, "votes changed beside the state", func() error {
		a := b.fresh()
		if err := w.service.Get(t.Context(), client.ObjectKeyFromObject(a), a); err != nil {
			t.Fatal(err)
		}
		a.Spec.Votes, a.Status.State = []v1alpha1.ToolApprovalVote{approve("alice")}, v1alpha1.ApprovalApproved
		return w.service.Status().Update(t.Context(), a)
	}())
}

func TestTheAgentsOwnWordCountsOnlyWhereThePolicySaysSo(t *testing.T) {
	w := newTown(t)
	b := w.hold(t, 1, func(a *v1alpha1.ToolApproval) { a.Spec.Request.Consent = v1alpha1.ConsentAgent })
	b.check(no, "by its own vote", b.add(w.agent, approve("system:serviceaccount:"+w.namespace+":agent")))
	b.check(yes, "as the service says it", b.settle(w.service, `{"state":"Approved"}`))
}

func TestNobodyRemovesAHeldCallButTheService(t *testing.T) {
	w := newTown(t)
	b := w.hold(t, 1)
	mallory := w.people["mallory"]
	b.check(no, "one", mallory.Delete(t.Context(), b.fresh()))
	b.check(no, "all", mallory.DeleteAllOf(t.Context(), &v1alpha1.ToolApproval{}, client.InNamespace(w.namespace)))
	b.check(yes, "the service", w.service.Delete(t.Context(), b.fresh()))
	again := heldCall(w.namespace, b.call.Name, 1)
	b.check(no, "made anew under the same name by somebody else", mallory.Create(t.Context(), again))
}

func TestImpersonationVotesAsWhomItImpersonates(t *testing.T) {
	w := newTown(t)
	b := w.hold(t, 2)
	config := w.s.Config()
	config.Impersonate.UserName = "noverb"
	b.check(no, "the administrator as somebody without the verb", b.add(w.s.ClientFor(t, config), approve("noverb")))
	config.Impersonate.UserName = "bob"
	b.check(no, "the administrator as bob, in alice's name", b.add(w.s.ClientFor(t, config), approve("alice")))
	// Whoever may impersonate bob is bob to admission. The API server's own audit log has both.
	b.check(yes, "the administrator as bob", b.add(w.s.ClientFor(t, config), approve("bob")))
}

func TestAReplicasReportIsItsOwnPods(t *testing.T) {
	w := newTown(t)
	w.s.Create(t, &v1alpha1.DecisionReplica{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "replica-0"}, Spec: v1alpha1.DecisionReplicaSpec{ServiceName: "a"},
	})
	report := func(c client.Client) error {
		dr := &v1alpha1.DecisionReplica{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "replica-0"}}
		return c.Status().Patch(t.Context(), dr, client.RawPatch(types.MergePatchType, []byte(`{"status":{"policies":1}}`)))
	}
	if err := refused(report(w.s.Client())); err != nil {
		t.Errorf("the administrator: %v", err)
	}
}

package kube

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

const (
	serviceAccountPrefix = "system:serviceaccount:"
	// viaKubernetes marks votes that the API server let pass.
	viaKubernetes = "kubernetes"
)

// toolApproval is the object of a new held call.
func toolApproval(a approval.Approval, service types.NamespacedName) (*v1alpha1.ToolApproval, error) {
	args, err := strictjson.Append(nil, a.Args)
	if err != nil {
		return nil, fmt.Errorf("encode the arguments: %w", err)
	}
	r := v1alpha1.ApprovalRequest{
		Prompt: a.Prompt, Details: a.Details, Risk: string(a.Risk),
		Tool: approval.Safe(a.Tool, maxShownName), Args: &runtime.RawExtension{Raw: args},
		Requester:  serviceAccountPrefix + a.Requester.Namespace + ":" + a.Requester.ServiceAccount,
		Session:    approval.Safe(a.Session, maxShownName),
		PolicyName: a.Policy.Name, PolicyUID: a.Policy.UID, PolicyGeneration: a.Policy.Generation,
		ChainDigest: a.Policy.ChainDigest, Digest: a.Digest, DecisionID: a.DecisionID,
		Service: service.String(), Replica: a.Replica,
		HeldAt: metav1.NewMicroTime(a.CreatedAt), DecideBy: metav1.NewMicroTime(a.DecideBy),
		UseWithinSeconds: int32(a.UseWithin / time.Second), MinimumApprovers: int32(a.MinimumApprovers),
		Consent: v1alpha1.ConsentHuman,
	}
	if a.ByAgent {
		r.Consent = v1alpha1.ConsentAgent
	}
	for _, reason := range a.RiskReasons[:min(len(a.RiskReasons), maxReasons)] {
		r.RiskReasons = append(r.RiskReasons, approval.Safe(reason, maxShownName))
	}
	for _, p := range a.Policies {
		ref := v1alpha1.ApprovalPolicy{Kind: v1alpha1.KindHookPolicy, Name: p.Name}
		if p.Baseline {
			ref.Kind = v1alpha1.KindClusterHookPolicy
		}
		r.Policies = append(r.Policies, ref)
	}
	for _, ask := range a.Asks {
		r.Asks = append(r.Asks, v1alpha1.ApprovalAsk{Hook: ask.Hook, Rule: ask.Rule})
	}
	return &v1alpha1.ToolApproval{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.KindToolApproval},
		ObjectMeta: metav1.ObjectMeta{Namespace: a.Requester.Namespace, Name: a.ID},
		Spec:       v1alpha1.ToolApprovalSpec{Request: r},
	}, nil
}

// maxShownName bounds names that the caller made up, in characters: what is
// shown of them may take four bytes each.
const maxShownName = 250

// maxReasons is how many reasons for a risk the schema takes.
const maxReasons = 16

// withStatus is the object with the moving parts of an approval.
func withStatus(object *v1alpha1.ToolApproval, a approval.Approval) *v1alpha1.ToolApproval {
	o := object.DeepCopy()
	o.APIVersion, o.Kind = v1alpha1.SchemeGroupVersion.String(), v1alpha1.KindToolApproval
	o.Status = v1alpha1.ToolApprovalStatus{
		Revision: object.Status.Revision + 1, SettledAt: microTime(a.SettledAt), EndedAt: microTime(a.EndedAt),
	}
	if a.State != approval.Pending {
		o.Status.State = v1alpha1.ApprovalState(a.State)
	}
	for _, v := range a.Votes {
		o.Status.Counted = append(o.Status.Counted, v1alpha1.CountedVote{User: v.User, At: microTime(v.At)})
	}
	if u := a.UsedBy; u != nil {
		o.Status.UsedBy = &v1alpha1.ApprovalUse{DecisionID: u.DecisionID, Replica: u.Replica, At: microTime(u.At)}
	}
	return o
}

// approvalOf reads an object.
func approvalOf(o *v1alpha1.ToolApproval) approval.Approval {
	r := o.Spec.Request
	a := approval.Approval{
		ID: o.Name, Digest: r.Digest, Prompt: r.Prompt, Details: r.Details, Risk: chain.Risk(r.Risk), RiskReasons: r.RiskReasons,
		Requester: callerOf(r.Requester), Session: r.Session, Tool: r.Tool,
		Policy:     approval.Policy{Name: r.PolicyName, Generation: r.PolicyGeneration, UID: r.PolicyUID, ChainDigest: r.ChainDigest},
		DecisionID: r.DecisionID, Replica: r.Replica,
		CreatedAt: r.HeldAt.Time, DecideBy: r.DecideBy.Time, UseWithin: time.Duration(r.UseWithinSeconds) * time.Second,
		MinimumApprovers: int(r.MinimumApprovers), ByAgent: r.Consent == v1alpha1.ConsentAgent,
		State: approval.State(o.Status.State), SettledAt: o.Status.SettledAt.Time, EndedAt: o.Status.EndedAt.Time,
		Version: versionOf(o),
	}
	if a.State == "" {
		a.State = approval.Pending
	}
	if r.Args != nil {
		// Shown to people, and decides nothing: what cannot be read is not shown.
		a.Args, _ = strictjson.Parse(r.Args.Raw)
	}
	for _, p := range r.Policies {
		a.Policies = append(a.Policies, approval.PolicyRef{Name: p.Name, Baseline: p.Kind == v1alpha1.KindClusterHookPolicy})
	}
	for _, ask := range r.Asks {
		a.Asks = append(a.Asks, approval.Ask{Hook: ask.Hook, Rule: ask.Rule})
	}
	if u := o.Status.UsedBy; u != nil {
		a.UsedBy = &approval.Use{DecisionID: u.DecisionID, Replica: u.Replica, At: u.At.Time}
	}
	a.Votes, a.Cast = votesOf(o)
	return a
}

// votesOf returns the votes that were counted, and those that were not yet.
func votesOf(o *v1alpha1.ToolApproval) (counted, cast []approval.Vote) {
	votes := o.Spec.Votes
	for _, c := range o.Status.Counted {
		v := approval.Vote{User: c.User, Approve: true, At: c.At.Time, Via: approval.ViaAgent}
		if i := slices.IndexFunc(votes, func(v v1alpha1.ToolApprovalVote) bool { return v.User == c.User }); i >= 0 {
			v = voteOf(votes[i])
			v.At = c.At.Time
		}
		counted = append(counted, v)
	}
	for _, v := range votes {
		if !slices.ContainsFunc(counted, func(c approval.Vote) bool { return c.User == v.User }) {
			cast = append(cast, voteOf(v))
		}
	}
	return counted, cast
}

func voteOf(v v1alpha1.ToolApprovalVote) approval.Vote {
	return approval.Vote{User: v.User, Approve: v.Decision == v1alpha1.VoteApprove, Reason: v.Reason, Via: viaKubernetes}
}

// callerOf reads the user name of a ServiceAccount; no caller for any other.
func callerOf(user string) chain.Caller {
	rest, ok := strings.CutPrefix(user, serviceAccountPrefix)
	namespace, account, ok2 := strings.Cut(rest, ":")
	if !ok || !ok2 {
		return chain.Caller{}
	}
	return chain.Caller{Namespace: namespace, ServiceAccount: account}
}

func microTime(t time.Time) metav1.MicroTime { return metav1.NewMicroTime(t.UTC()) }

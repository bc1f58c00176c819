package kube

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
)

const (
	// probeEvery is how often a Guard looks.
	probeEvery = 10 * time.Second
	// probeName is the name of the held call that is never made.
	probeName = "ap-forged-vote-that-must-be-refused"
)

// A Guard knows whether the API server refuses forged votes: the admission
// policies that say so can be removed, and then anybody who may write a
// ToolApproval could approve in another's name. It tries to forge one, in a dry
// run.
type Guard struct {
	client    *Client
	namespace string
	changed   func(enforced bool)
	log       *slog.Logger

	enforced atomic.Bool
	told     atomic.Bool
}

// NewGuard returns a guard that knows of no refusal yet. It tries in the
// namespace, which is the service's own. changed is called with what it finds,
// when that is new.
func NewGuard(c *Client, namespace string, changed func(enforced bool), log *slog.Logger) *Guard {
	return &Guard{client: c, namespace: namespace, changed: changed, log: log}
}

// Enforced reports whether the last forged vote was refused.
func (g *Guard) Enforced() bool { return g.enforced.Load() }

// Run tries until ctx is done. While the API server cannot be asked, what was
// last known stands: nobody can vote then either.
func (g *Guard) Run(ctx context.Context) {
	for {
		if refused, known := g.probe(ctx); known {
			g.note(ctx, refused)
		}
		if !sleep(ctx, probeEvery) {
			return
		}
	}
}

func (g *Guard) note(ctx context.Context, refused bool) {
	was := g.enforced.Swap(refused)
	if g.told.Swap(true) && was == refused {
		return
	}
	if refused {
		g.log.LogAttrs(ctx, slog.LevelInfo, "Votes on held calls are guarded by the API server")
	} else {
		g.log.LogAttrs(ctx, slog.LevelError, "Votes on held calls are not guarded: the API server takes forged ones, so none is counted; install the admission policies of the chart")
	}
	g.changed(refused)
}

// probe tries to make two held calls that differ in a vote only. If the one
// without is taken and the other is not, it is the vote that is refused.
func (g *Guard) probe(ctx context.Context) (refused, known bool) {
	ctx, cancel := context.WithTimeout(ctx, approvalTimeout)
	defer cancel()
	if g.try(ctx) != nil {
		return false, false
	}
	err := g.try(ctx, v1alpha1.ToolApprovalVote{User: "nobody", Decision: v1alpha1.VoteApprove})
	if err == nil {
		return false, true
	}
	return true, apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
}

// try makes a held call with votes, in a dry run.
func (g *Guard) try(ctx context.Context, votes ...v1alpha1.ToolApprovalVote) error {
	now := metav1.NowMicro()
	held := &v1alpha1.ToolApproval{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.KindToolApproval},
		ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: probeName},
		Spec: v1alpha1.ToolApprovalSpec{
			Request: v1alpha1.ApprovalRequest{
				Prompt: "A forged vote, to see it refused", Risk: "High", Tool: "none", Requester: "nobody", Consent: v1alpha1.ConsentHuman,
				Policies: []v1alpha1.ApprovalPolicy{{Kind: v1alpha1.KindHookPolicy, Name: "none"}}, Asks: []v1alpha1.ApprovalAsk{{Hook: "none"}},
				ChainDigest: "none", Digest: "none", DecisionID: "none", Service: "none/none", Replica: "none",
				HeldAt: now, DecideBy: now, UseWithinSeconds: 1, MinimumApprovers: 1,
			},
			Votes: votes,
		},
	}
	return g.client.policies.Post().Namespace(g.namespace).Resource(resourceToolApprovals).
		VersionedParams(&metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}, metav1.ParameterCodec).
		Body(held).Do(ctx).Error()
}

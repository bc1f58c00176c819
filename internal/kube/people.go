package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/approval"
)

// People is the door through which a person sees held calls and votes on them,
// with that person's own rights.
type People struct {
	client *Client
	now    func() time.Time
}

// NewPeople returns a door for whoever the client is.
func NewPeople(c *Client) *People { return &People{client: c, now: time.Now} }

// List returns the held calls of a namespace, of all if it is empty: those that
// wait for people, or all that are known. Oldest first.
func (p *People) List(ctx context.Context, namespace string, all bool) ([]approval.Approval, error) {
	var list v1alpha1.ToolApprovalList
	err := p.client.policies.Get().Namespace(namespace).Resource(resourceToolApprovals).Do(ctx).Into(&list)
	if err != nil {
		return nil, fmt.Errorf("list ToolApprovals: %w", err)
	}
	var found []approval.Approval
	for i := range list.Items {
		if a := p.read(&list.Items[i]); all || a.State == approval.Pending {
			found = append(found, a)
		}
	}
	slices.SortFunc(found, approval.OldestFirst)
	return found, nil
}

// Get returns one held call.
func (p *People) Get(ctx context.Context, namespace, name string) (approval.Approval, error) {
	var o v1alpha1.ToolApproval
	err := p.client.policies.Get().Namespace(namespace).Resource(resourceToolApprovals).Name(name).Do(ctx).Into(&o)
	if err != nil {
		return approval.Approval{}, fmt.Errorf("read the ToolApproval: %w", err)
	}
	return p.read(&o), nil
}

// Watch calls changed with each held call of a namespace, of all if it is empty,
// that is there, comes, or changes, until ctx ends or the API server cannot
// be asked any more.
func (p *People) Watch(ctx context.Context, namespace string, changed func(approval.Approval)) error {
	for ctx.Err() == nil {
		var list v1alpha1.ToolApprovalList
		if err := p.client.policies.Get().Namespace(namespace).Resource(resourceToolApprovals).Do(ctx).Into(&list); err != nil {
			return fmt.Errorf("list ToolApprovals: %w", err)
		}
		for i := range list.Items {
			changed(p.read(&list.Items[i]))
		}
		if err := p.follow(ctx, namespace, "", list.ResourceVersion, func(a approval.Approval) bool { changed(a); return true }); err != nil {
			return err
		}
	}
	return nil
}

// follow calls next with each change from a version on, until it returns false,
// ctx ends or the watch does. The name may be empty, for all.
func (p *People) follow(ctx context.Context, namespace, name, version string, next func(approval.Approval) bool) error {
	options := metav1.ListOptions{Watch: true, ResourceVersion: version}
	if name != "" {
		options.FieldSelector = "metadata.name=" + name
	}
	w, err := p.client.policies.Get().Namespace(namespace).Resource(resourceToolApprovals).
		VersionedParams(&options, metav1.ParameterCodec).Watch(ctx)
	if err != nil {
		return fmt.Errorf("watch ToolApprovals: %w", err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		switch o := e.Object.(type) {
		case *v1alpha1.ToolApproval:
			if e.Type != watch.Deleted && !next(p.read(o)) {
				return nil
			}
		case *metav1.Status:
			if apierrors.IsResourceExpired(apierrors.FromObject(o)) {
				return nil // begin anew
			}
			return fmt.Errorf("watch ToolApprovals: %w", apierrors.FromObject(o))
		}
	}
	return nil
}

// Vote casts the person's vote and returns what the decision service has made
// of it, or, if the service takes longer than wait, the call with the vote cast.
func (p *People) Vote(ctx context.Context, namespace, name string, approve bool, reason string, wait time.Duration) (approval.Approval, error) {
	me, err := p.whoAmI(ctx)
	if err != nil {
		return approval.Approval{}, err
	}
	if _, err := p.Get(ctx, namespace, name); err != nil {
		return approval.Approval{}, err
	}
	vote := v1alpha1.ToolApprovalVote{User: me, Decision: v1alpha1.VoteReject, Reason: reason}
	if approve {
		vote.Decision = v1alpha1.VoteApprove
	}
	patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/spec/votes/-", "value": vote}})
	if err != nil {
		return approval.Approval{}, fmt.Errorf("write the vote: %w", err)
	}
	var o v1alpha1.ToolApproval
	err = p.client.policies.Patch(types.JSONPatchType).Namespace(namespace).Resource(resourceToolApprovals).Name(name).
		Body(patch).Do(ctx).Into(&o)
	if err != nil {
		return approval.Approval{}, fmt.Errorf("vote: %w", err)
	}
	return p.counted(ctx, &o, me, wait)
}

// counted waits until a vote was counted.
func (p *People) counted(ctx context.Context, o *v1alpha1.ToolApproval, me string, wait time.Duration) (approval.Approval, error) {
	a := p.read(o)
	open := func() bool {
		return a.State == approval.Pending && slices.ContainsFunc(a.Cast, func(v approval.Vote) bool { return v.User == me })
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for open() && ctx.Err() == nil {
		err := p.follow(ctx, o.Namespace, o.Name, o.ResourceVersion, func(next approval.Approval) bool { a = next; return open() })
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return a, err
		}
	}
	return a, nil
}

// whoAmI is the user name that admission sees.
func (p *People) whoAmI(ctx context.Context) (string, error) {
	review := &authenticationv1.SelfSubjectReview{}
	err := p.client.reviews.Post().Resource("selfsubjectreviews").Body(review).Do(ctx).Into(review)
	if err != nil {
		return "", fmt.Errorf("ask the API server who you are: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

// read reads an object as it stands by this machine's clock.
func (p *People) read(o *v1alpha1.ToolApproval) approval.Approval {
	a := approvalOf(o)
	a.State = a.StateAt(p.now())
	return a
}

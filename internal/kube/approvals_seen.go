package kube

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/approval"
)

// decides reports whether an approval in the state can still decide about a
// call.
func decides(s approval.State) bool {
	return s == approval.Pending || s == approval.Approved || s == approval.Rejected
}

// see takes an object over unless a later one was seen already, publishes it,
// and returns it as it is.
func (s *Approvals) see(object *v1alpha1.ToolApproval) approval.Approval {
	a := approvalOf(object)
	if object.Spec.Request.Service != s.opts.Service.String() {
		return a
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.byID[a.ID]
	if old != nil && !isLater(object, old.object) {
		return a
	}
	if old != nil {
		s.unindex(old)
	}
	k := &keptApproval{Approval: a, object: object}
	s.byID[a.ID] = k
	if decides(a.State) {
		index(s.byDigest, a.Digest, k)
		index(s.byCaller, a.Requester, k)
	}
	s.feed.Publish(a) // under the lock, so that changes are published in their order
	return a
}

// isLater reports whether one of two versions of an object is the later one. An
// object that was made anew under an old name is later.
func isLater(object, than *v1alpha1.ToolApproval) bool {
	order, err := resourceversion.CompareResourceVersion(object.ResourceVersion, than.ResourceVersion)
	return err != nil || order > 0
}

func (s *Approvals) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.byID[id]; k != nil {
		s.unindex(k)
		delete(s.byID, id)
	}
}

func (s *Approvals) unindex(k *keptApproval) {
	unindex(s.byDigest, k.Digest, k.ID)
	unindex(s.byCaller, k.Requester, k.ID)
}

func index[K comparable](in map[K]map[string]*keptApproval, key K, k *keptApproval) {
	if in[key] == nil {
		in[key] = make(map[string]*keptApproval)
	}
	in[key][k.ID] = k
}

func unindex[K comparable](in map[K]map[string]*keptApproval, key K, id string) {
	delete(in[key], id)
	if len(in[key]) == 0 {
		delete(in, key)
	}
}

// An approvalSink takes over what is watched. client-go calls it a store.
type approvalSink Approvals

func (s *approvalSink) Add(v any) error    { return s.seen(v) }
func (s *approvalSink) Update(v any) error { return s.seen(v) }

func (s *approvalSink) seen(v any) error {
	object, ok := v.(*v1alpha1.ToolApproval)
	if !ok {
		return fmt.Errorf("watch ToolApprovals: unexpected %T", v)
	}
	(*Approvals)(s).see(object)
	return nil
}

func (s *approvalSink) Delete(v any) error {
	object, ok := v.(*v1alpha1.ToolApproval)
	if !ok {
		return fmt.Errorf("watch ToolApprovals: unexpected %T", v)
	}
	(*Approvals)(s).drop(object.Name)
	return nil
}

// Replace takes over a whole list: what is not in it is gone, unless it was
// made after the list was.
func (s *approvalSink) Replace(list []any, version string) error {
	a := (*Approvals)(s)
	there := make(map[string]bool, len(list))
	for _, v := range list {
		object, ok := v.(*v1alpha1.ToolApproval)
		if !ok {
			return fmt.Errorf("watch ToolApprovals: unexpected %T", v)
		}
		there[object.Name] = true
		a.see(object)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, k := range a.byID {
		order, err := resourceversion.CompareResourceVersion(k.object.ResourceVersion, version)
		if !there[id] && err == nil && order <= 0 {
			a.unindex(k)
			delete(a.byID, id)
		}
	}
	a.synced = true
	return nil
}

// Resync has nothing to do: nobody reads through here.
func (s *approvalSink) Resync() error { return nil }

// Synced reports whether the held calls of before are known.
func (s *Approvals) Synced(context.Context) bool { return s.isSynced() }

package kube_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/approval/approvaltest"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/kube"
	"github.com/hookpolicy/hookpolicy/internal/kubetest"
)

var services atomic.Int64 // so that each test has a service of its own

// approvalsOf returns a running store of a replica of a service.
func approvalsOf(t *testing.T, s *kubetest.Server, service types.NamespacedName, keep time.Duration) *kube.Approvals {
	t.Helper()
	c, err := kube.NewClient(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	a := kube.NewApprovals(kube.ApprovalsOptions{Client: c, Service: service, Keep: keep})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { a.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	kubetest.Eventually(t, patience, "the held calls are read", func(ctx context.Context) error {
		if !a.Synced(ctx) {
			return errors.New("not yet")
		}
		return nil
	})
	return a
}

func newService() types.NamespacedName {
	return types.NamespacedName{Namespace: "platform", Name: fmt.Sprintf("s%d", services.Add(1))}
}

func namespaces(t *testing.T, s *kubetest.Server, names ...string) {
	t.Helper()
	for _, name := range names {
		err := s.Client().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
}

func TestToolApprovalsKeepTheStoresPromises(t *testing.T) {
	s := cluster.Server(t)
	namespaces(t, s, "a", "b")
	approvaltest.TestStore(t, func(t *testing.T) approval.Store { return approvalsOf(t, s, newService(), 0) })
}

func TestAStoreThatHasReadNothingHoldsNothing(t *testing.T) {
	s := cluster.Server(t)
	c, err := kube.NewClient(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	a := kube.NewApprovals(kube.ApprovalsOptions{Client: c, Service: newService()})
	_, errCreate := a.Create(t.Context(), approvaltest.NewApproval("d", chain.Caller{Namespace: "a", ServiceAccount: "agent"}, time.Now()))
	_, errList := a.List(t.Context(), approval.Filter{})
	_, errGet := a.Get(t.Context(), "ap-1")
	for name, err := range map[string]error{"create": errCreate, "list": errList, "get": errGet} {
		if !errors.Is(err, approval.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// vote casts a vote as people do: it is appended to the object.
func vote(t *testing.T, s *kubetest.Server, namespace, id, user string, decision v1alpha1.VoteDecision) {
	t.Helper()
	patch := fmt.Appendf(nil, `[{"op":"add","path":"/spec/votes/-","value":{"user":%q,"decision":%q,"reason":"seen"}}]`, user, decision)
	a := &v1alpha1.ToolApproval{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: id}}
	if err := s.Client().Patch(t.Context(), a, client.RawPatch(types.JSONPatchType, patch)); err != nil {
		t.Fatal(err)
	}
}

func TestAVoteIsShownToEveryReplicaAndIsNoConflict(t *testing.T) {
	s := cluster.Server(t)
	namespaces(t, s, "a")
	service := newService()
	one, other := approvalsOf(t, s, service, 0), approvalsOf(t, s, service, 0)
	foreign := approvalsOf(t, s, newService(), 0)
	held := approvaltest.NewApproval("d", chain.Caller{Namespace: "a", ServiceAccount: "agent"}, time.Now())
	changes := other.Watch(t.Context(), held.ID)
	held, err := one.Create(t.Context(), held)
	if err != nil {
		t.Fatal(err)
	}
	vote(t, s, "a", held.ID, "alice", v1alpha1.VoteApprove)
	for a := range changes {
		if len(a.Cast) == 1 && a.Cast[0].User == "alice" && a.Cast[0].Approve && a.Cast[0].Reason == "seen" {
			break
		}
	}
	// The first knows the version from before the vote.
	held.State, held.SettledAt = approval.Approved, time.Now()
	held.Votes = []approval.Vote{{User: "alice", Approve: true, At: held.SettledAt}}
	written, err := one.Update(t.Context(), held)
	if err != nil {
		t.Fatalf("write after a vote: %v", err)
	}
	if len(written.Cast) != 0 || len(written.Votes) != 1 || written.Votes[0].Via != "kubernetes" || written.State != approval.Approved {
		t.Errorf("written %+v", written)
	}
	if _, err := one.Update(t.Context(), held); !errors.Is(err, approval.ErrConflict) {
		t.Errorf("write of an old version: %v", err)
	}
	if _, err := foreign.Get(t.Context(), held.ID); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("another service sees it: %v", err)
	}
}

func TestHeldCallsAreForgottenSomeTimeAfterTheirEnd(t *testing.T) {
	s := cluster.Server(t)
	namespaces(t, s, "a")
	a := approvalsOf(t, s, newService(), time.Millisecond)
	requester := chain.Caller{Namespace: "a", ServiceAccount: "agent"}
	end := func(state approval.State, since time.Duration) string {
		held, err := a.Create(t.Context(), approvaltest.NewApproval(string(state), requester, time.Now()))
		if err == nil && state != approval.Pending {
			held.State, held.SettledAt, held.EndedAt = state, time.Now(), time.Now().Add(-since)
			_, err = a.Update(t.Context(), held)
		}
		if err != nil {
			t.Fatal(err)
		}
		return held.ID
	}
	old := end(approval.TimedOut, time.Hour)
	stays := []string{end(approval.Pending, 0), end(approval.Rejected, time.Minute)} // a rejection that still stands
	kubetest.Eventually(t, patience, "what ended is forgotten", func(ctx context.Context) error {
		if _, err := a.Get(ctx, old); !errors.Is(err, approval.ErrNotFound) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	for _, id := range stays {
		if _, err := a.Get(t.Context(), id); err != nil {
			t.Errorf("what still decides: %v", err)
		}
	}
}

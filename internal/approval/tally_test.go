package approval_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/approval"
)

// A box is a store in which people vote by themselves, as a Kubernetes API
// server is.
type box struct {
	approval.Store
	mu    sync.Mutex
	votes map[string][]approval.Vote
}

func newBox() *box {
	return &box{Store: approval.NewMemoryStore(approval.MemoryOptions{}), votes: make(map[string][]approval.Vote)}
}

// cast puts a vote in, and shows it to whoever watches.
func (b *box) cast(t *testing.T, id, user string, approve bool) {
	t.Helper()
	b.mu.Lock()
	b.votes[id] = append(b.votes[id], approval.Vote{User: user, Approve: approve, Via: "box"})
	b.mu.Unlock()
	a, err := b.Store.Get(t.Context(), id)
	if err == nil {
		_, err = b.Store.Update(t.Context(), a)
	}
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func (b *box) show(a approval.Approval) approval.Approval {
	b.mu.Lock()
	defer b.mu.Unlock()
	a.Cast = nil
	for _, v := range b.votes[a.ID] {
		if !slices.ContainsFunc(a.Votes, func(o approval.Vote) bool { return o.User == v.User }) {
			a.Cast = append(a.Cast, v)
		}
	}
	return a
}

func (b *box) Get(ctx context.Context, id string) (approval.Approval, error) {
	a, err := b.Store.Get(ctx, id)
	return b.show(a), err
}

func (b *box) Update(ctx context.Context, a approval.Approval) (approval.Approval, error) {
	a, err := b.Store.Update(ctx, a)
	return b.show(a), err
}

func (b *box) List(ctx context.Context, f approval.Filter) ([]approval.Approval, error) {
	all, err := b.Store.List(ctx, f)
	for i, a := range all {
		all[i] = b.show(a)
	}
	return all, err
}

func (b *box) Watch(ctx context.Context, id string) <-chan approval.Approval {
	in, out := b.Store.Watch(ctx, id), make(chan approval.Approval)
	go func() {
		defer close(out)
		for a := range in {
			select {
			case out <- b.show(a):
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// counting returns a running desk that counts the votes of a box.
func (b *box) counting(t *testing.T, replica string, enforced func() bool) *desk {
	t.Helper()
	store, j := &flaky{Store: b}, &journal{}
	d, err := approval.New(approval.Options{
		Store: store, Record: j.record, Key: testKey, Replica: replica, VotesInStore: true, Enforced: enforced,
	})
	if err != nil {
		t.Fatal(err)
	}
	k := &desk{Desk: d, t: t, journal: j, store: store}
	k.run()
	return k
}

func TestVotesThatAreCastInTheStoreAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		d := b.counting(t, "replica-0", nil)
		a := d.asks(approval.Held, approvers(2))
		requester := "system:serviceaccount:" + agentA.Namespace + ":" + agentA.ServiceAccount
		for _, user := range []string{requester, "alice", "ALICE"} {
			b.cast(t, a.ID, user, true)
		}
		d.asks(approval.Held, approvers(2))
		b.cast(t, a.ID, "bob", true)
		d.asks(approval.Passed, approvers(2))
		if got := d.journal.kinds(a.ID); got != "Held Voted Approved Used" {
			t.Errorf("steps %s", got)
		}
	})
}

func TestARefusalInTheStoreRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		d := b.counting(t, "replica-0", nil)
		a := d.asks(approval.Held)
		waits := d.waits(t.Context(), a.ID)
		b.cast(t, a.ID, "alice", false)
		if got := <-waits; got.State != approval.Rejected {
			t.Errorf("whoever waits sees %s", got.State)
		}
		d.asks(approval.Refused)
	})
}

func TestAVoteThatComesTooLateDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		d := b.counting(t, "replica-0", nil)
		a := d.asks(approval.Held)
		advance(5 * time.Minute)
		b.cast(t, a.ID, "alice", true)
		d.asks(approval.Held)
		if got := d.journal.kinds(a.ID); got != "Held TimedOut" {
			t.Errorf("steps %s", got)
		}
	})
}

func TestVotesWaitWhileNobodyGuardsWhoCastsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var enforced atomic.Bool
		b := newBox()
		d := b.counting(t, "replica-0", enforced.Load)
		a := d.asks(approval.Held)
		b.cast(t, a.ID, "mallory", true)
		advance(time.Minute)
		d.asks(approval.Held)
		enforced.Store(true)
		advance(2 * time.Second)
		d.asks(approval.Passed)
	})
}

func TestAnotherReplicaCountsForOneThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		gone := deskOver(t, &flaky{Store: b}, &journal{}, "replica-0", nil) // its Run has ended
		a := gone.asks(approval.Held)
		other := b.counting(t, "replica-1", nil)
		b.cast(t, a.ID, "alice", true)
		if got := other.journal.kinds(""); got != "" {
			t.Errorf("the other was too quick: %s", got)
		}
		advance(3 * time.Second)
		other.asks(approval.Passed)

		b2 := gone.asks(approval.Held, sql("DELETE FROM invoices"))
		advance(5*time.Minute + 31*time.Second)
		if got := other.journal.kinds(b2.ID); got != "TimedOut" {
			t.Errorf("steps of the other for what nobody decided: %q", got)
		}
	})
}

func TestOfTwoReplicasTheOneThatHoldsTheCallCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		holder, other := b.counting(t, "replica-0", nil), b.counting(t, "replica-1", nil)
		a := holder.asks(approval.Held)
		waits := other.waits(t.Context(), a.ID)
		b.cast(t, a.ID, "alice", true)
		if got := <-waits; got.State != approval.Approved {
			t.Errorf("whoever waits at the other sees %s", got.State)
		}
		other.asks(approval.Passed)
		holder.asks(approval.Held) // it was used up
		if h, o := holder.journal.kinds(a.ID), other.journal.kinds(a.ID); h != "Held Approved" || o != "Used" {
			t.Errorf("steps of the holder %q, of the other %q", h, o)
		}
	})
}

func TestNobodyVotesAtTheDeskWhereVotesAreInTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newBox().counting(t, "replica-0", nil)
		a := d.asks(approval.Held)
		if _, err := d.votes(a.ID, "alice", true); !errors.Is(err, approval.ErrInStore) {
			t.Errorf("error %v", err)
		}
	})
}

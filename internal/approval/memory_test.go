package approval_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/approval/approvaltest"
)

func TestMemoryStoreKeepsTheStoresPromises(t *testing.T) {
	approvaltest.TestStore(t, func(*testing.T) approval.Store {
		return approval.NewMemoryStore(approval.MemoryOptions{})
	})
}

// fill adds an approval and, for an end, moves it there.
func fill(t *testing.T, m *approval.MemoryStore, state approval.State) approval.Approval {
	t.Helper()
	a, err := m.Create(t.Context(), approvaltest.NewApproval("d", agentA, time.Now()))
	if err == nil && state != approval.Pending {
		a.State, a.SettledAt, a.EndedAt = state, time.Now(), time.Now()
		a, err = m.Update(t.Context(), a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestMemoryStoreIsBounded(t *testing.T) {
	has := func(t *testing.T, m *approval.MemoryStore, a approval.Approval) bool {
		t.Helper()
		_, err := m.Get(t.Context(), a.ID)
		return err == nil
	}
	full := func(t *testing.T, m *approval.MemoryStore) bool {
		t.Helper()
		_, err := m.Create(t.Context(), approvaltest.NewApproval("d", agentA, time.Now()))
		return errors.Is(err, approval.ErrUnavailable)
	}
	for name, run := range map[string]func(t *testing.T){
		"open approvals make no room for others": func(t *testing.T) {
			m := approval.NewMemoryStore(approval.MemoryOptions{MaxApprovals: 2})
			a, b := fill(t, m, approval.Pending), fill(t, m, approval.Pending)
			if !full(t, m) || !has(t, m, a) || !has(t, m, b) {
				t.Error("a pending approval was pushed out")
			}
		},
		"the one that ended first makes room": func(t *testing.T) {
			m := approval.NewMemoryStore(approval.MemoryOptions{MaxApprovals: 2})
			a, b := fill(t, m, approval.Used), fill(t, m, approval.Used)
			fill(t, m, approval.Pending)
			if has(t, m, a) || !has(t, m, b) {
				t.Error("not the first ended one was forgotten")
			}
		},
		"a rejection that stands makes no room, and does later": func(t *testing.T) {
			m := approval.NewMemoryStore(approval.MemoryOptions{MaxApprovals: 1})
			fill(t, m, approval.Rejected)
			if !full(t, m) {
				t.Error("a standing rejection was forgotten")
			}
			advance(approval.RejectionStands)
			if full(t, m) {
				t.Error("a rejection that stands no longer fills the store")
			}
		},
		"bytes are bounded too": func(t *testing.T) {
			m := approval.NewMemoryStore(approval.MemoryOptions{MaxBytes: 2000})
			fill(t, m, approval.Pending)
			if !full(t, m) {
				t.Error("store took more than its bytes")
			}
		},
		"what has ended is forgotten after a while": func(t *testing.T) {
			m := approval.NewMemoryStore(approval.MemoryOptions{Keep: time.Hour})
			a := fill(t, m, approval.TimedOut)
			advance(59 * time.Minute)
			fill(t, m, approval.Pending)
			if !has(t, m, a) {
				t.Error("forgotten early")
			}
			advance(time.Minute)
			fill(t, m, approval.Pending)
			if has(t, m, a) {
				t.Error("kept for ever")
			}
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, run) })
	}
}

func TestFeedClosesForAReaderThatIsFarTooSlow(t *testing.T) {
	var feed approval.Feed
	slow := feed.Subscribe(t.Context(), "")
	for range 10_000 { // nobody reads; publishing must not wait
		feed.Publish(approval.Approval{ID: approval.NewID()})
	}
	n := 0
	for range slow {
		n++
	}
	if n > 1 {
		t.Errorf("%d stale changes came before the end", n)
	}
}

// Package approvaltest holds the test that every approval.Store must pass.
package approvaltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/chain"
)

// NewApproval returns a pending approval for tests, held at a time.
func NewApproval(digest string, requester chain.Caller, at time.Time) approval.Approval {
	return approval.Approval{
		ID:               approval.NewID(),
		Digest:           digest,
		Prompt:           "DELETE on orders without WHERE: all rows",
		Details:          []string{"statement: DeleteStmt"},
		Risk:             chain.RiskHigh,
		Args:             map[string]any{"sql": "DELETE FROM orders"},
		Asks:             []approval.Ask{{Hook: "no-accidents", Rule: "sql.class.destructive"}},
		Requester:        requester,
		Session:          "s1",
		Tool:             "db_query_sql",
		Policy:           approval.Policy{Name: "customer-a/customer-a", Generation: 3, UID: "uid", ChainDigest: "chain"},
		DecisionID:       "decision",
		Replica:          "replica-0",
		CreatedAt:        at,
		DecideBy:         at.Add(time.Minute),
		UseWithin:        time.Minute,
		MinimumApprovers: 1,
		// So that it can be approved without anybody's vote.
		ByAgent:  true,
		Policies: []approval.PolicyRef{{Name: "customer-a"}},
		State:    approval.Pending,
	}
}

// TestStore checks that stores keep what approval.Store promises. newStore
// returns an empty one, for requesters of the namespaces a and b.
func TestStore(t *testing.T, newStore func(t *testing.T) approval.Store) {
	alice, bob := chain.Caller{Namespace: "a", ServiceAccount: "agent"}, chain.Caller{Namespace: "b", ServiceAccount: "agent"}
	start := time.Now().Truncate(time.Second)
	ctx := t.Context()

	t.Run("what was created is read back, with a version", func(t *testing.T) {
		s := newStore(t)
		want := NewApproval("d", alice, start)
		created := must(s.Create(ctx, want))(t)
		if created.Version == "" {
			t.Error("created approval has no version")
		}
		want.Version = created.Version
		if diff := cmp.Diff(want, must(s.Get(ctx, want.ID))(t)); diff != "" {
			t.Errorf("approval (-want +got):\n%s", diff)
		}
	})
	t.Run("what is not there is not found", func(t *testing.T) {
		s := newStore(t)
		_, err := s.Get(ctx, "ap-none")
		wantErr(t, err, approval.ErrNotFound)
		_, err = s.Update(ctx, NewApproval("d", alice, start))
		wantErr(t, err, approval.ErrNotFound)
	})
	t.Run("an id is created once", func(t *testing.T) {
		s := newStore(t)
		a := NewApproval("d", alice, start)
		must(s.Create(ctx, a))(t)
		_, err := s.Create(ctx, a)
		wantErr(t, err, approval.ErrConflict)
	})
	t.Run("an update carries every moving part and a new version", func(t *testing.T) {
		s := newStore(t)
		a := must(s.Create(ctx, NewApproval("d", alice, start)))(t)
		next := a
		next.State, next.SettledAt, next.EndedAt = approval.Used, start.Add(time.Second), start.Add(2*time.Second)
		next.Votes = []approval.Vote{{User: "system:serviceaccount:a:agent", Approve: true, At: start.Add(time.Second), Via: approval.ViaAgent}}
		next.UsedBy = &approval.Use{DecisionID: "later", Replica: "replica-1", At: start.Add(2 * time.Second)}
		written := must(s.Update(ctx, next))(t)
		if written.Version == a.Version {
			t.Error("version did not change")
		}
		next.Version = written.Version
		if diff := cmp.Diff(next, must(s.Get(ctx, a.ID))(t)); diff != "" {
			t.Errorf("approval (-want +got):\n%s", diff)
		}
	})
	t.Run("an update from an old version conflicts and changes nothing", func(t *testing.T) {
		s := newStore(t)
		old := must(s.Create(ctx, NewApproval("d", alice, start)))(t)
		current := must(s.Update(ctx, old))(t)
		old.State = approval.Approved
		_, err := s.Update(ctx, old)
		wantErr(t, err, approval.ErrConflict)
		if diff := cmp.Diff(current, must(s.Get(ctx, old.ID))(t)); diff != "" {
			t.Errorf("approval (-want +got):\n%s", diff)
		}
	})
	t.Run("of many writers with one version one wins", func(t *testing.T) {
		s := newStore(t)
		testOneWriterWins(t, s, must(s.Create(ctx, NewApproval("d", alice, start)))(t))
	})
	t.Run("a list holds what matches, oldest first", func(t *testing.T) {
		s := newStore(t)
		second := must(s.Create(ctx, NewApproval("d1", alice, start.Add(time.Second))))(t)
		first := must(s.Create(ctx, NewApproval("d1", alice, start)))(t)
		other := must(s.Create(ctx, NewApproval("d2", bob, start.Add(2*time.Second))))(t)
		used := must(s.Create(ctx, NewApproval("d2", alice, start.Add(3*time.Second))))(t)
		used.State, used.EndedAt = approval.Used, start.Add(4*time.Second)
		used.UsedBy = &approval.Use{DecisionID: "later", Replica: "replica-0", At: start}
		used = must(s.Update(ctx, used))(t)
		for _, tc := range []struct {
			filter approval.Filter
			want   []approval.Approval
		}{
			{approval.Filter{}, []approval.Approval{first, second, other, used}},
			{approval.Filter{Digest: "d1"}, []approval.Approval{first, second}},
			{approval.Filter{Digest: "d2", Requester: alice}, []approval.Approval{used}},
			{approval.Filter{Requester: alice, States: []approval.State{approval.Pending}}, []approval.Approval{first, second}},
			{approval.Filter{States: []approval.State{approval.Used, approval.Voided}}, []approval.Approval{used}},
			{approval.Filter{Digest: "none"}, nil},
		} {
			if diff := cmp.Diff(ids(tc.want), ids(must(s.List(ctx, tc.filter))(t))); diff != "" {
				t.Errorf("list %+v (-want +got):\n%s", tc.filter, diff)
			}
		}
	})
	t.Run("a watch shows the last change of each approval it was asked for", func(t *testing.T) {
		testWatch(t, newStore(t), alice, start)
	})
	t.Run("a watch ends with its context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		changes := newStore(t).Watch(ctx, "")
		cancel()
		for range changes { // closed: else the test hangs
		}
	})
	t.Run("nothing is written for whoever has given up", func(t *testing.T) {
		s := newStore(t)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Create(gone, NewApproval("d", alice, start)); err == nil {
			t.Error("created")
		}
		if got := must(s.List(ctx, approval.Filter{}))(t); len(got) != 0 {
			t.Errorf("%d approvals are there", len(got))
		}
	})
}

func testOneWriterWins(t *testing.T, s approval.Store, a approval.Approval) {
	t.Helper()
	const writers = 32
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			next := a
			next.State, next.UsedBy = approval.Used, &approval.Use{DecisionID: fmt.Sprint(i), Replica: "replica-0", At: next.CreatedAt}
			_, errs[i] = s.Update(t.Context(), next)
		})
	}
	wg.Wait()
	winners := 0
	for _, err := range errs {
		if err == nil {
			winners++
			continue
		}
		wantErr(t, err, approval.ErrConflict)
	}
	if winners != 1 {
		t.Errorf("%d writers won", winners)
	}
}

// testWatch lets nobody read until all has happened: writers must not wait.
func testWatch(t *testing.T, s approval.Store, caller chain.Caller, start time.Time) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	before := must(s.Create(ctx, NewApproval("d", caller, start)))(t)
	all, one := s.Watch(ctx, ""), s.Watch(ctx, before.ID)
	for range 100 {
		other := must(s.Create(ctx, NewApproval("d", caller, start)))(t)
		must(s.Update(ctx, other))(t)
		before = must(s.Update(ctx, before))(t)
	}
	for a := range one {
		if a.ID != before.ID {
			t.Fatalf("watch of one approval shows another")
		}
		if a.Version == before.Version {
			break
		}
	}
	want := make(map[string]string)
	for _, a := range must(s.List(ctx, approval.Filter{}))(t) {
		want[a.ID] = a.Version
	}
	for len(want) > 0 {
		a, ok := <-all
		if !ok {
			t.Fatal("watch ended early")
		}
		if want[a.ID] == a.Version {
			delete(want, a.ID)
		}
	}
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantErr(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("error %v, want %v", got, want)
	}
}

func ids(list []approval.Approval) []string {
	out := []string{}
	for a := range slices.Values(list) {
		out = append(out, a.ID)
	}
	return out
}

package approval_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/approval"
)

// together runs f in n goroutines that start at one moment.
func together(n int, f func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

// replicas returns desks that share a store, a key and a journal.
func replicas(t *testing.T, n int) []*desk {
	t.Helper()
	first := newDesk(t)
	desks := []*desk{first}
	for i := 1; i < n; i++ {
		desks = append(desks, deskOver(t, first.store, first.journal, fmt.Sprintf("replica-%d", i), nil))
	}
	return desks
}

func TestAnApprovalIsNeverUsedTwice(t *testing.T) {
	for range 50 {
		desks := replicas(t, 4)
		a := desks[0].asks(approval.Held)
		desks[0].approves(a.ID, "alice")
		var passed atomic.Int32
		together(64, func(i int) {
			r := request(func(r *approval.Request) { r.DecisionID = fmt.Sprint(i) })
			if i%2 == 0 {
				naming(a.ID)(&r)
			}
			ruling, err := desks[i%4].Ask(t.Context(), r)
			switch {
			case err != nil:
				t.Errorf("ask: %v", err)
			case ruling.Outcome == approval.Passed:
				passed.Add(1)
				if ruling.Approval.UsedBy.DecisionID != fmt.Sprint(i) {
					t.Error("passed by another decision's use")
				}
			case ruling.Outcome != approval.Held:
				t.Errorf("ruling %s", ruling.Outcome)
			}
		})
		if n := passed.Load(); n != 1 {
			t.Fatalf("one approval let %d calls pass", n)
		}
		desks[0].wantSteps(a.ID, "Held Approved Used")
	}
}

func TestAsManyCallsPassAsPeopleApproved(t *testing.T) {
	d := newDesk(t)
	var passed, approvals atomic.Int32
	together(64, func(i int) {
		for range 20 {
			ruling, err := d.Ask(t.Context(), request())
			switch {
			case err != nil:
				t.Errorf("ask: %v", err)
			case ruling.Outcome == approval.Passed:
				passed.Add(1)
			case i%4 == 0:
				if _, err := d.votes(ruling.Approval.ID, fmt.Sprintf("person-%d", i), true); err == nil {
					approvals.Add(1)
				}
			}
		}
	})
	left, err := d.List(t.Context(), approval.Approved)
	if err != nil {
		t.Fatal(err)
	}
	if int(passed.Load())+len(left) != int(approvals.Load()) {
		t.Errorf("%d approvals: %d calls passed and %d are left", approvals.Load(), passed.Load(), len(left))
	}
}

func TestAHeldCallEndsInExactlyOneRecord(t *testing.T) {
	ends := func(steps string) int {
		n := 0
		for kind := range strings.FieldsSeq(steps) {
			switch approval.StepKind(kind) {
			case approval.StepApproved, approval.StepRejected, approval.StepTimedOut, approval.StepVoided:
				n++
			}
		}
		return n
	}
	for round := range 50 {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t)
			d.run()
			a := d.asks(approval.Held, approvers(1+round%3))
			moment := 5*time.Minute - time.Duration(round%2)*time.Nanosecond
			together(64, func(i int) {
				advanceTo := time.After(moment)
				switch i % 3 {
				case 0: // waits through the deadline
					got, err := d.Wait(t.Context(), a.ID, agentA)
					if err != nil || got.State == approval.Pending {
						t.Errorf("released %s, %v", got.State, err)
					}
				case 1:
					<-advanceTo
					_, _ = d.votes(a.ID, fmt.Sprintf("person-%d", i), true)
				default:
					<-advanceTo
					_, _ = d.votes(a.ID, fmt.Sprintf("person-%d", i), i%2 == 0)
				}
			})
			if steps := d.journal.kinds(a.ID); ends(steps) != 1 {
				t.Fatalf("steps %q", steps)
			}
		})
	}
}

func TestThePendingLimitHoldsUnderARush(t *testing.T) {
	d := newDesk(t)
	var held, refused atomic.Int32
	together(64, func(i int) {
		for k := range 10 {
			ruling, err := d.Ask(t.Context(), request(sql(fmt.Sprintf("%d.%d", i, k))))
			switch {
			case err != nil:
				t.Errorf("ask: %v", err)
			case ruling.Outcome == approval.Held:
				held.Add(1)
			case ruling.Outcome == approval.TooMany && ruling.Code() == approval.CodeTooManyPending:
				refused.Add(1)
			}
		}
	})
	if held.Load() != 20 || refused.Load() != 620 {
		t.Errorf("%d held, %d refused", held.Load(), refused.Load())
	}
}

func TestVotesBelongToTheReplicaThatHoldsTheCall(t *testing.T) {
	desks := replicas(t, 2)
	a := desks[0].asks(approval.Held)
	if _, err := desks[1].votes(a.ID, "alice", true); err == nil {
		t.Error("another replica took a vote")
	}
	desks[0].approves(a.ID, "alice")
	if used := desks[1].asks(approval.Passed); used.UsedBy.Replica != "replica-1" {
		t.Errorf("used by %+v", used.UsedBy)
	}
}

func BenchmarkHoldApproveUse(b *testing.B) {
	store := approval.NewMemoryStore(approval.MemoryOptions{})
	d, err := approval.New(approval.Options{Store: store, Record: func(context.Context, approval.Step) error { return nil }})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		held, err := d.Ask(b.Context(), request())
		if err != nil {
			b.Fatal(err)
		}
		if _, err := d.Vote(b.Context(), held.Approval.ID, approval.Vote{User: "alice", Approve: true}); err != nil {
			b.Fatal(err)
		}
		if used, err := d.Ask(b.Context(), request()); err != nil || used.Outcome != approval.Passed {
			b.Fatal(used.Outcome, err)
		}
	}
}

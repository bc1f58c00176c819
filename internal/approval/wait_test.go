package approval_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/hookpolicy/hookpolicy/internal/approval"
)

// released is what a Wait came back with, and after how long.
type released struct {
	approval.Approval
	err   error
	after time.Duration
}

func (d *desk) waits(ctx context.Context, id string) <-chan released {
	start, out := time.Now(), make(chan released, 1)
	go func() {
		a, err := d.Wait(ctx, id, agentA)
		out <- released{a, err, time.Since(start)}
	}()
	synctest.Wait()
	return out
}

func TestWait(t *testing.T) {
	for name, live := range map[string]func(t *testing.T, d *desk){
		"whoever waits is released by the vote, at once": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held)
			wait := d.waits(t.Context(), a.ID)
			advance(time.Minute)
			d.approves(a.ID, "alice")
			if got := <-wait; got.err != nil || got.State != approval.Approved || got.after != time.Minute {
				t.Errorf("released %s, %v, after %v", got.State, got.err, got.after)
			}
			d.asks(approval.Passed, naming(a.ID))
		},
		"a rejection is told apart from a time-out": func(t *testing.T, d *desk) {
			a, b := d.asks(approval.Held), d.asks(approval.Held, sql("DROP TABLE t"))
			waitA, waitB := d.waits(t.Context(), a.ID), d.waits(t.Context(), b.ID)
			advance(time.Minute)
			d.rejects(a.ID, "alice")
			if got := <-waitA; got.err != nil || got.State != approval.Rejected {
				t.Errorf("released %s, %v", got.State, got.err)
			}
			if got := <-waitB; got.err != nil || got.State != approval.TimedOut || got.after != 5*time.Minute {
				t.Errorf("released %s, %v, after %v", got.State, got.err, got.after)
			}
		},
		"a vote that does not decide releases nobody": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held, approvers(2))
			wait := d.waits(t.Context(), a.ID)
			d.approves(a.ID, "alice")
			synctest.Wait()
			select {
			case got := <-wait:
				t.Errorf("released %s", got.State)
			default:
			}
			d.approves(a.ID, "bob")
			if got := <-wait; got.State != approval.Approved {
				t.Errorf("released %s", got.State)
			}
		},
		"a wait that ends early leaves the call held": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if got := <-d.waits(ctx, a.ID); !errors.Is(got.err, context.DeadlineExceeded) || got.after != 30*time.Second {
				t.Errorf("released %s, %v, after %v", got.State, got.err, got.after)
			}
			d.wantState(a.ID, approval.Pending)
		},
		"a policy change releases whoever waits": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held)
			wait := d.waits(t.Context(), a.ID)
			if _, err := d.Void(t.Context(), func(approval.Approval) bool { return true }); err != nil {
				t.Fatal(err)
			}
			if got := <-wait; got.State != approval.Voided {
				t.Errorf("released %s", got.State)
			}
		},
		"what is settled needs no wait": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held)
			d.rejects(a.ID, "alice")
			if got := <-d.waits(t.Context(), a.ID); got.State != approval.Rejected || got.after != 0 {
				t.Errorf("released %s after %v", got.State, got.after)
			}
		},
		"a vote that came in time counts, even if it is recorded after the deadline": func(t *testing.T, d *desk) {
			slow := make(chan struct{})
			d.journal = &journal{}
			record := func(ctx context.Context, s approval.Step) error {
				if s.Kind == approval.StepApproved {
					<-slow
				}
				return d.journal.record(ctx, s)
			}
			var err error
			if d.Desk, err = approval.New(approval.Options{Store: d.store, Record: record, Replica: "replica-0"}); err != nil {
				t.Fatal(err)
			}
			d.run()
			a := d.asks(approval.Held)
			wait := d.waits(t.Context(), a.ID)
			advance(5*time.Minute - time.Nanosecond)
			go func() { _, _ = d.votes(a.ID, "alice", true) }()
			advance(time.Second)
			close(slow)
			if got := <-wait; got.err != nil || got.State != approval.Approved {
				t.Errorf("released %s, %v", got.State, got.err)
			}
			d.wantSteps(a.ID, "Held Approved")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { live(t, newDesk(t)) })
		})
	}
}

func TestChangesShowEveryStepToWhoeverListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.run()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		changes := d.Changes(ctx)
		asleep := d.Changes(ctx) // never read: must not hold anybody up
		a := d.asks(approval.Held)
		if got := <-changes; got.ID != a.ID || got.State != approval.Pending {
			t.Errorf("change %s", got.State)
		}
		d.approves(a.ID, "alice")
		if got := <-changes; got.State != approval.Approved {
			t.Errorf("change %s", got.State)
		}
		d.asks(approval.Passed)
		if got := <-changes; got.State != approval.Used {
			t.Errorf("change %s", got.State)
		}
		b := d.asks(approval.Held)
		<-changes
		if got := <-changes; got.ID != b.ID || got.State != approval.TimedOut {
			t.Errorf("change %s", got.State)
		}
		cancel()
		if _, open := <-changes; open {
			t.Error("changes go on after their context")
		}
		for range asleep {
		}
	})
}

func TestRunRecordsWhatWasDueBeforeItStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		a := d.asks(approval.Held)
		advance(time.Hour)
		d.wantSteps(a.ID, "Held")
		d.run()
		synctest.Wait()
		d.wantSteps(a.ID, "Held TimedOut")
	})
}

func TestRunSurvivesAStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		a := d.asks(approval.Held)
		d.store.set(true, true)
		d.run()
		advance(10 * time.Minute)
		d.store.set(false, true)
		advance(10 * time.Second)
		d.store.set(false, false)
		advance(10 * time.Second)
		d.wantSteps(a.ID, "Held TimedOut")
	})
}

// setWall returns the time as it reads after somebody set the wall clock by d:
// the monotonic reading goes on. Package time offers no way to make one.
func setWall(t *testing.T, at time.Time, d time.Duration) time.Time {
	t.Helper()
	set := at
	*(*int64)(unsafe.Pointer(&set)) += int64(d/time.Second) << 30
	if set.Sub(at) != 0 || set.Round(0).Sub(at.Round(0)) != d {
		t.Fatal("the layout of time.Time has changed")
	}
	return set
}

func TestTurningTheClockKeepsNothingAlive(t *testing.T) {
	const day = 24 * time.Hour
	for name, tc := range map[string]struct{ after, set time.Duration }{
		"the time has passed, and so says the clock":            {after: 5 * time.Minute},
		"somebody set the wall clock back a day":                {after: 5 * time.Minute, set: -day},
		"the machine slept a day, with its monotonic clock too": {after: time.Second, set: day},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			d := deskOver(t, newDesk(t).store, &journal{}, "", func() time.Time { return now })
			approved := d.asks(approval.Held, sql("approved"))
			d.approves(approved.ID, "alice")
			pending := d.asks(approval.Held)
			now = setWall(t, now.Add(tc.after), tc.set)
			_, err := d.votes(pending.ID, "alice", true)
			wantStateError(t, err, approval.TimedOut)
			d.wantState(approved.ID, approval.Expired)
			d.asks(approval.Held, sql("approved"), naming(approved.ID))
		})
	}
	t.Run("setting the wall clock forward ends no rejection", func(t *testing.T) {
		now := time.Now()
		d := deskOver(t, newDesk(t).store, &journal{}, "", func() time.Time { return now })
		d.rejects(d.asks(approval.Held).ID, "alice")
		now = setWall(t, now.Add(time.Minute), day)
		d.asks(approval.Refused)
	})
}

package approval_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/approval"
)

func TestLifeOfAHeldCall(t *testing.T) {
	for name, live := range map[string]func(t *testing.T, d *desk){
		"a call is held until a person approves it, and then passes once": func(_ *testing.T, d *desk) {
			a := d.asks(approval.Held)
			d.approves(a.ID, "alice")
			used := d.asks(approval.Passed, naming(a.ID))
			if used.ID != a.ID || used.UsedBy == nil || used.UsedBy.DecisionID != "decision" || used.UsedBy.Replica != "replica-0" {
				d.t.Errorf("used by %+v", used.UsedBy)
			}
			if again := d.asks(approval.Held, naming(a.ID)); again.ID == a.ID {
				d.t.Error("a spent approval waits again")
			}
			d.wantSteps(a.ID, "Held Approved Used")
		},
		"the flag and the id of a call that nobody approved pass nothing": func(_ *testing.T, d *desk) {
			d.asks(approval.Held, naming("ap-guess"))
			a := d.asks(approval.Held)
			d.asks(approval.Held, naming(a.ID))
		},
		"a repeat without any flag passes what a person approved": func(_ *testing.T, d *desk) {
			d.approves(d.asks(approval.Held).ID, "alice")
			d.asks(approval.Passed)
		},
		"a repeat of a held call does not ask twice": func(_ *testing.T, d *desk) {
			a := d.asks(approval.Held)
			if again := d.asks(approval.Held); again.ID != a.ID {
				d.t.Error("a second approval was made")
			}
			d.wantSteps("", "Held")
		},
		"a wrong id passes nothing, even beside a right approval": func(_ *testing.T, d *desk) {
			a := d.asks(approval.Held)
			d.approves(a.ID, "alice")
			d.asks(approval.Held, naming("ap-guess"))
			d.asks(approval.Passed, naming(a.ID))
		},
		"another caller's id matches nothing and is not spent": func(_ *testing.T, d *desk) {
			a := d.asks(approval.Held)
			d.approves(a.ID, "alice")
			if b := d.asks(approval.Held, by(agentB), naming(a.ID)); b.ID == a.ID {
				d.t.Error("another caller got the approval")
			}
			d.asks(approval.Passed, naming(a.ID))
		},
		"the id of another call's approval passes nothing": func(_ *testing.T, d *desk) {
			a := d.asks(approval.Held)
			d.approves(a.ID, "alice")
			d.asks(approval.Held, sql("DELETE FROM orders"), naming(a.ID))
			d.wantState(a.ID, approval.Approved)
		},
		"another's approval is not found": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held)
			_, err := d.Get(t.Context(), a.ID, agentB)
			_, waitErr := d.Wait(t.Context(), a.ID, agentB)
			if !errors.Is(err, approval.ErrNotFound) || !errors.Is(waitErr, approval.ErrNotFound) {
				t.Errorf("errors %v, %v", err, waitErr)
			}
		},
		"a rejection denies the same call for ten minutes, and no other": func(_ *testing.T, d *desk) {
			a := d.asks(approval.Held)
			d.rejects(a.ID, "alice")
			d.asks(approval.Refused, naming(a.ID))
			d.asks(approval.Held, sql("DELETE FROM orders WHERE id = 8"))
			advance(approval.RejectionStands - time.Nanosecond)
			d.asks(approval.Refused)
			advance(time.Nanosecond)
			d.asks(approval.Held)
			d.wantSteps(a.ID, "Held Rejected")
		},
		"a rejection outweighs an earlier approval of the same call": func(_ *testing.T, d *desk) {
			a := d.asks(approval.Held)
			d.approves(a.ID, "alice")
			d.rejects(d.asks(approval.Held, naming("ap-lost")).ID, "bob")
			d.asks(approval.Refused, naming(a.ID))
		},
		"a call that nobody decides times out, and asking again asks anew": func(_ *testing.T, d *desk) {
			a := d.asks(approval.Held)
			advance(5*time.Minute - time.Nanosecond)
			d.wantState(a.ID, approval.Pending)
			advance(time.Nanosecond)
			d.wantState(a.ID, approval.TimedOut)
			d.wantSteps(a.ID, "Held TimedOut")
			if again := d.asks(approval.Held); again.ID == a.ID {
				d.t.Error("the old approval waits again")
			}
		},
		"a late approval does nothing and says so": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held)
			advance(5 * time.Minute)
			_, err := d.votes(a.ID, "alice", true)
			wantStateError(t, err, approval.TimedOut)
			d.asks(approval.Held, naming(a.ID))
			d.wantSteps(a.ID, "Held TimedOut")
		},
		"a vote after the end says what the end was": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held)
			d.rejects(a.ID, "alice")
			_, err := d.votes(a.ID, "bob", true)
			wantStateError(t, err, approval.Rejected)
		},
		"an approval that is not used in time expires": func(_ *testing.T, d *desk) {
			a := d.asks(approval.Held)
			advance(time.Minute)
			d.approves(a.ID, "alice")
			advance(5*time.Minute - time.Nanosecond)
			d.wantState(a.ID, approval.Approved)
			advance(time.Nanosecond)
			d.wantState(a.ID, approval.Expired)
			d.asks(approval.Held, naming(a.ID))
			d.wantSteps(a.ID, "Held Approved Expired")
		},
		"a quorum counts distinct people": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held, approvers(2))
			d.approves(a.ID, "alice")
			for _, alice := range []string{"alice", "Alice"} {
				if _, err := d.votes(a.ID, alice, true); !errors.Is(err, approval.ErrVotedAlready) {
					t.Errorf("second vote of %s: %v", alice, err)
				}
			}
			d.wantState(a.ID, approval.Pending)
			d.asks(approval.Held, approvers(2), naming(a.ID))
			d.approves(a.ID, "bob")
			d.asks(approval.Passed, approvers(2))
			d.wantSteps(a.ID, "Held Voted Approved Used")
		},
		"a vote cannot be taken back": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held, approvers(2))
			d.approves(a.ID, "alice")
			if _, err := d.votes(a.ID, "alice", false); !errors.Is(err, approval.ErrVotedAlready) {
				t.Errorf("error %v", err)
			}
			d.wantState(a.ID, approval.Pending)
		},
		"one rejection ends a quorum": func(_ *testing.T, d *desk) {
			a := d.asks(approval.Held, approvers(3))
			d.approves(a.ID, "alice")
			d.rejects(a.ID, "bob")
			d.asks(approval.Refused, approvers(3))
			d.wantSteps(a.ID, "Held Voted Rejected")
		},
		"the oldest of several approvals is used when none is named": func(_ *testing.T, d *desk) {
			a := d.asks(approval.Held)
			d.approves(a.ID, "alice")
			advance(time.Second)
			b := d.asks(approval.Held, naming("ap-lost"))
			d.approves(b.ID, "alice")
			if used := d.asks(approval.Passed); used.ID != a.ID {
				d.t.Error("the younger one was used")
			}
			d.asks(approval.Passed, naming(b.ID))
		},
		"a policy change voids what it chooses, for good": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held)
			b := d.asks(approval.Held, sql("DROP TABLE t"))
			d.approves(b.ID, "alice")
			c := d.asks(approval.Held, by(agentB))
			n, err := d.Void(t.Context(), func(a approval.Approval) bool { return a.Requester == agentA })
			if n != 2 || err != nil {
				t.Errorf("voided %d, %v", n, err)
			}
			_, voteErr := d.votes(a.ID, "alice", true)
			wantStateError(t, voteErr, approval.Voided)
			d.asks(approval.Held, sql("DROP TABLE t"), naming(b.ID))
			d.approves(c.ID, "alice")
			d.asks(approval.Passed, by(agentB))
			d.wantSteps(b.ID, "Held Approved Voided")
		},
		"calls of one caller wait up to a number, others' are not counted": func(_ *testing.T, d *desk) {
			few := func(r *approval.Request) { r.MaxPending = 2 }
			a := d.asks(approval.Held, few, sql("1"))
			d.asks(approval.Held, few, sql("2"))
			d.asks(approval.TooMany, few, sql("3"))
			d.asks(approval.Held, few, sql("1"))
			d.asks(approval.Held, few, sql("3"), by(agentB))
			d.approves(a.ID, "alice")
			d.asks(approval.Held, few, sql("3"))
			advance(5 * time.Minute)
			d.asks(approval.Held, few, sql("4"))
		},
		"the agent's flag counts where the policy says so, and is recorded as its word": func(t *testing.T, d *desk) {
			byFlag := func(r *approval.Request) { r.FlagCounts, r.Consent.Confirmed = true, true }
			used := d.asks(approval.Passed, byFlag)
			if len(used.Votes) != 1 || used.Votes[0].Via != approval.ViaAgent {
				t.Errorf("votes %+v", used.Votes)
			}
			d.wantSteps(used.ID, "Held Approved Used")
			d.asks(approval.Held, func(r *approval.Request) { r.FlagCounts = true })
			d.asks(approval.Held, byFlag, sql("x"), approvers(2))
		},
		"the agent's flag does not outvote a person's rejection": func(_ *testing.T, d *desk) {
			d.rejects(d.asks(approval.Held).ID, "alice")
			d.asks(approval.Refused, func(r *approval.Request) { r.FlagCounts, r.Consent.Confirmed = true, true })
		},
		"approvers see what waits, oldest first": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held, sql("1"))
			advance(time.Minute)
			b := d.asks(approval.Held, sql("2"))
			d.rejects(d.asks(approval.Held, sql("3")).ID, "alice")
			got, err := d.List(t.Context(), approval.Pending)
			if err != nil || len(got) != 2 || got[0].ID != a.ID || got[1].ID != b.ID {
				t.Errorf("list %+v, %v", got, err)
			}
		},
		"what people are shown cannot move or hide, and reasons neither": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held, func(r *approval.Request) {
				r.Prompt, r.Details = "DELETE \u202e on orders", make([]string, 100)
				r.Details[0] = "\x1b[2K"
			})
			if a.Prompt != `DELETE \u{202e} on orders` || a.Details[0] != `\u{1b}[2K` ||
				len(a.Details) != approval.MaxDetails || a.Details[approval.MaxDetails-1] != "… [100 lines in all]" {
				t.Errorf("shown %q %q", a.Prompt, a.Details)
			}
			got, err := d.Vote(t.Context(), a.ID, approval.Vote{User: "alice", Reason: "no\x1b[2K" + strings.Repeat("x", 1<<20)})
			if reason := got.Votes[0].Reason; err != nil || !strings.HasPrefix(reason, `no\u{1b}[2K`) || len(reason) > 1100 {
				t.Errorf("reason of %d bytes, %v", len(reason), err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				d.run()
				live(t, d)
			})
		})
	}
}

func TestWhoMayVote(t *testing.T) {
	for user, want := range map[string]error{
		"alice":             nil,
		"alice@example.org": nil,
		"system:serviceaccount:customer-a:etl-agent": approval.ErrOwnVote,
		"System:ServiceAccount:customer-a:ETL-agent": approval.ErrOwnVote,
		"customer-a/etl-agent":                       approval.ErrOwnVote,
		"customer-a:etl-agent":                       approval.ErrOwnVote,
		"etl-agent":                                  approval.ErrOwnVote,
		"system:serviceaccount:customer-b:bot":       approval.ErrVoter,
		"":                                           approval.ErrVoter,
		" alice":                                     approval.ErrVoter,
		"ali\u200bce":                                approval.ErrVoter,
		strings.Repeat("a", 257):                     approval.ErrVoter,
	} {
		d := newDesk(t)
		a := d.asks(approval.Held)
		if _, err := d.votes(a.ID, user, true); !errors.Is(err, want) {
			t.Errorf("vote of %q: %v, want %v", user, err, want)
		}
		if want != nil {
			d.wantState(a.ID, approval.Pending)
			d.wantSteps("", "Held")
		}
	}
	if _, err := newDesk(t).votes("ap-none", "alice", true); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("vote on nothing: %v", err)
	}
}

func TestACallUnderNoRuleIsNotHeld(t *testing.T) {
	for name, change := range map[string]func(*approval.Request){
		"negative time-out":   func(r *approval.Request) { r.Timeout = -1 },
		"no time-out":         func(r *approval.Request) { r.Timeout = 0 },
		"no time to use":      func(r *approval.Request) { r.UseWithin = 0 },
		"no approvers needed": func(r *approval.Request) { r.MinimumApprovers = 0 },
		"no pending allowed":  func(r *approval.Request) { r.MaxPending = 0 },
		"nobody asks":         by(approval.Request{}.Binding.Caller),
	} {
		d := newDesk(t)
		if got, err := d.Ask(t.Context(), request(change)); err == nil || got.Outcome != "" {
			t.Errorf("%s: ruling %q, %v", name, got.Outcome, err)
		}
		d.wantSteps("", "")
	}
}

func TestWhatFailsLetsNothingPass(t *testing.T) {
	ctx := func(d *desk) context.Context { return d.t.Context() }
	for name, live := range map[string]func(t *testing.T, d *desk){
		"a call that cannot be recorded is not held": func(t *testing.T, d *desk) {
			d.journal.failing(approval.StepHeld)
			if _, err := d.Ask(ctx(d), request()); !errors.Is(err, errDisk) {
				t.Errorf("error %v", err)
			}
			if all, _ := d.List(ctx(d)); len(all) != 0 {
				t.Error("it was held")
			}
		},
		"an approval that cannot be recorded approves nothing": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held)
			d.journal.failing(approval.StepApproved)
			if _, err := d.votes(a.ID, "alice", true); !errors.Is(err, errDisk) {
				t.Errorf("error %v", err)
			}
			d.asks(approval.Held, naming(a.ID))
			d.journal.failing()
			d.approves(a.ID, "alice") // the lost vote was none
			d.wantSteps(a.ID, "Held Approved")
		},
		"a use that cannot be recorded passes nothing and stays spent": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held)
			d.approves(a.ID, "alice")
			d.journal.failing(approval.StepUsed)
			if got, err := d.Ask(ctx(d), request()); !errors.Is(err, errDisk) || got.Outcome == approval.Passed {
				t.Errorf("ruling %v, %v", got, err)
			}
			d.journal.failing()
			d.wantState(a.ID, approval.Used)
			d.asks(approval.Held)
		},
		"a time-out that cannot be recorded is one all the same, and recorded later, once": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held)
			d.journal.failing(approval.StepTimedOut)
			advance(5 * time.Minute)
			d.wantState(a.ID, approval.TimedOut)
			_, err := d.votes(a.ID, "alice", true)
			wantStateError(t, err, approval.TimedOut)
			d.journal.failing()
			advance(time.Second)
			d.wantSteps(a.ID, "Held TimedOut")
		},
		"whoever waits learns of a time-out that cannot be recorded": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held)
			d.journal.failing(approval.StepTimedOut)
			got, err := d.Wait(ctx(d), a.ID, agentA)
			if err != nil || got.State != approval.TimedOut {
				t.Errorf("state %s, %v", got.State, err)
			}
		},
		"an approval that cannot be voided is not said to be": func(t *testing.T, d *desk) {
			d.asks(approval.Held)
			d.journal.failing(approval.StepVoided)
			n, err := d.Void(ctx(d), func(approval.Approval) bool { return true })
			if n != 0 || !errors.Is(err, errDisk) {
				t.Errorf("voided %d, %v", n, err)
			}
		},
		"nothing passes while the store is down": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held)
			d.approves(a.ID, "alice")
			d.store.set(true, false)
			if got, err := d.Ask(ctx(d), request()); !errors.Is(err, approval.ErrUnavailable) {
				t.Errorf("ruling %v, %v", got, err)
			}
			d.store.set(false, true)
			if got, err := d.Ask(ctx(d), request()); !errors.Is(err, approval.ErrUnavailable) {
				t.Errorf("ruling %v, %v", got, err)
			}
		},
		"a call that cannot be stored is not held, and its record is closed": func(t *testing.T, d *desk) {
			d.store.set(false, true)
			if _, err := d.Ask(ctx(d), request()); !errors.Is(err, approval.ErrUnavailable) {
				t.Errorf("error %v", err)
			}
			d.wantSteps("", "Held Voided")
		},
		"a vote that was recorded but not stored is stored later and not recorded twice": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held)
			d.store.set(false, true)
			if _, err := d.votes(a.ID, "alice", true); !errors.Is(err, approval.ErrUnavailable) {
				t.Errorf("error %v", err)
			}
			d.wantState(a.ID, approval.Pending)
			d.store.set(false, false)
			_, err := d.votes(a.ID, "bob", false)
			wantStateError(t, err, approval.Approved)
			d.asks(approval.Passed)
			d.wantSteps(a.ID, "Held Approved Used")
		},
		"a client that is gone uses nothing": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held)
			d.approves(a.ID, "alice")
			gone, cancel := context.WithCancel(ctx(d))
			cancel()
			if got, err := d.Ask(gone, request()); !errors.Is(err, context.Canceled) {
				t.Errorf("ruling %v, %v", got, err)
			}
			d.wantState(a.ID, approval.Approved)
		},
		"a client that goes while its approval is looked up uses nothing, whatever the store thinks of contexts": func(t *testing.T, d *desk) {
			a := d.asks(approval.Held)
			d.approves(a.ID, "alice")
			leaving, cancel := context.WithCancel(ctx(d))
			synctest.Wait() // nobody is looking at the store
			d.store.Store = heedless{d.store.Store, cancel}
			if got, err := d.Ask(leaving, request()); !errors.Is(err, context.Canceled) {
				t.Errorf("ruling %v, %v", got, err)
			}
			d.wantState(a.ID, approval.Approved)
		},
		"after a restart without a lasting store everything is asked again": func(_ *testing.T, d *desk) {
			a := d.asks(approval.Held)
			d.approves(a.ID, "alice")
			newDesk(d.t).asks(approval.Held, naming(a.ID))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				d.run()
				live(t, d)
			})
		})
	}
}

// A heedless store works on for clients that are gone, and sees them go while
// it looks up one approval.
type heedless struct {
	approval.Store
	leave context.CancelFunc
}

func (h heedless) Get(ctx context.Context, id string) (approval.Approval, error) {
	h.leave()
	return h.Store.Get(context.WithoutCancel(ctx), id)
}

func (h heedless) Update(ctx context.Context, a approval.Approval) (approval.Approval, error) {
	return h.Store.Update(context.WithoutCancel(ctx), a)
}

func TestCallsThatTimedOutDoNotCountAsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t) // without Run: nobody has noticed the time-out
		one := func(r *approval.Request) { r.MaxPending = 1 }
		d.asks(approval.Held, one)
		advance(5 * time.Minute)
		d.asks(approval.Held, one, sql("2"))
	})
}

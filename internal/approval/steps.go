package approval

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/chain"
)

// A StepKind names a step in the life of a held call.
type StepKind string

// The kinds of step. StepVoted is a vote that did not decide; the one that did
// comes with StepApproved or StepRejected.
const (
	StepHeld     StepKind = "Held"
	StepVoted    StepKind = "Voted"
	StepApproved StepKind = "Approved"
	StepRejected StepKind = "Rejected"
	StepTimedOut StepKind = "TimedOut"
	StepUsed     StepKind = "Used"
	StepExpired  StepKind = "Expired"
	StepVoided   StepKind = "Voided"
)

// A Step is one step, as the Recorder sees it.
type Step struct {
	Kind     StepKind
	Approval Approval // as the step leaves it
	Vote     *Vote    // the vote that made the step, nil if none did
	At       time.Time
}

// Waited is how long the call had been held by then.
func (s Step) Waited() time.Duration { return s.At.Sub(s.Approval.CreatedAt) }

// A Recorder writes a step down, durably. If it returns an error the step is
// not taken. It must not call the Desk.
type Recorder func(ctx context.Context, step Step) error

// vote returns the step that a vote makes of a pending approval. The vote was
// checked.
func (a Approval) vote(v Vote) Step {
	a.Votes = append(slices.Clip(a.Votes), v)
	kind := StepVoted
	switch {
	case !v.Approve:
		kind, a.State, a.SettledAt, a.EndedAt = StepRejected, Rejected, v.At, v.At
	case len(a.Votes) >= a.MinimumApprovers: // a rejection would have ended it
		kind, a.State, a.SettledAt = StepApproved, Approved, v.At
	}
	return Step{Kind: kind, Approval: a, Vote: &v, At: v.At}
}

// use returns the step that spends an approved approval.
func (a Approval) use(u Use) Step {
	a.State, a.EndedAt, a.UsedBy = Used, u.At, &u
	return Step{Kind: StepUsed, Approval: a, At: u.At}
}

// lapse returns the step that time has made due, and whether there is one.
func (a Approval) lapse(now time.Time) (Step, bool) {
	state := a.StateAt(now)
	if state == a.State {
		return Step{}, false
	}
	return a.end(state, StepKind(state), now), true
}

// void returns the step that voids a pending or approved approval.
func (a Approval) void(now time.Time) Step { return a.end(Voided, StepVoided, now) }

func (a Approval) end(state State, kind StepKind, now time.Time) Step {
	a.State, a.EndedAt = state, now
	if a.SettledAt.IsZero() {
		a.SettledAt = now
	}
	return Step{Kind: kind, Approval: a, At: now}
}

const (
	serviceAccountPrefix = "system:serviceaccount:"
	maxUserBytes         = 256
	maxViaBytes          = 64
	maxReason            = 1024
)

// check returns why a vote does not count for the approval, nil if it does.
// Names that differ by case only are one person's: identity providers disagree.
func (a Approval) check(v Vote) error {
	same := func(name string) bool { return strings.EqualFold(v.User, name) }
	switch {
	case v.User == "" || len(v.User) > maxUserBytes || strings.TrimSpace(v.User) != v.User ||
		Safe(v.User, maxUserBytes) != v.User || len(v.Via) > maxViaBytes:
		return ErrVoter
	case slices.ContainsFunc(namesOf(a.Requester), same):
		return ErrOwnVote
	case strings.HasPrefix(strings.ToLower(v.User), serviceAccountPrefix):
		return ErrVoter
	case slices.ContainsFunc(a.Votes, func(o Vote) bool { return same(o.User) }):
		return ErrVotedAlready
	}
	return nil
}

// namesOf returns the names under which a caller could turn up as a voter.
func namesOf(c chain.Caller) []string {
	return []string{accountOf(c), c.String(), c.Namespace + ":" + c.ServiceAccount, c.ServiceAccount}
}

func accountOf(c chain.Caller) string {
	return serviceAccountPrefix + c.Namespace + ":" + c.ServiceAccount
}

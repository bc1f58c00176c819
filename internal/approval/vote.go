package approval

import (
	"context"
	"fmt"
)

// Vote adds a person's word to a pending approval and returns what it has made
// of it: one rejection rejects, MinimumApprovers approvals approve. At is set
// here and Reason made Safe. Check first that the user may decide under the
// approval's policy, and is truly who User says.
//
// The vote counts for nothing if the error is a *StateError (nothing is to be
// decided any more), ErrOwnVote, ErrVoter, ErrVotedAlready, ErrElsewhere,
// ErrInStore or ErrNotFound. Waiting callers are released when Vote returns, or before.
func (d *Desk) Vote(ctx context.Context, id string, v Vote) (Approval, error) {
	if d.inStore {
		return Approval{}, ErrInStore
	}
	a, unlock, err := d.open(ctx, id)
	if err != nil {
		return Approval{}, err
	}
	defer unlock()
	now := d.now()
	if state := a.StateAt(now); state != Pending {
		// The voter is answered by what the clock says; Run tries again to
		// record it if it could not be recorded here.
		_, _ = d.lapse(ctx, a)
		return Approval{}, &StateError{ID: a.ID, State: state}
	}
	if a.Replica != d.replica {
		return Approval{}, ErrElsewhere
	}
	v.At, v.Reason, v.Via = now, Safe(v.Reason, maxReason), Safe(v.Via, maxViaBytes)
	if err := a.check(v); err != nil {
		return Approval{}, fmt.Errorf("vote on approval %s: %w", a.ID, err)
	}
	return d.take(ctx, a.vote(v))
}

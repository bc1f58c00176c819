package approval

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Where votes are cast in the store, every replica sees them and one counts
// them: the one that holds the call. The others step in when it does not, for it
// may be gone; of those, the store lets one win.
const (
	// countAfter is when another replica counts votes that nobody counted.
	countAfter = 2 * time.Second
	// lapseAfter is when another replica takes a step that time made due.
	lapseAfter = 30 * time.Second
)

// errUnenforced says that votes are not counted now: nobody guards who casts
// them.
var errUnenforced = errors.New("votes in the store are not guarded now")

// uncounted reports whether people have voted on a pending approval in the
// store and nobody has counted it.
func (a Approval) uncounted() bool { return a.State == Pending && len(a.Cast) > 0 }

// tally counts the votes that were cast on an approval, one step each, in the
// order in which they were cast, until it is decided. A vote that does not count
// is passed over, and stays uncounted. The approval's lock is held.
func (d *Desk) tally(ctx context.Context, a Approval) (Approval, error) {
	var passed []string // users whose votes do not count
	for a.StateAt(d.now()) == Pending {
		i := slices.IndexFunc(a.Cast, func(v Vote) bool { return !slices.Contains(passed, v.User) })
		if i < 0 {
			return a, nil
		}
		if !d.enforced() {
			return a, errUnenforced
		}
		v := a.Cast[i]
		v.At, v.Reason, v.Via = d.now(), Safe(v.Reason, maxReason), Safe(v.Via, maxViaBytes)
		if a.check(v) != nil {
			passed = append(passed, v.User)
			continue
		}
		next := a
		next.Cast = slices.Delete(slices.Clone(a.Cast), i, i+1)
		var err error
		if a, err = d.take(ctx, next.vote(v)); err != nil {
			return Approval{}, err
		}
	}
	return d.lapse(ctx, a)
}

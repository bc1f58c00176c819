package approval

import (
	"context"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/chain"
)

// Wait returns the requester's approval once it is no longer Pending, or the
// error of ctx. An Approved one is not used yet: Ask again for that.
func (d *Desk) Wait(ctx context.Context, id string, requester chain.Caller) (Approval, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		changes := d.store.Watch(ctx, id) // before reading, so that nothing is missed
		a, err := d.Get(ctx, id, requester)
		if err != nil {
			return Approval{}, err
		}
		a, settled, err := d.watch(ctx, a, changes)
		if err != nil || settled {
			return a, err
		}
	}
}

// watch follows an approval until it is settled; false if the changes ended.
func (d *Desk) watch(ctx context.Context, a Approval, changes <-chan Approval) (Approval, bool, error) {
	deadline := time.NewTimer(a.DecideBy.Sub(d.now()))
	defer deadline.Stop()
	for {
		switch a.StateAt(d.now()) {
		case Pending:
		case TimedOut:
			a, err := d.timeOut(ctx, a)
			return a, err == nil, err
		default:
			return a.at(d.now()), true, nil
		}
		select {
		case <-ctx.Done():
			return Approval{}, false, ctx.Err()
		case next, ok := <-changes:
			if !ok {
				return Approval{}, false, ctx.Err()
			}
			a = next
		case <-deadline.C:
		}
	}
}

// timeOut settles an approval whose time to decide is over. A vote that came in
// time and is being recorded still counts, so it waits for its turn; a time-out
// that cannot be recorded or written is one all the same.
func (d *Desk) timeOut(ctx context.Context, seen Approval) (Approval, error) {
	a, unlock, err := d.open(ctx, seen.ID)
	if err != nil {
		if ctx.Err() != nil {
			return Approval{}, ctx.Err()
		}
		return seen.at(d.now()), nil
	}
	defer unlock()
	if lapsed, err := d.lapse(ctx, a); err == nil {
		a = lapsed
	}
	return a.at(d.now()), nil
}

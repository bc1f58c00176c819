package approval

import (
	"context"
	"errors"
	"time"
)

const (
	// retryAfter is the pause before a step that could not be recorded or
	// written is tried again.
	retryAfter = time.Second
	// idle is how long Run sleeps while nothing is due.
	idle = time.Hour
)

// Run takes the steps that time brings, each when it is due: time-outs of the
// calls that this replica holds, and the expiry of approvals that nobody used.
// It counts the votes that were cast in the store. What another replica holds
// and leaves lying it takes up after a while. It returns when ctx ends.
func (d *Desk) Run(ctx context.Context) {
	for ctx.Err() == nil {
		changes := d.store.Watch(ctx, "") // before listing, so that nothing is missed
		open, err := d.store.List(ctx, Filter{States: []State{Pending, Approved}})
		if err != nil {
			pause(ctx, retryAfter)
			continue
		}
		due := make(agenda, len(open))
		for _, a := range open {
			d.plan(due, a)
		}
		d.follow(ctx, due, changes)
	}
}

// An agenda says when each approval has to be looked at, by id.
type agenda map[string]time.Time

func (d *Desk) plan(due agenda, a Approval) {
	if !a.uncounted() {
		d.planLapse(due, a)
		return
	}
	due[a.ID] = d.now()
	if a.Replica != d.replica {
		due[a.ID] = due[a.ID].Add(countAfter)
	}
}

func (d *Desk) planLapse(due agenda, a Approval) {
	at, changes := a.Deadline()
	if !changes {
		delete(due, a.ID)
		return
	}
	if a.Replica != d.replica {
		at = at.Add(lapseAfter)
	}
	due[a.ID] = at
}

// next returns what has to be looked at first, and when.
func (g agenda) next(now time.Time) (id string, wait time.Duration) {
	wait = idle
	for i, at := range g {
		if left := at.Sub(now); left < wait {
			id, wait = i, left
		}
	}
	return id, wait
}

// follow works the agenda off until the changes end.
func (d *Desk) follow(ctx context.Context, due agenda, changes <-chan Approval) {
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		id, wait := due.next(d.now())
		timer.Reset(wait)
		select {
		case a, ok := <-changes:
			if !ok {
				return
			}
			d.plan(due, a)
		case <-timer.C:
			d.look(ctx, due, id)
		}
	}
}

// look takes the step that has come due for one approval and plans the next
// look. What fails is tried again.
func (d *Desk) look(ctx context.Context, due agenda, id string) {
	if id == "" {
		return
	}
	a, unlock, err := d.open(ctx, id)
	if err == nil {
		a, err = d.tally(ctx, a)
		unlock()
	}
	switch {
	case err == nil:
		d.planLapse(due, a) // votes that are left do not count
	case errors.Is(err, ErrNotFound):
		delete(due, id)
	default:
		due[id] = d.now().Add(retryAfter)
	}
}

func pause(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

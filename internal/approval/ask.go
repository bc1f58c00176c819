package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// maxRaces bounds how often a request that lost to another replica tries anew.
const maxRaces = 8

// Ask rules on a call that hooks want a person to decide:
//
//   - Refused, if a rejection of this call stands;
//   - Passed, if it was approved and can still be used: the approval that
//     Consent.ID names, or the oldest one if it names none. It is Used now;
//   - Held, by the approval that waits for this call already;
//   - TooMany, if the caller has MaxPending others waiting;
//   - Held, by a new approval.
//
// Requests of one caller are ruled on one after another. Whoever has given up
// (ctx) uses nothing. An error means that the call must not pass; ErrUnavailable
// is among its causes if the store could not be used, and the Recorder's own
// error if a step could not be recorded.
func (d *Desk) Ask(ctx context.Context, r Request) (Ruling, error) {
	if err := r.check(); err != nil {
		return Ruling{}, err
	}
	digest, err := r.Binding.Digest(d.key)
	if err != nil {
		return Ruling{}, err
	}
	unlock, err := d.locks.lock(ctx, "caller "+r.Binding.Caller.String())
	if err != nil {
		return Ruling{}, err
	}
	defer unlock()
	for range maxRaces {
		ruling, err := d.rule(ctx, &r, digest)
		if !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) {
			return ruling, err
		}
	}
	return Ruling{}, fmt.Errorf("rule on held call: %w", ErrUnavailable)
}

func (d *Desk) rule(ctx context.Context, r *Request, digest string) (Ruling, error) {
	same, err := d.store.List(ctx, Filter{
		Digest:    digest,
		Requester: r.Binding.Caller,
		States:    []State{Pending, Approved, Rejected},
	})
	if err != nil {
		return Ruling{}, storeError("list approvals of the call", err)
	}
	now := d.now()
	if i := slices.IndexFunc(same, func(a Approval) bool { return a.rejectionStandsAt(now) }); i >= 0 {
		return Ruling{Outcome: Refused, Approval: same[i]}, nil
	}
	if a, ok := usable(same, r.Consent.ID, now); ok {
		return d.use(ctx, r, a.ID)
	}
	a, ok := inState(same, Pending, now)
	if !ok {
		if a, ok, err = d.hold(ctx, r, digest); err != nil {
			return Ruling{}, err
		}
		if !ok {
			return Ruling{Outcome: TooMany}, nil
		}
	}
	if r.flagConfirms() {
		return d.useByFlag(ctx, r, a.ID)
	}
	return Ruling{Outcome: Held, Approval: a}, nil
}

// usable returns the approved approval with the id, or the oldest one if no id
// is given.
func usable(same []Approval, id string, now time.Time) (Approval, bool) {
	if id == "" {
		return inState(same, Approved, now)
	}
	i := slices.IndexFunc(same, func(a Approval) bool { return a.ID == id && a.StateAt(now) == Approved })
	if i < 0 {
		return Approval{}, false
	}
	return same[i], true
}

func inState(same []Approval, state State, now time.Time) (Approval, bool) {
	i := slices.IndexFunc(same, func(a Approval) bool { return a.StateAt(now) == state })
	if i < 0 {
		return Approval{}, false
	}
	return same[i], true
}

// hold makes a new approval; false if the caller has too many waiting.
func (d *Desk) hold(ctx context.Context, r *Request, digest string) (Approval, bool, error) {
	waiting, err := d.store.List(ctx, Filter{Requester: r.Binding.Caller, States: []State{Pending}})
	if err != nil {
		return Approval{}, false, storeError("list pending approvals", err)
	}
	now := d.now()
	waiting = slices.DeleteFunc(waiting, func(a Approval) bool { return a.StateAt(now) != Pending })
	if len(waiting) >= r.MaxPending {
		return Approval{}, false, nil
	}
	a := r.approval(digest, d.replica, now)
	if err := d.writeDown(ctx, Step{Kind: StepHeld, Approval: a, At: now}); err != nil {
		return Approval{}, false, err
	}
	ctx = context.WithoutCancel(ctx)
	held, err := d.store.Create(ctx, a)
	if err != nil {
		// It never came to be: close it in the record too. The denial stands
		// whether or not that can be recorded.
		_ = d.writeDown(ctx, a.void(d.now()))
		return Approval{}, false, fmt.Errorf("hold call: %w: %w", ErrUnavailable, err)
	}
	return held, true, nil
}

// use spends an approved approval for a request.
func (d *Desk) use(ctx context.Context, r *Request, id string) (Ruling, error) {
	a, unlock, err := d.open(ctx, id)
	if err != nil {
		return Ruling{}, err
	}
	defer unlock()
	return d.spend(ctx, r, a)
}

// useByFlag lets the agent's own word approve a pending approval, and spends it.
func (d *Desk) useByFlag(ctx context.Context, r *Request, id string) (Ruling, error) {
	a, unlock, err := d.open(ctx, id)
	if err != nil {
		return Ruling{}, err
	}
	defer unlock()
	now := d.now()
	if a.StateAt(now) == Pending {
		v := Vote{User: accountOf(a.Requester), Approve: true, At: now, Via: ViaAgent}
		if a, err = d.take(ctx, a.vote(v)); err != nil {
			return Ruling{}, err
		}
	}
	return d.spend(ctx, r, a)
}

// spend makes an approved approval Used. The write comes first: of all who try,
// one wins. The approval's lock is held.
func (d *Desk) spend(ctx context.Context, r *Request, a Approval) (Ruling, error) {
	now := d.now()
	if a.StateAt(now) != Approved {
		return Ruling{}, fmt.Errorf("use approval: %w", ErrConflict) // changed since it was listed
	}
	if err := ctx.Err(); err != nil {
		return Ruling{}, err
	}
	step := a.use(Use{DecisionID: r.DecisionID, Replica: d.replica, At: now})
	used, err := d.store.Update(ctx, step.Approval)
	if err != nil {
		return Ruling{}, storeError("use approval", err)
	}
	step.Approval = used
	if err := d.writeDown(context.WithoutCancel(ctx), step); err != nil {
		return Ruling{}, err
	}
	return Ruling{Outcome: Passed, Approval: used}, nil
}

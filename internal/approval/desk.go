package approval

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/chain"
)

// Options are what a Desk is made of. Store and Record are required.
type Options struct {
	Store  Store
	Record Recorder
	// Key is that of Binding.Digest, MinKeyBytes or more. Replicas that share
	// a Store share it. Nil makes one that ends with the process: right for a
	// store that does so too.
	Key []byte
	// Replica names this replica in approvals and their uses.
	Replica string
	// VotesInStore says that people vote in the Store itself and not at the
	// desk, which counts what they cast.
	VotesInStore bool
	// Enforced reports whether the Store's votes are guarded now, so that
	// whoever a vote names did cast it. What is cast meanwhile is counted when
	// it says so again. Nil: they always are.
	Enforced func() bool
	// Now is the clock: time.Now if nil. Its times should carry a monotonic
	// reading, as those of time.Now do.
	Now func() time.Time
}

// A Desk is where held calls wait and people decide. It is safe for concurrent
// use.
type Desk struct {
	store   Store
	record  Recorder
	key     []byte
	replica string
	now     func() time.Time
	inStore bool
	guarded func() bool
	locks   locks // one for each approval, one for each caller that asks

	mu   sync.Mutex
	owed map[string]Approval // recorded, but not written yet; by id
}

// New returns a desk. Start its Run too.
func New(opts Options) (*Desk, error) {
	if opts.Store == nil || opts.Record == nil {
		return nil, errors.New("make approval desk: it needs a store and a recorder")
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Key == nil {
		opts.Key = make([]byte, MinKeyBytes)
		rand.Read(opts.Key) // never fails
	}
	if len(opts.Key) < MinKeyBytes {
		return nil, fmt.Errorf("make approval desk: key is shorter than %d bytes", MinKeyBytes)
	}
	return &Desk{
		store:   opts.Store,
		record:  opts.Record,
		key:     slices.Clone(opts.Key),
		replica: opts.Replica,
		now:     opts.Now,
		inStore: opts.VotesInStore,
		guarded: opts.Enforced,
		owed:    make(map[string]Approval),
	}, nil
}

// Get returns an approval to its own requester, in the state it is in now.
// Anybody else gets ErrNotFound, as for one that never was.
func (d *Desk) Get(ctx context.Context, id string, requester chain.Caller) (Approval, error) {
	a, err := d.store.Get(ctx, id)
	if err != nil {
		return Approval{}, storeError("read approval", err)
	}
	if a.Requester != requester {
		return Approval{}, ErrNotFound
	}
	return a.at(d.now()), nil
}

// List returns the approvals in any of the states, in all if none is given,
// oldest first. It is for approvers: check that the asker is one.
func (d *Desk) List(ctx context.Context, states ...State) ([]Approval, error) {
	all, err := d.store.List(ctx, Filter{})
	if err != nil {
		return nil, storeError("list approvals", err)
	}
	now := d.now()
	found := make([]Approval, 0, len(all))
	for _, a := range all {
		if a = a.at(now); len(states) == 0 || slices.Contains(states, a.State) {
			found = append(found, a)
		}
	}
	return found, nil
}

// Changes sends every approval that is held, voted on or moved, as that step
// left it. A reader that is slow misses steps in between, never the last one of
// an approval; one that is far too slow finds the channel closed, as at the end
// of ctx. It never holds anybody up.
func (d *Desk) Changes(ctx context.Context) <-chan Approval { return d.store.Watch(ctx, "") }

// Void voids each pending or approved approval of this replica that match
// chooses, and returns how many. For policies that changed or went away: an approval under another
// chain digest serves no call anyway, but people should not be asked in vain.
// It goes on after an error and returns all of them.
func (d *Desk) Void(ctx context.Context, match func(Approval) bool) (int, error) {
	open, err := d.store.List(ctx, Filter{States: []State{Pending, Approved}})
	if err != nil {
		return 0, storeError("list open approvals", err)
	}
	voided, errs := 0, []error(nil)
	for _, a := range open {
		if a.Replica != d.replica || !match(a) {
			continue
		}
		switch after, err := d.void(ctx, a.ID); {
		case err != nil:
			errs = append(errs, fmt.Errorf("void approval %s: %w", a.ID, err))
		case after.State == Voided:
			voided++
		}
	}
	return voided, errors.Join(errs...)
}

func (d *Desk) void(ctx context.Context, id string) (Approval, error) {
	a, unlock, err := d.open(ctx, id)
	if err != nil {
		return Approval{}, err
	}
	defer unlock()
	if a, err = d.lapse(ctx, a); err != nil || a.State.IsEnd() {
		return a, err
	}
	return d.take(ctx, a.void(d.now()))
}

// open locks an approval and reads it.
func (d *Desk) open(ctx context.Context, id string) (a Approval, unlock func(), err error) {
	unlock, err = d.locks.lock(ctx, "approval "+id)
	if err != nil {
		return Approval{}, nil, err
	}
	if a, err = d.read(ctx, id); err != nil {
		unlock()
		return Approval{}, nil, err
	}
	return a, unlock, nil
}

// read returns an approval as its last recorded step left it: a step whose
// write failed is written now. The approval's lock is held.
func (d *Desk) read(ctx context.Context, id string) (Approval, error) {
	a, err := d.store.Get(ctx, id)
	if err != nil {
		return Approval{}, storeError("read approval", err)
	}
	if next, owed := d.owes(id); owed {
		if next.Version == a.Version {
			return d.write(ctx, next)
		}
		d.settle(id) // written after all, or overtaken
	}
	return a, nil
}

// take records a step and then writes what it leaves. The approval's lock is
// held.
func (d *Desk) take(ctx context.Context, s Step) (Approval, error) {
	if err := d.writeDown(ctx, s); err != nil {
		return Approval{}, err
	}
	d.owe(s.Approval)
	return d.write(context.WithoutCancel(ctx), s.Approval)
}

// writeDown records a step. Whoever gives up does so before: a record cut short
// might be there all the same, and stand there twice in the end.
func (d *Desk) writeDown(ctx context.Context, s Step) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.record(context.WithoutCancel(ctx), s); err != nil {
		return fmt.Errorf("record approval step %s: %w", s.Kind, err)
	}
	return nil
}

func (d *Desk) write(ctx context.Context, next Approval) (Approval, error) {
	a, err := d.store.Update(ctx, next)
	if err == nil || errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) {
		d.settle(next.ID)
	}
	if err != nil {
		return Approval{}, storeError("write approval", err)
	}
	return a, nil
}

// lapse takes the step that time has made due, if there is one and the approval
// is this replica's or its own one has not taken it. The approval's lock is held.
func (d *Desk) lapse(ctx context.Context, a Approval) (Approval, error) {
	now := d.now()
	s, due := a.lapse(now)
	if !due {
		return a, nil
	}
	if deadline, _ := a.Deadline(); a.Replica != d.replica && !past(now, deadline.Add(lapseAfter)) {
		return a, nil
	}
	return d.take(ctx, s)
}

func (d *Desk) enforced() bool { return d.guarded == nil || d.guarded() }

func (d *Desk) owe(a Approval) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.owed[a.ID] = a
}

func (d *Desk) owes(id string) (Approval, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a, ok := d.owed[id]
	return a, ok
}

func (d *Desk) settle(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.owed, id)
}

// storeError makes every error of a store one that callers know: what is
// neither ErrNotFound nor ErrConflict nor the context's end is ErrUnavailable.
func storeError(doing string, err error) error {
	for _, known := range []error{ErrNotFound, ErrConflict, ErrUnavailable, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return fmt.Errorf("%s: %w", doing, err)
		}
	}
	return fmt.Errorf("%s: %w: %w", doing, ErrUnavailable, err)
}

package approval

import (
	"context"
	"sync"
)

// maxQueued bounds the approvals that wait for one slow reader of a Feed.
const maxQueued = 4096

// A Feed is Store.Watch for stores: it spreads changes without ever waiting
// for a reader. The zero value is ready.
type Feed struct {
	mu   sync.Mutex
	subs map[string]map[*subscriber]struct{} // by approval id; "" wants all
}

// Subscribe returns the changes that are published from now on: see
// Store.Watch.
func (f *Feed) Subscribe(ctx context.Context, id string) <-chan Approval {
	s := &subscriber{wake: make(chan struct{}, 1), queued: make(map[string]Approval)}
	f.mu.Lock()
	if f.subs == nil {
		f.subs = make(map[string]map[*subscriber]struct{})
	}
	if f.subs[id] == nil {
		f.subs[id] = make(map[*subscriber]struct{})
	}
	f.subs[id][s] = struct{}{}
	f.mu.Unlock()

	out := make(chan Approval)
	go func() {
		defer close(out)
		defer f.remove(id, s)
		s.pump(ctx, out)
	}()
	return out
}

// Publish sends a change to whoever wants it. Changes of one approval must be
// published in the order in which they happened.
func (f *Feed) Publish(a Approval) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range [...]string{a.ID, ""} {
		for s := range f.subs[id] {
			s.put(a)
		}
	}
}

func (f *Feed) remove(id string, s *subscriber) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.subs[id], s)
	if len(f.subs[id]) == 0 {
		delete(f.subs, id)
	}
}

// A subscriber queues the latest change of each approval for one reader.
type subscriber struct {
	wake chan struct{} // holds a token while there is something to see

	mu       sync.Mutex
	queued   map[string]Approval
	order    []string // ids of queued, first changed first
	overflow bool
}

func (s *subscriber) put(a Approval) {
	s.mu.Lock()
	if _, waits := s.queued[a.ID]; !waits {
		s.order = append(s.order, a.ID)
	}
	s.queued[a.ID] = a
	if len(s.order) > maxQueued {
		s.overflow, s.order = true, nil
		clear(s.queued)
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *subscriber) take() (a Approval, ok, overflow bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.overflow || len(s.order) == 0 {
		return Approval{}, false, s.overflow
	}
	id := s.order[0]
	s.order = s.order[1:]
	a = s.queued[id]
	delete(s.queued, id)
	return a, true, false
}

// pump sends until ctx ends or the reader was too slow.
func (s *subscriber) pump(ctx context.Context, out chan<- Approval) {
	for {
		a, ok, overflow := s.take()
		switch {
		case overflow:
			return
		case ok:
			select {
			case out <- a:
			case <-ctx.Done():
				return
			}
		default:
			select {
			case <-s.wake:
			case <-ctx.Done():
				return
			}
		}
	}
}

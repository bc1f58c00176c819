package engine

import (
	"context"
	"sync"

	"github.com/hookpolicy/hookpolicy/internal/chain"
)

// eventBuffer is how many events a subscriber may lag behind before it is cut
// off. A front end that reconnects asks for the state of its approvals.
const eventBuffer = 64

// hub hands each caller's events to whoever listens for that caller.
type hub struct {
	mu          sync.Mutex
	subscribers map[chain.Caller]map[chan Event]bool
}

// subscribe returns the caller's events from now on. The channel is closed
// when ctx is done, or when the subscriber lags too far behind.
func (h *hub) subscribe(ctx context.Context, caller chain.Caller) <-chan Event {
	ch := make(chan Event, eventBuffer)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subscribers == nil {
		h.subscribers = make(map[chain.Caller]map[chan Event]bool)
	}
	if h.subscribers[caller] == nil {
		h.subscribers[caller] = make(map[chan Event]bool)
	}
	h.subscribers[caller][ch] = true
	context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.drop(caller, ch)
	})
	return ch
}

// publish never blocks: a subscriber whose buffer is full is cut off.
func (h *hub) publish(caller chain.Caller, e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.subscribers[caller] {
		select {
		case ch <- e:
		default:
			h.drop(caller, ch)
		}
	}
}

// drop closes a subscriber's channel, once. The lock is held.
func (h *hub) drop(caller chain.Caller, ch chan Event) {
	if !h.subscribers[caller][ch] {
		return
	}
	delete(h.subscribers[caller], ch)
	if len(h.subscribers[caller]) == 0 {
		delete(h.subscribers, caller)
	}
	close(ch)
}

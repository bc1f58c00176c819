package engine

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// A settled answer is given again to a retry for repeatFor, and at most
// maxRepeats of them are remembered, with maxRepeatBytes of arguments: nobody
// fills the memory with calls that only look like ones to be retried.
const (
	repeatFor      = time.Minute
	maxRepeats     = 16_384
	maxRepeatBytes = 32 << 20
)

// repeats remembers settled answers by caller and call id, so that a retry of
// a call whose answer was lost does not decide, or approve, a second time.
//
// Settled answers stand in two generations. A full or old younger one takes
// the place of the older one: dropping answers needs no walk and no timer.
type repeats struct {
	mu      sync.Mutex
	running map[repeatKey]*repeat // bounded by what the server has in flight
	younger map[repeatKey]*repeat
	older   map[repeatKey]*repeat
	born    time.Time // of the younger generation
	bytes   int       // of arguments in the younger generation
}

type repeatKey struct {
	caller chain.Caller
	id     string
}

type repeat struct {
	content  [sha256.Size]byte
	digest   string               // of the chain that decided
	done     chan struct{}        // closed when the first attempt has ended; nil while nobody waits for that
	response *decisionv1.Response // nil while running, and when it settled nothing
	expires  time.Time
}

// contentOf hashes everything that makes two requests the same call.
func (a *attempt) contentOf() ([sha256.Size]byte, error) {
	args, err := a.canonicalArgs()
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	var resolved any
	if len(a.req.Resolved) > 0 {
		texts := make(map[string]any, len(a.req.Resolved))
		for k, v := range a.req.Resolved {
			texts[k] = v
		}
		resolved = texts
	}
	// The arguments are one JSON value, so where they end is not in doubt.
	var room [1024]byte
	b, err := strictjson.Append(append(room[:0], args...), []any{a.req.Tool, a.req.Hints, resolved, a.req.Session})
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("write the call in canonical form: %w", err)
	}
	return sha256.Sum256(b), nil
}

// begin claims an id for a new attempt, or returns the earlier attempt that
// has it. An attempt that was begun must be ended.
func (r *repeats) begin(key repeatKey, content [sha256.Size]byte, digest string, now time.Time) (mine, earlier *repeat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.running[key]; e != nil {
		if e.done == nil {
			e.done = make(chan struct{})
		}
		return nil, e
	}
	for _, generation := range []map[repeatKey]*repeat{r.younger, r.older} {
		// Under another chain the same call is decided anew; another call
		// under the same id is an error whatever the chain.
		if e := generation[key]; e != nil && now.Before(e.expires) && (e.digest == digest || e.content != content) {
			return nil, e
		}
	}
	if r.running == nil {
		r.running = make(map[repeatKey]*repeat)
	}
	mine = &repeat{content: content, digest: digest}
	r.running[key] = mine
	return mine, nil
}

// end gives up an attempt's id, or keeps its settled answer for later ones.
func (r *repeats) end(key repeatKey, mine *repeat, settled *decisionv1.Response, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, key)
	if settled != nil {
		full := len(r.younger) >= maxRepeats/2 || r.bytes >= maxRepeatBytes/2
		if r.younger == nil || full || now.Sub(r.born) >= repeatFor {
			r.older, r.younger, r.born, r.bytes = r.younger, make(map[repeatKey]*repeat, len(r.younger)), now, 0
		}
		r.bytes += len(settled.Args)
		mine.response, mine.expires = settled, now.Add(repeatFor)
		r.younger[key] = mine
	}
	if mine.done != nil {
		close(mine.done)
	}
}

// expire forgets the answers that no retry gets any more.
func (r *repeats) expire(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.born) >= repeatFor {
		r.older, r.younger, r.born, r.bytes = r.younger, nil, now, 0
	}
}

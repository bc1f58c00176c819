package server

import (
	"sync"

	"github.com/hookpolicy/hookpolicy/internal/chain"
)

// A limiter bounds how many requests are in work, in all and by caller, so
// that one tenant's flood leaves room for the others. What is above the bound
// is refused at once: an agent that waits in an unseen queue helps nobody.
type limiter struct {
	max, perCaller int

	mu    sync.Mutex
	total int
	by    map[chain.Caller]int
}

func newLimiter(limit, perCaller int) *limiter {
	return &limiter{max: limit, perCaller: min(perCaller, limit), by: make(map[chain.Caller]int)}
}

func (l *limiter) acquire(c chain.Caller) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.by[c]
	switch {
	case n >= l.perCaller:
		return refuse(CodeCallerBusy, "too many requests of this caller are in work")
	case l.total >= l.max:
		return refuse(CodeBusy, "too many requests are in work")
	}
	l.total++
	l.by[c] = n + 1
	return nil
}

func (l *limiter) release(c chain.Caller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if n := l.by[c]; n > 1 {
		l.by[c] = n - 1
	} else {
		delete(l.by, c)
	}
}

func (l *limiter) inUse() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

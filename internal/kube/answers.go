package kube

import (
	"crypto/sha256"
	"sync"
	"time"
)

// An answers is a cache: it keeps each answer for a time, and no more than size of them.
type answers[V any] struct {
	size int

	mu    sync.Mutex
	known map[[sha256.Size]byte]answer[V]
}

type answer[V any] struct {
	value V
	until time.Time
}

func newAnswers[V any](size int) *answers[V] {
	return &answers[V]{size: size, known: make(map[[sha256.Size]byte]answer[V])}
}

func (c *answers[V]) get(key [sha256.Size]byte, now time.Time) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.known[key]
	if !ok || !now.Before(a.until) {
		var none V
		return none, false
	}
	return a.value, true
}

// put keeps an answer. A full one gives up what has ended, and if that is
// nothing, whatever comes first.
func (c *answers[V]) put(key [sha256.Size]byte, value V, now, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= c.size {
		c.sweep(now)
	}
	if len(c.known) >= c.size {
		for k := range c.known {
			delete(c.known, k)
			break
		}
	}
	c.known[key] = answer[V]{value: value, until: until}
}

func (c *answers[V]) sweep(now time.Time) {
	for k, a := range c.known {
		if !now.Before(a.until) {
			delete(c.known, k)
		}
	}
}

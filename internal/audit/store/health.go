package store

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// health is what the last attempt to write came to.
type health struct {
	bad    atomic.Bool
	mu     sync.Mutex
	err    error
	probed time.Time
}

func (h *health) failed(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
	h.bad.Store(true)
}

func (h *health) worked() {
	if !h.bad.Load() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = nil
	h.bad.Store(false)
}

const (
	probeInterval = time.Second
	probeBytes    = 64 << 10
)

// Ready returns nil if the last attempt to write worked, ErrUnavailable if it
// did not. It needs no traffic to find out that the disk is back: at most once
// a second it tries to write by itself.
func (l *Log) Ready() error {
	l.closeMu.RLock()
	closed := l.closed
	l.closeMu.RUnlock()
	if closed {
		return ErrClosed
	}
	h := &l.health
	if !h.bad.Load() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := l.clock(); now.Sub(h.probed) >= probeInterval {
		h.probed = now
		if h.err = l.probe(); h.err == nil {
			h.bad.Store(false)
		}
	}
	if h.err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, h.err)
	}
	return nil
}

// probe writes as much as a large record takes, and frees it again.
func (l *Log) probe() error {
	f, err := l.fs.OpenFile(probeName, os.O_CREATE, filePerm)
	if err != nil {
		return fmt.Errorf("open %s: %w", probeName, err)
	}
	err = writeAll(f, make([]byte, probeBytes), 0)
	if err == nil {
		err = f.Datasync()
	}
	_ = f.Truncate(0) // frees space; what it could tell, the write told
	_ = f.Close()
	if err != nil {
		return fmt.Errorf("write %s: %w", probeName, err)
	}
	return nil
}

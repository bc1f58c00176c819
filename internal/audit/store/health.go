package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

// health is what the last attempts to write came to. It logs changes, not
// attempts.
type health struct {
	log    *slog.Logger
	bad    atomic.Bool
	behind atomic.Bool
	mu     sync.Mutex
	err    error
	probed time.Time
}

func (h *health) failed(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
	if !h.bad.Swap(true) {
		h.log.Error("records cannot be written: every decision is denied", "error", err)
	}
}

func (h *health) worked() {
	if !h.bad.Load() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.recovered()
}

// recovered needs mu.
func (h *health) recovered() {
	h.err = nil
	if h.bad.Swap(false) {
		h.log.Info("records can be written again")
	}
}

// gaveUp tells of a segment of the journal that is not written any more.
func (h *health) gaveUp(err error, goesOn bool) {
	if goesOn {
		h.log.Warn("the journal goes on in a new file after an error", "error", err)
	}
}

// fellBehind tells that tenants' files do not have what the journal has. It is
// no reason to deny: the journal keeps it.
func (h *health) fellBehind(err error) {
	if !h.behind.Swap(true) {
		h.log.Warn("tenants' files cannot be written: the journal keeps their records", "error", err)
	}
}

func (h *health) caughtUp() {
	if h.behind.Load() && h.behind.Swap(false) {
		h.log.Info("tenants' files have all records again")
	}
}

func (h *health) refused(tenant string, err error) {
	h.log.Error("a chain is damaged and takes no more records", "tenant", tenant, "error", err)
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
		if errors.Is(h.err, errJournalFull) && l.journal.undrained.Load() > 0 {
			return fmt.Errorf("%w: %w", ErrUnavailable, h.err)
		}
		if h.err = l.probe(); h.err == nil {
			h.recovered()
			l.keepReserve()
		}
	}
	if h.err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, h.err)
	}
	return nil
}

// probe writes as much as a large record takes, and frees it again.
func (l *Log) probe() error {
	f, err := l.fs.OpenFile(layout.Probe, os.O_CREATE, filePerm)
	if err != nil {
		return fmt.Errorf("open %s: %w", layout.Probe, err)
	}
	err = writeAll(f, make([]byte, probeBytes), 0)
	if err == nil {
		err = f.Datasync()
	}
	_ = f.Truncate(0) // frees space; what it could tell, the write told
	_ = f.Close()
	if err != nil {
		return fmt.Errorf("write %s: %w", layout.Probe, err)
	}
	return nil
}

// keepReserve sees to it that the reserve is there. On a disk that has no room
// for it, it does without.
func (l *Log) keepReserve() {
	if l.reserved <= 0 || l.reserve.Load() {
		return
	}
	f, err := l.fs.OpenFile(layout.Reserve, os.O_CREATE, filePerm)
	if err == nil {
		var size int64
		if size, err = f.Size(); err == nil && size < l.reserved {
			err = f.Allocate(l.reserved)
		}
		if err == nil {
			err = f.Datasync()
		}
		_ = f.Close() // it was synced
	}
	if err != nil {
		_ = l.fs.Remove(layout.Reserve) // half of it is no use
		l.logger.Warn("there is no room for a reserve: a full disk will not hold the last records", "bytes", l.reserved, "error", err)
		return
	}
	l.reserve.Store(true)
}

// freeReserve gives the reserve's space to what must be written now. It reports
// whether that freed any.
func (l *Log) freeReserve() bool {
	if l.reserved <= 0 {
		return false
	}
	l.reserve.Store(false)
	err := l.fs.Remove(layout.Reserve)
	if err == nil {
		l.logger.Warn("the reserve is used up for the last records")
	} else if !errors.Is(err, fs.ErrNotExist) {
		l.logger.Warn("the reserve cannot be used", "error", err)
	}
	return err == nil
}

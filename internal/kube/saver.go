package kube

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// How often the state is written. A write that takes long makes the next one
// wait ten times as long, so that thousands of policies do not keep the disk
// from the audit log.
const (
	saveEvery    = time.Second
	savePatience = 10
	// confirmEvery is how often an unchanged state is written anew, so that its
	// age says when it was last known to be current.
	confirmEvery = 15 * time.Minute
)

// A saver keeps the file of the last good policies.
type saver struct {
	path    string
	log     *slog.Logger
	current func() bool // whether the API server is being listened to
	wake    chan struct{}

	mu    sync.Mutex
	lists *[kinds][]*entry // what is in force; nil before there is anything
}

func newSaver(path string, log *slog.Logger, current func() bool) *saver {
	return &saver{path: path, log: log, current: current, wake: make(chan struct{}, 1)}
}

// offer hands over what is in force.
func (s *saver) offer(lists [kinds][]*entry) {
	s.mu.Lock()
	s.lists = &lists
	s.mu.Unlock()
	s.again()
}

// run writes what is offered until ctx is done, and the last of it then.
func (s *saver) run(ctx context.Context) {
	confirm := time.NewTicker(confirmEvery)
	defer confirm.Stop()
	failed := false
	for {
		select {
		case <-s.wake:
		case <-confirm.C:
			if !s.current() {
				continue
			}
		case <-ctx.Done():
			select {
			case <-s.wake:
				s.write(ctx, failed)
			default:
			}
			return
		}
		start := time.Now()
		if failed = !s.write(ctx, failed); failed {
			s.again()
		}
		sleep(ctx, max(saveEvery, savePatience*time.Since(start)))
	}
}

// write writes what was offered last and reports whether that went well. It
// tells of the first of several failures.
func (s *saver) write(ctx context.Context, failed bool) bool {
	s.mu.Lock()
	lists := s.lists
	s.mu.Unlock()
	if lists == nil {
		return true
	}
	err := writeState(s.path, *lists, time.Now())
	if err != nil && !failed {
		s.log.LogAttrs(ctx, slog.LevelError, "Last good policies cannot be saved; a restart needs the API server", slog.Any("error", err))
	}
	return err == nil
}

func (s *saver) again() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// sleep waits and reports whether ctx is still not done.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

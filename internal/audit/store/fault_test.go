package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

// faults are what can go wrong with a write or a sync, once.
var faults = map[string]struct {
	op    string
	short int
	err   error
}{
	"no space":          {"write", 0, syscall.ENOSPC},
	"no space midway":   {"write", 100, syscall.ENOSPC},
	"quota":             {"write", 7, syscall.EDQUOT},
	"short write":       {"write", 511, nil},
	"write error":       {"write", 0, syscall.EIO},
	"sync error":        {"datasync", 0, syscall.EIO},
	"directory error":   {"syncdir", 0, syscall.EIO},
	"cannot create":     {"open", 0, syscall.EMFILE},
	"cannot make a dir": {"mkdir", 0, syscall.ENOSPC},
}

func TestAFaultLosesNothingAcknowledged(t *testing.T) {
	for name, fault := range faults {
		for nth := 1; nth <= 20; nth++ {
			t.Run(fmt.Sprint(name, " ", nth), func(t *testing.T) {
				t.Parallel()
				fsys := newFaultFS()
				l := open(t, "", store.Options{FS: fsys})
				fsys.setFail(func(op, _ string, n int) (int, error) {
					if op == fault.op && n == nth {
						return fault.short, fault.err
					}
					return 0, nil
				})
				var got acks
				hit := false
				for round := range 30 {
					var wg sync.WaitGroup
					for w := range 3 {
						wg.Go(func() {
							id := fmt.Sprintf("%d-%d", round, w)
							r, err := l.Append(t.Context(), tenant, decision(id))
							switch {
							case err == nil:
								got.add(id, r)
							case errors.Is(err, store.ErrUnavailable):
								got.mu.Lock()
								hit = true
								got.mu.Unlock()
							default:
								t.Error(err)
							}
						})
					}
					wg.Wait()
				}
				if hit && l.Ready() != nil {
					t.Error("not ready after it worked again")
				}
				shut(t, l)
				checkLife(t, fsys, &got, nth)
			})
		}
	}
}

// checkLife verifies what a log has left, and again after a crash and a second
// life.
func checkLife(t *testing.T, fsys *faultFS, got *acks, seed int) {
	t.Helper()
	_, segments := fsys.segments()
	got.check(t, []byte(strings.Join(segments, "")))
	fsys.setFail(nil)
	fsys = fsys.crash(rand.New(rand.NewPCG(uint64(seed), 7)))
	l := open(t, "", store.Options{FS: fsys})
	got.add("second life", add(t, l, "second life"))
	shut(t, l)
	_, segments = fsys.segments()
	got.check(t, []byte(strings.Join(segments, "")))
}

func TestWhatCouldNotBeCutOffAtOnceIsCutOffLater(t *testing.T) {
	fsys := newFaultFS()
	l := open(t, "", store.Options{FS: fsys})
	var got acks
	got.add("a", add(t, l, "a"))
	fsys.setFail(func(op, _ string, n int) (int, error) {
		if n == 1 && (op == "write" || op == "truncate") {
			return 800, syscall.EIO // more than the next record takes
		}
		return 0, nil
	})
	if _, err := l.Append(t.Context(), tenant, decision(strings.Repeat("b", 500))); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("error is %v", err)
	}
	shut(t, l)
	checkLife(t, fsys, &got, 1)
}

func TestWhatWasPlacedBehindAFailedBatchIsPlacedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := newFaultFS()
		l := open(t, "", store.Options{FS: fsys})
		var got acks
		got.add("a", add(t, l, "a"))
		gate := make(chan struct{})
		fsys.block = func(string) { <-gate }
		fsys.setFail(func(op, _ string, n int) (int, error) {
			if op == "datasync" && n == 1 {
				return 0, syscall.EIO
			}
			return 0, nil
		})
		failed := make(chan error, 1)
		go func() {
			_, err := l.Append(t.Context(), tenant, decision("b"))
			failed <- err
		}()
		synctest.Wait() // b is being synced
		behind := make(chan audit.Receipt, 1)
		go func() { behind <- add(t, l, "c") }()
		synctest.Wait() // c has the place after b
		close(gate)
		if err := <-failed; !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("error is %v", err)
		}
		got.add("c", <-behind)
		if seq := got.m["c"].Seq; seq != 2 {
			t.Errorf("c stands at %d", seq)
		}
		shut(t, l)
		checkLife(t, fsys, &got, 1)
	})
}

func TestAfterAFailedSyncTheChainGoesOnInANewSegment(t *testing.T) {
	fsys := newFaultFS()
	l := open(t, "", store.Options{FS: fsys})
	var got acks
	got.add("a", add(t, l, "a"))
	names, _ := fsys.segments()
	poisoned := names[0]
	failed := false
	fsys.setFail(func(op, name string, _ int) (int, error) {
		switch {
		case name != poisoned:
		case op == "write" && failed:
			t.Error("the file is written again")
		case op == "datasync" && !failed:
			failed = true
			return 0, syscall.EIO
		}
		return 0, nil
	})
	if _, err := l.Append(t.Context(), tenant, decision("b")); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, syscall.EIO) {
		t.Errorf("error is %v", err)
	}
	got.add("c", add(t, l, "c"))
	shut(t, l)
	names, segments := fsys.segments()
	if len(names) != 2 || !strings.HasSuffix(names[1], "/00000000000000000002.jsonl") {
		t.Errorf("segments are %v", names)
	}
	if strings.Contains(strings.Join(segments, ""), `"id":"b"`) {
		t.Error("what was refused is in the log")
	}
	checkLife(t, fsys, &got, 1)
}

func TestBytesThatAFailedSyncLeftBehindAreSetAside(t *testing.T) {
	fsys := newFaultFS()
	l := open(t, "", store.Options{FS: fsys})
	var got acks
	got.add("a", add(t, l, "a"))
	names, before := fsys.segments()
	fsys.setFail(func(op, _ string, n int) (int, error) {
		if op == "datasync" && n == 1 {
			return 0, syscall.EIO
		}
		return 0, nil
	})
	if _, err := l.Append(t.Context(), tenant, decision("b")); err == nil {
		t.Fatal("no error")
	}
	got.add("c", add(t, l, "c"))
	shut(t, l)
	// The sync of the cut lied too: the file holds more than it should.
	fsys.setFail(nil)
	n := fsys.entries[names[0]]
	_, now := fsys.segments()
	n.data = append([]byte(before[0]), now[1]...) // any good lines beyond will do
	n.data = n.data[:len(n.data)-3]
	n.synced = n.data

	l = open(t, "", store.Options{FS: fsys})
	got.add("d", add(t, l, "d"))
	shut(t, l)
	_, segments := fsys.segments()
	got.check(t, []byte(strings.Join(segments, "")))
	if segments[0] != before[0] {
		t.Error("the poisoned segment does not end where it was durable")
	}
}

func TestAFullDiskIsNotReadyUntilThereIsSpaceAgain(t *testing.T) {
	fsys := newFaultFS()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := open(t, "", store.Options{FS: fsys, Clock: func() time.Time { return now }})
	add(t, l, "a")
	if err := l.Ready(); err != nil {
		t.Fatal(err)
	}
	fsys.setFail(func(op, _ string, _ int) (int, error) {
		if op == "write" {
			return 0, syscall.ENOSPC
		}
		return 0, nil
	})
	if _, err := l.Append(t.Context(), tenant, decision("b")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error is %v", err)
	}
	for range 3 {
		if err := l.Ready(); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("ready with a full disk: %v", err)
		}
	}
	if n := fsys.count("write"); n != 2 {
		t.Errorf("%d writes: more than one probe in a second", n)
	}
	fsys.setFail(nil)
	if err := l.Ready(); err == nil {
		t.Error("ready without having tried")
	}
	now = now.Add(time.Second)
	if err := l.Ready(); err != nil {
		t.Errorf("not ready though a write would work: %v", err)
	}
	if r := add(t, l, "c"); r.Seq != 2 {
		t.Errorf("receipt is %+v", r)
	}
	shut(t, l)
}

func TestAFileChangedBehindTheLogsBackIsNotContinued(t *testing.T) {
	fsys := newFaultFS()
	l := open(t, "", store.Options{FS: fsys})
	add(t, l, "a")
	fsys.setFail(func(op, _ string, n int) (int, error) {
		if op == "write" && n == 1 {
			return 0, syscall.ENOSPC
		}
		return 0, nil
	})
	if _, err := l.Append(t.Context(), tenant, decision("b")); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("error is %v", err)
	}
	names, _ := fsys.segments()
	fsys.entries[names[0]].data[700] ^= 1
	if _, err := l.Append(t.Context(), tenant, decision("c")); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("error is %v", err)
	}
	shut(t, l)
}

func TestAPowerCutAtAnyMomentLosesNothingAcknowledged(t *testing.T) {
	for seed := range uint64(150) {
		fsys := newFaultFS()
		var got acks
		if !powerCuts(t, fsys, seed, &got) {
			t.Fatalf("seed %d: a torn chain is refused", seed)
		}
	}
}

// A disk that writes later sectors before earlier ones can leave a batch that
// looks like damage to what was durable. Such a chain may be refused; it is
// never continued with a hole.
func TestAPowerCutOnAReorderingDiskIsNeverSilent(t *testing.T) {
	refused := 0
	const seeds = 150
	for seed := range uint64(seeds) {
		fsys := newFaultFS()
		fsys.reorders = true
		var got acks
		if !powerCuts(t, fsys, seed, &got) {
			refused++
		}
	}
	if refused == 0 || refused == seeds {
		t.Errorf("%d of %d refused: the test does not test", refused, seeds)
	}
}

// powerCuts lets a log live and be cut off three times and then checks what is
// left. It returns false if the chain was refused.
func powerCuts(t *testing.T, fsys *faultFS, seed uint64, got *acks) (continued bool) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 3))
	for life := range 3 {
		fsys, continued = cutLife(t, fsys, rnd, life, got)
		if !continued {
			return false
		}
	}
	l := open(t, "", store.Options{FS: fsys})
	r, err := l.Append(t.Context(), tenant, decision("last"))
	if errors.Is(err, store.ErrCorrupt) {
		shut(t, l)
		return false
	}
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	got.add("last", r)
	shut(t, l)
	_, segments := fsys.segments()
	got.check(t, []byte(strings.Join(segments, "")))
	if t.Failed() {
		t.Fatalf("seed %d", seed)
	}
	return true
}

// cutLife is a life in which all operations fail from some moment on: the
// process is cut off there, its files are as the crash leaves them.
func cutLife(t *testing.T, fsys *faultFS, rnd *rand.Rand, life int, got *acks) (*faultFS, bool) {
	t.Helper()
	l := open(t, "", store.Options{FS: fsys})
	until := 1 + rnd.IntN(60)
	fsys.setFail(func(string, string, int) (int, error) {
		if until--; until < 0 {
			return 0, errIO
		}
		return 0, nil
	})
	var corrupt atomic.Bool
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := range 8 {
				id := fmt.Sprintf("%d-%d-%d", life, w, i)
				r, err := l.Append(t.Context(), tenant, decision(id))
				switch {
				case err == nil:
					got.add(id, r)
				case errors.Is(err, store.ErrCorrupt):
					corrupt.Store(true)
				case !errors.Is(err, store.ErrUnavailable):
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	left := fsys.crash(rnd)
	_ = l.Close(t.Context()) // of the process that is dead already
	return left, !corrupt.Load()
}

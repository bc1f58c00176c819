package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
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
	"cannot rename":     {"rename", 0, syscall.EIO},
	"cannot remove":     {"remove", 0, syscall.EIO},
	"file too large":    {"write", 512, syscall.EFBIG},
	"read-only":         {"write", 0, syscall.EROFS},
}

func TestAFaultLosesNothingAcknowledged_T12_T14_T15_T17(t *testing.T) {
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

// failing returns what makes the next n calls of some operations on the journal
// fail, and the files on which they failed.
func failing(fsys *faultFS, n int, err error, ops ...string) (failed map[string]bool) {
	failed = map[string]bool{}
	fsys.setFail(func(op, name string, _ int) (int, error) {
		if n > 0 && slices.Contains(ops, op) && strings.HasPrefix(name, "journal/") {
			n--
			failed[name] = true
			return 0, err
		}
		return 0, nil
	})
	return failed
}

func TestWhatWasPlacedBehindAFailedBatchIsPlacedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := newFaultFS()
		l := open(t, "", store.Options{FS: fsys})
		var got acks
		got.add("a", add(t, l, "a"))
		gate := make(chan struct{})
		fsys.block = func(string) { <-gate }
		failing(fsys, 2, syscall.EIO, "datasync")
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

func TestAFailedSyncIsNeverTriedAgainOnTheSameFile_T12(t *testing.T) {
	for nth := range 20 {
		fsys := newFaultFS()
		l := open(t, "", store.Options{FS: fsys})
		var got acks
		for i := range nth {
			got.add(fmt.Sprint(i), add(t, l, fmt.Sprint(i)))
		}
		names, before := fsys.journal()
		fsys.mu.Lock()
		poisoned := fsys.entries[names[len(names)-1]]
		fsys.mu.Unlock()
		failed := failing(fsys, 1, syscall.EIO, "datasync")
		got.add("b", add(t, l, "b"))
		if len(failed) != 1 {
			t.Fatal("no sync has failed")
		}
		fsys.setFail(func(op, name string, _ int) (int, error) {
			if fsys.entries[name] == poisoned && (op == "write" || op == "datasync") {
				t.Errorf("%s of a file whose sync has failed", op)
			}
			return 0, nil
		})
		got.add("c", add(t, l, "c"))
		fsys.mu.Lock()
		left := string(poisoned.data)
		fsys.mu.Unlock()
		if nth > 0 && left != before[len(before)-1] {
			t.Error("the file that failed holds more than was durable")
		}
		// What the kernel says of that file it has not written: it is not there
		// after a power cut, and nothing depends on it.
		cut := fsys.powerCut()
		shut(t, l)
		checkLife(t, cut, &got, nth)
	}
}

func TestTwoFailedSyncsDenyUntilOneWorks_T13(t *testing.T) {
	fsys := newFaultFS()
	var said bytes.Buffer
	l := open(t, "", store.Options{FS: fsys, Logger: slog.New(slog.NewTextHandler(&said, nil))})
	var got acks
	got.add("a", add(t, l, "a"))
	fsys.setFail(func(op, _ string, _ int) (int, error) {
		if op == "datasync" {
			return 0, syscall.EIO
		}
		return 0, nil
	})
	for range 10 {
		if _, err := l.Append(t.Context(), tenant, decision("b")); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, syscall.EIO) {
			t.Errorf("error is %v", err)
		}
	}
	if err := l.Ready(); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("ready with a dead disk: %v", err)
	}
	fsys.setFail(nil)
	got.add("c", add(t, l, "c"))
	if err := l.Ready(); err != nil || got.m["c"].Seq != 2 {
		t.Errorf("after it: %v, %+v", err, got.m["c"])
	}
	shut(t, l)
	checkLife(t, fsys, &got, 1)
	for what, want := range map[string]int{"cannot be written: every": 1, "can be written again": 1} {
		if n := strings.Count(said.String(), what); n != want {
			t.Errorf("%q is said %d times:\n%s", what, n, &said)
		}
	}
}

func TestADiskThatIsDeadAtTheEndIsAnErrorOfClose_T13(t *testing.T) {
	fsys := newFaultFS()
	l := open(t, "", store.Options{FS: fsys})
	var got acks
	got.add("a", add(t, l, "a"))
	fsys.setFail(func(op, _ string, _ int) (int, error) {
		if op == "datasync" {
			return 0, syscall.EIO
		}
		return 0, nil
	})
	if err := l.Close(t.Context()); !errors.Is(err, syscall.EIO) {
		t.Errorf("error is %v", err)
	}
	checkLife(t, fsys.powerCut(), &got, 1)
}

// checkLife verifies what a log has left, and again after a crash and a second
// life.
func checkLife(t *testing.T, fsys *faultFS, got *acks, seed int) {
	t.Helper()
	fsys.setFail(nil)
	fsys = fsys.crash(rand.New(rand.NewPCG(uint64(seed), 7)))
	l := open(t, "", store.Options{FS: fsys})
	got.add("second life", add(t, l, "second life"))
	shut(t, l)
	_, segments := fsys.segments()
	got.check(t, []byte(strings.Join(segments, "")))
}

func TestAFullDiskIsNotReadyUntilThereIsSpaceAgain_T14(t *testing.T) {
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
	if n := fsys.count("probe write"); n != 1 {
		t.Errorf("%d probes in a second", n)
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
	synctest.Test(t, func(t *testing.T) {
		fsys := newFaultFS()
		l := open(t, "", store.Options{FS: fsys, MaxOpenFiles: 1})
		var got acks
		got.add("a", add(t, l, "a"))
		if _, err := l.Append(t.Context(), "another/tenant", decision("x")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		fsys.mu.Lock()
		for name, n := range fsys.entries {
			if strings.HasPrefix(name, "t/"+store.TenantID(tenant)) && len(n.data) > 700 {
				n.data[700] ^= 1
			}
		}
		fsys.mu.Unlock()
		got.add("b", add(t, l, "b")) // it is in the journal
		synctest.Wait()
		if _, err := l.Append(t.Context(), tenant, decision("c")); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("error is %v", err)
		}
		if _, err := l.Append(t.Context(), "another/tenant", decision("y")); err != nil {
			t.Errorf("another tenant: %v", err)
		}
		shut(t, l)
		// What was acknowledged and has no place in the chain is kept.
		_, aside := fsys.files("quarantine/")
		if !strings.Contains(strings.Join(aside, ""), got.m["b"].Hash) {
			t.Errorf("set aside is %q", aside)
		}
	})
}

func TestAPowerCutAtAnyMomentLosesNothingAcknowledged_T1_T8(t *testing.T) {
	for seed := range uint64(150) {
		fsys := newFaultFS()
		var got acks
		if !powerCuts(t, fsys, seed, &got) {
			t.Fatalf("seed %d: a torn chain is refused", seed)
		}
	}
}

// A disk that writes later sectors before earlier ones leaves good records
// behind a hole. They were never acknowledged.
func TestAPowerCutOnAReorderingDiskLosesNothingAcknowledged_T5(t *testing.T) {
	for seed := range uint64(150) {
		fsys := newFaultFS()
		fsys.reorders = true
		var got acks
		if !powerCuts(t, fsys, seed, &got) {
			t.Fatalf("seed %d: a torn chain is refused", seed)
		}
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

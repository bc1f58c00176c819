package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

// chains returns the chains that files hold, by tenant_id.
func (f *faultFS) chains() map[string]string {
	names, contents := f.segments()
	chains := map[string]string{}
	for i, name := range names {
		chains[path.Base(path.Dir(path.Dir(name)))] += contents[i]
	}
	return chains
}

// load appends to some tenants with a writer each until n records were tried,
// and keeps what was acknowledged of each.
func load(t *testing.T, l *store.Log, got []acks, life string, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for w := range got {
		wg.Go(func() {
			for i := range n {
				id := fmt.Sprintf("%s-%d-%d", life, w, i)
				r, err := l.Append(t.Context(), fmt.Sprint("tenant-", w), decision(id))
				switch {
				case err == nil:
					got[w].add(id, r)
				case !errors.Is(err, store.ErrUnavailable):
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func checkAll(t *testing.T, fsys *faultFS, got []acks) {
	t.Helper()
	chains := fsys.chains()
	for w := range got {
		got[w].check(t, []byte(chains[store.TenantID(fmt.Sprint("tenant-", w))]))
	}
}

func TestChainsSpanSegmentsAndTheJournalStaysSmall_T31(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := newFaultFS()
		got := make([]acks, 3)
		const limit = 8 << 10
		for life := range 2 {
			l := open(t, "", store.Options{FS: fsys, SegmentBytes: limit, MaxOpenFiles: 2})
			for round := range 20 {
				load(t, l, got, fmt.Sprint(life, "-", round), 10)
				synctest.Wait()
				names, contents := fsys.journal()
				if size := len(strings.Join(contents, "")); size > 4*limit {
					t.Fatalf("the journal has %d bytes in %v", size, names)
				}
			}
			shut(t, l)
			if names, contents := fsys.journal(); len(names) != 1 || contents[0] != "" {
				t.Errorf("the journal is %v after an orderly end", names)
			}
		}
		checkAll(t, fsys, got)
		if names, _ := fsys.segments(); len(names) < 9 {
			t.Errorf("segments are %v", names)
		}
	})
}

// Files rotate all the time while operations fail at random and the power is
// cut, again and again.
func TestRotationUnderLoadFaultsAndPowerCuts_T14_T31(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 31))
			fsys := newFaultFS()
			fsys.reorders = seed%2 == 1
			got := make([]acks, 3)
			for life := range 4 {
				o := store.Options{FS: fsys, SegmentBytes: 4 << 10, MaxOpenFiles: 2, ReserveBytes: 4 << 10}
				l, err := store.Open("", o)
				if err != nil {
					t.Fatal(err)
				}
				cut := 200 + rnd.IntN(600)
				fsys.setFail(func(string, string, int) (int, error) {
					if cut--; cut < 0 || rnd.IntN(60) == 0 {
						return rnd.IntN(900), syscall.EIO
					}
					return 0, nil
				})
				load(t, l, got, fmt.Sprint(life), 30)
				left := fsys.crash(rnd)
				_ = l.Close(t.Context()) // of the process that is dead already
				fsys = left
			}
			l := open(t, "", store.Options{FS: fsys, SegmentBytes: 4 << 10})
			load(t, l, got, "last", 5)
			shut(t, l)
			checkAll(t, fsys, got)
			for name := range fsys.entries {
				if strings.HasPrefix(name, "quarantine/") && strings.HasSuffix(name, ".new") {
					t.Errorf("%s is named by no record", name)
				}
			}
		})
	}
}

// While the tenants' files cannot be written, the journal keeps everything and
// decisions go on; with space they catch up.
func TestTenantsFilesCatchUpWithTheJournal_T14(t *testing.T) {
	for name, fault := range map[string]struct {
		op  string
		err error
	}{
		"no space":     {"write", syscall.ENOSPC},
		"sync error":   {"datasync", syscall.EIO},
		"no entries":   {"open", syscall.EMFILE},
		"no directory": {"mkdir", syscall.ENOSPC},
		"names":        {"syncdir", syscall.EIO},
		"states":       {"rename", syscall.EIO},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fsys := newFaultFS()
				l := open(t, "", store.Options{FS: fsys, SegmentBytes: 16 << 10})
				got := make([]acks, 3)
				load(t, l, got[:2], "before", 3)
				synctest.Wait()
				fsys.setFail(func(op, name string, _ int) (int, error) {
					if op == fault.op && strings.HasPrefix(name, "t") {
						return 0, fault.err
					}
					return 0, nil
				})
				load(t, l, got, "meanwhile", 20)
				if err := l.Ready(); err != nil {
					t.Errorf("not ready though the journal can be written: %v", err)
				}
				killed := fsys.killed()
				fsys.setFail(nil)
				time.Sleep(2 * time.Second) // of the bubble's clock
				load(t, l, got, "after", 20)
				synctest.Wait()
				load(t, l, got, "then", 1)
				synctest.Wait()
				checkAll(t, fsys, got)
				shut(t, l)
				checkAll(t, fsys, got)

				l = open(t, "", store.Options{FS: killed})
				shut(t, l)
				new(acks).check(t, []byte(killed.chains()[store.TenantID("tenant-0")]))
			})
		})
	}
}

func TestAJournalThatCannotBeEmptiedEndsInDenials_T14(t *testing.T) {
	fsys := newFaultFS()
	l := open(t, "", store.Options{FS: fsys, SegmentBytes: 4 << 10})
	got := make([]acks, 1)
	load(t, l, got, "before", 2)
	fsys.setFail(func(op, name string, _ int) (int, error) {
		if op == "write" && strings.HasPrefix(name, "t/") {
			return 0, syscall.ENOSPC
		}
		return 0, nil
	})
	load(t, l, got, "meanwhile", 100)
	if len(got[0].m) > 60 {
		t.Errorf("%d records in a journal of 12 KiB", len(got[0].m))
	}
	if err := l.Ready(); !errors.Is(err, store.ErrUnavailable) && err != nil {
		t.Error(err)
	}
	fsys.setFail(nil)
	for range 1000 { // each of them a denial, until the next try
		if _, err := l.Append(t.Context(), "tenant-0", decision("z")); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	shut(t, l)
	if k := kinds(t, []byte(fsys.chains()[store.TenantID("tenant-0")])); k[len(k)-1] != audit.KindShutdown {
		t.Errorf("kinds end with %s", k[len(k)-1])
	}
}

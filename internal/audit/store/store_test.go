package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

func TestAChainBeginsWithItsGenesisAndEndsWithItsShutdown(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, store.Options{Replica: "r0"})
	r := add(t, l, "a")
	if r.Seq != 1 || !strings.HasPrefix(r.Chain, "hookpolicy.dev/"+store.TenantID(tenant)+"/") {
		t.Errorf("receipt is %+v", r)
	}
	shut(t, l)
	want := []audit.Kind{audit.KindGenesis, audit.KindDecision, audit.KindShutdown}
	if diff := cmp.Diff(want, kinds(t, read(t, chainFile(dir)))); diff != "" {
		t.Error(diff)
	}
	c := verified(t, dir).Chains[0]
	if c.Tenant != tenant || c.Origin != r.Chain || c.Records != 3 || c.LastSeq != 2 {
		t.Errorf("report is %+v", c)
	}
}

func TestARestartContinuesTheChain(t *testing.T) {
	dir := t.TempDir()
	var got acks
	origin := ""
	for i := range 3 {
		l := open(t, dir, store.Options{})
		for j := range 2 {
			id := fmt.Sprintf("%d-%d", i, j)
			r := add(t, l, id)
			got.add(id, r)
			if origin == "" {
				origin = r.Chain
			}
			if r.Chain != origin {
				t.Errorf("origin changes from %s to %s", origin, r.Chain)
			}
		}
		shut(t, l)
	}
	chain := read(t, chainFile(dir))
	got.check(t, chain)
	const d = audit.KindDecision
	want := []audit.Kind{
		audit.KindGenesis, d, d, audit.KindShutdown, audit.KindBoot, d, d, audit.KindShutdown,
		audit.KindBoot, d, d, audit.KindShutdown,
	}
	if diff := cmp.Diff(want, kinds(t, chain)); diff != "" {
		t.Error(diff)
	}
}

func TestConcurrentWritersShareSyncs(t *testing.T) {
	fsys := newFaultFS()
	l := open(t, "", store.Options{FS: fsys})
	add(t, l, "first")
	before := fsys.count("datasync")
	var got acks
	var wg sync.WaitGroup
	const writers, each = 64, 20
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("%d-%d", w, i)
				got.add(id, add(t, l, id))
			}
		})
	}
	wg.Wait()
	if syncs := fsys.count("datasync") - before; syncs >= writers*each {
		t.Errorf("%d records took %d syncs", writers*each, syncs)
	}
	if w, s := fsys.count("journal write"), fsys.count("journal datasync"); w != s {
		t.Errorf("%d writes and %d syncs: not one of each a batch", w, s)
	}
	shut(t, l)
	_, segments := fsys.segments()
	got.check(t, []byte(segments[0]))
	if len(got.m) != writers*each {
		t.Errorf("%d acknowledged", len(got.m))
	}
}

func TestABatchIsOneWriteAndOneSyncForAnyNumberOfTenants_P5(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := newFaultFS()
		l := open(t, "", store.Options{FS: fsys})
		const tenants = 1000
		gate := make(chan struct{})
		fsys.block = func(string) { <-gate }
		var acked sync.WaitGroup
		for i := range tenants + 1 {
			if i == 1 {
				synctest.Wait() // the first one is being synced
			}
			acked.Go(func() {
				if _, err := l.Append(t.Context(), fmt.Sprint("tenant-", i), decision("x")); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		fsys.setFail(nil) // counts from here, with the first one's sync
		close(gate)
		acked.Wait()
		synctest.Wait()
		if n := fsys.count("datasync"); n != 2 {
			t.Errorf("%d syncs of files, want that of the first record and one of the batch", n)
		}
		if n := fsys.count("journal write"); n != 1 {
			t.Errorf("%d writes to the journal, want one", n)
		}
		if n := fsys.count("syncdir") + fsys.count("syncall"); n != 0 {
			t.Errorf("%d syncs beside those of the journal", n)
		}
		shut(t, l)
		for i := range tenants + 1 {
			if len(fsys.entries["t/"+store.TenantID(fmt.Sprint("tenant-", i))+"/log/"+fmt.Sprintf("%020d.jsonl", 0)].data) == 0 {
				t.Fatalf("tenant %d has no chain", i)
			}
		}
	})
}

func TestWhatWaitsDuringASyncGoesIntoOneBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := newFaultFS()
		l := open(t, "", store.Options{FS: fsys})
		add(t, l, "first")
		gate, before := make(chan struct{}), fsys.count("datasync")
		fsys.block = func(string) { <-gate }
		var acked sync.WaitGroup
		for i := range 100 {
			acked.Go(func() { add(t, l, fmt.Sprint(i)) })
		}
		synctest.Wait()
		close(gate)
		acked.Wait()
		if n := fsys.count("datasync") - before; n > 2 {
			t.Errorf("%d syncs, want one for what came first and one for the rest", n)
		}
		shut(t, l)
	})
}

func TestNothingIsAcknowledgedBeforeItIsSynced_T11(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := newFaultFS()
		l := open(t, "", store.Options{FS: fsys})
		gate := make(chan struct{})
		fsys.block = func(string) { <-gate }
		acked := make(chan audit.Receipt, 1)
		go func() { acked <- add(t, l, "a") }()
		synctest.Wait()
		select {
		case <-acked:
			t.Error("acknowledged while fdatasync is running")
		default:
		}
		close(gate)
		if r := <-acked; r.Seq != 1 {
			t.Errorf("receipt is %+v", r)
		}
		shut(t, l)
	})
}

func TestARecordMayLandAfterItsCallerHasGone_T16(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := newFaultFS()
		l := open(t, "", store.Options{FS: fsys})
		gate := make(chan struct{})
		fsys.block = func(string) { <-gate }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		rec := decision("late")
		_, err := l.Append(ctx, tenant, rec)
		if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		rec.Args.(map[string]any)["sql"] = "changed after Append returned"
		close(gate)
		shut(t, l)
		_, segments := fsys.segments()
		if !strings.Contains(segments[0], `"late"`) || strings.Contains(segments[0], "changed") {
			t.Errorf("log is %s", segments[0])
		}
	})
}

func TestAFullQueueIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := newFaultFS()
		l := open(t, "", store.Options{FS: fsys, MaxQueue: 1})
		add(t, l, "first")
		gate := make(chan struct{})
		fsys.block = func(string) { <-gate }
		errs := make(chan error, 3000)
		for i := range cap(errs) {
			go func() {
				_, err := l.Append(t.Context(), tenant, decision(fmt.Sprint(i)))
				errs <- err
			}()
		}
		synctest.Wait()
		close(gate)
		refused := 0
		for range cap(errs) {
			if err := <-errs; errors.Is(err, store.ErrUnavailable) {
				refused++
			} else if err != nil {
				t.Error(err)
			}
		}
		if refused == 0 {
			t.Error("a queue of one took 3000 records")
		}
		shut(t, l)
	})
}

func TestTimeNeverGoesBack_T18(t *testing.T) {
	fsys := newFaultFS()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time {
		now = now.Add(-time.Hour)
		return now
	}
	for range 2 { // the second life must know the time of the first
		l := open(t, "", store.Options{FS: fsys, Clock: clock})
		add(t, l, "a"+now.String())
		shut(t, l)
	}
	_, segments := fsys.segments()
	new(acks).check(t, []byte(segments[0]))
	if n := strings.Count(segments[0], `"ts":"2026-03-01T11:00:00.000000Z"`); n != 6 {
		t.Errorf("%d of 6 records have the first one's time", n)
	}
}

func TestASecondProcessIsRefused_T39(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, store.Options{})
	add(t, l, "a")
	for _, spoil := range []func() error{
		func() error { return nil },
		func() error { return os.Remove(filepath.Join(dir, "LOCK")) },
		func() error { return os.WriteFile(filepath.Join(dir, "LOCK"), nil, 0o600) },
		func() error { return os.Remove(filepath.Join(dir, "FORMAT")) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(dir, store.Options{}); !errors.Is(err, store.ErrLocked) {
			t.Errorf("error is %v", err)
		}
	}
	add(t, l, "b")
	shut(t, l)
	l = open(t, dir, store.Options{})
	add(t, l, "c")
	shut(t, l)
	verified(t, dir)
}

func TestAnUnknownFormatIsRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "FORMAT"), []byte("hookpolicy audit v9\n"))
	if _, err := store.Open(dir, store.Options{}); !errors.Is(err, store.ErrFormat) {
		t.Errorf("error is %v", err)
	}
}

func TestHostileTenantNamesStayInTheDirectory_T38(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	l := open(t, dir, store.Options{})
	for _, name := range []string{
		"../../etc", "/etc/passwd", "a/../../b", ".", "..", "a\x00b", "CON", strings.Repeat("x", audit.MaxTenant), "\u202eevil", "a\nb",
	} {
		if _, err := l.Append(t.Context(), name, decision("x")); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "\xff", strings.Repeat("x", audit.MaxTenant+1)} {
		if _, err := l.Append(t.Context(), name, decision("x")); !errors.Is(err, store.ErrTenant) {
			t.Errorf("%q: error is %v", name, err)
		}
	}
	shut(t, l)
	if r := verified(t, dir); len(r.Chains) != 10 || len(r.Unknown) != 0 {
		t.Errorf("report is %+v", r)
	}
	around, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(around) != 1 {
		t.Errorf("beside the directory: %v, %v", around, err)
	}
}

func TestFilesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	l := open(t, dir, store.Options{})
	add(t, l, "a")
	shut(t, l)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestManyTenantsNeedFewOpenFiles(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, store.Options{MaxOpenFiles: 2})
	for i := range 3 {
		for j := range 5 {
			if _, err := l.Append(t.Context(), fmt.Sprint("tenant-", j), decision(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	shut(t, l)
	for _, c := range verified(t, dir).Chains {
		if c.Records != 5 {
			t.Errorf("%s has %d records", c.Tenant, c.Records)
		}
	}
}

func TestCommitmentsAreStableAndApart(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, store.Options{})
	a := l.Commitment("a", []byte("secret"))
	if len(a) != 64 || a == l.Commitment("b", []byte("secret")) || a == l.Commitment("a", []byte("secreu")) {
		t.Errorf("commitment is %s", a)
	}
	shut(t, l)
	l = open(t, dir, store.Options{})
	if l.Commitment("a", []byte("secret")) != a {
		t.Error("commitment changes with a restart")
	}
	shut(t, l)
	l = open(t, t.TempDir(), store.Options{})
	if l.Commitment("a", []byte("secret")) == a {
		t.Error("two logs share a key")
	}
	shut(t, l)
}

func TestAClosedLogTakesNothing(t *testing.T) {
	l := open(t, t.TempDir(), store.Options{})
	add(t, l, "a")
	shut(t, l)
	if _, err := l.Append(t.Context(), tenant, decision("b")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("error is %v", err)
	}
	if err := l.Ready(); !errors.Is(err, store.ErrClosed) {
		t.Errorf("error is %v", err)
	}
}

func TestCloseWritesWhatWasAccepted(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, store.Options{})
	var got acks
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			id := fmt.Sprint(i)
			r, err := l.Append(t.Context(), tenant, decision(id))
			if err == nil {
				got.add(id, r)
			} else if !errors.Is(err, store.ErrClosed) {
				t.Error(err)
			}
		})
	}
	shut(t, l)
	wg.Wait()
	if chain, err := os.ReadFile(chainFile(dir)); err == nil {
		got.check(t, chain)
		if k := kinds(t, chain); len(k) > 0 && !bytes.HasSuffix(chain, []byte("\n")) {
			t.Error("log does not end with a line")
		}
	} else if len(got.m) > 0 {
		t.Error(err)
	}
}

package store_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/auditor"
	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

// byHand signs when a test says so.
func byHand(file string) store.Signing {
	return store.Signing{Interval: time.Hour, Publisher: store.NewAnchorFile(file)}
}

func openSigned(tb testing.TB, dir string, o store.Options, s store.Signing) *store.Log {
	tb.Helper()
	o.ReserveBytes = -1
	l, err := store.OpenSigned(tb.Context(), dir, o, s)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func round(tb testing.TB, l *store.Log) {
	tb.Helper()
	if err := l.Round(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// good demands that a log verifies, with its anchor file and without.
func good(tb testing.TB, dir, file string) *auditor.Report {
	tb.Helper()
	var r *auditor.Report
	for _, anchors := range [][]string{nil, {file}} {
		var err error
		if r, err = auditor.Verify(dir, auditor.Options{Anchors: anchors}); err != nil {
			tb.Fatal(err)
		}
		if !r.OK() || len(r.Unknown) > 0 {
			tb.Fatalf("with anchors %v: findings %v, unknown %v", anchors, r.All(), r.Unknown)
		}
	}
	return r
}

func says(tb testing.TB, dir, file string, reason audit.Reason, text string) {
	tb.Helper()
	r, err := auditor.Verify(dir, auditor.Options{Anchors: []string{file}})
	if err != nil {
		tb.Fatal(err)
	}
	if !slices.ContainsFunc(r.All(), func(f audit.Finding) bool { return f.Reason == reason && strings.Contains(f.Detail, text) }) {
		tb.Errorf("no finding %s %q: %v", reason, text, r.All())
	}
}

// inOrder demands anchored ≤ signed ≤ durable ≤ written of a tenant.
func inOrder(tb testing.TB, l *store.Log, tenant string) checkpoint.Watermark {
	tb.Helper()
	w := l.Mark(tenant)
	if err := w.Check(); err != nil {
		tb.Errorf("%s: %v", tenant, err)
	}
	return w
}

func TestWhatIsDurableIsSignedAndPublished(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "anchors")
	l := openSigned(t, dir, store.Options{}, byHand(file))
	for i := range 5 {
		add(t, l, strings.Repeat("x", i+1))
		inOrder(t, l, tenant)
		settled(t, l, tenant, uint64(i+2))
		round(t, l)
		if w := inOrder(t, l, tenant); w.Signed != uint64(i+2) || w.Anchored != w.Signed {
			t.Errorf("after %d records: %+v", i+1, w)
		}
		if w := inOrder(t, l, store.AnchorTenant); w.Anchored == 0 || w.Anchored != w.Signed {
			t.Errorf("the anchor's chain: %+v", w)
		}
		good(t, dir, file) // in use
	}
	shut(t, l)
	r := good(t, dir, file)
	if len(r.Chains) != 2 || r.Chains[1].Signed != r.Chains[1].Records || r.Signed.Anchored == 0 {
		t.Errorf("report is %+v", r)
	}
}

// settled waits until records of a tenant are in its file too.
func settled(tb testing.TB, l *store.Log, tenant string, n uint64) {
	tb.Helper()
	for l.Mark(tenant).Durable < n {
		if tb.Context().Err() != nil {
			tb.Fatal("the test is over")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestALogGoesOnFromWhatItSigned(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "anchors")
	for range 3 {
		l := openSigned(t, dir, store.Options{}, byHand(file))
		add(t, l, "a")
		round(t, l)
		add(t, l, "b") // signed by the last round only
		shut(t, l)
		good(t, dir, file)
	}
	info, err := os.Stat(filepath.Join(dir, "keys", "log.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key has mode %v (%v)", info.Mode(), err)
	}
}

func TestALogThatWasKilledGoesOn(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "anchors")
	l := openSigned(t, dir, store.Options{}, byHand(file))
	add(t, l, "a")
	round(t, l)
	add(t, l, "b") // durable, not signed
	killed := filepath.Join(t.TempDir(), "killed")
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	shut(t, l)
	file2 := filepath.Join(t.TempDir(), "anchors")
	write(t, file2, bytes.SplitAfterN(read(t, file), []byte("\n"), 2)[0]) // what was published by then
	good(t, killed, file2)
	l = openSigned(t, killed, store.Options{}, byHand(file2))
	add(t, l, "c")
	round(t, l)
	shut(t, l)
	good(t, killed, file2)
}

// T24, as far as an anchor file does it: an older copy does not start.
func TestAnOlderCopyDoesNotStart(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "anchors")
	l := openSigned(t, dir, store.Options{}, byHand(file))
	add(t, l, "a")
	shut(t, l)
	old := filepath.Join(t.TempDir(), "old")
	if err := os.CopyFS(old, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	l = openSigned(t, dir, store.Options{}, byHand(file))
	add(t, l, "b")
	shut(t, l)
	if _, err := store.OpenSigned(t.Context(), old, store.Options{}, byHand(file)); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "TRUNCATED anchored=") {
		t.Errorf("error is %v", err)
	}
	says(t, old, file, audit.ReasonTruncated, "TRUNCATED anchored=")
	fresh := t.TempDir()
	if _, err := store.OpenSigned(t.Context(), fresh, store.Options{}, byHand(file)); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a new log takes the anchor file of another one: %v", err)
	}
}

func TestAChainThatIsNotTheSignedOneTakesNoRecords(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string){
		"its end cut off": func(t *testing.T, dir string) {
			t.Helper()
			b := read(t, chainFile(dir))
			ends := lineEnds(b)
			write(t, chainFile(dir), b[:ends[len(ends)-3]])
		},
		"a record rewritten": func(t *testing.T, dir string) {
			t.Helper()
			write(t, chainFile(dir), forged(t, read(t, chainFile(dir)), 1))
		},
		"all of it gone": func(t *testing.T, dir string) {
			t.Helper()
			if err := os.RemoveAll(filepath.Join(dir, "t", store.TenantID(tenant))); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, file := t.TempDir(), filepath.Join(t.TempDir(), "anchors")
			l := openSigned(t, dir, store.Options{}, byHand(file))
			for range 4 {
				add(t, l, "a")
			}
			shut(t, l)
			change(t, dir)
			_ = os.Remove(filepath.Join(dir, "t", store.TenantID(tenant), "state")) // it would tell, too
			l = openSigned(t, dir, store.Options{}, byHand(file))
			defer shut(t, l)
			if _, err := l.Append(t.Context(), tenant, decision("x")); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("error is %v", err)
			}
			if _, err := l.Append(t.Context(), "other/policy", decision("x")); err != nil {
				t.Errorf("another chain: %v", err)
			}
		})
	}
}

// forged changes a record and gives all from it on the hashes of a chain.
func forged(tb testing.TB, chain []byte, at int) []byte {
	tb.Helper()
	var out []byte
	var prev string
	n := 0
	for line := range bytes.Lines(chain) {
		if n >= at {
			open := line[:bytes.LastIndex(line, []byte(`,"record_hash"`))]
			if n == at {
				open = bytes.Replace(open, []byte(`"Deny"`), []byte(`"Allow"`), 1)
			}
			i := bytes.Index(open, []byte(`"prev_hash":"`)) + len(`"prev_hash":"`)
			open = append(append(bytes.Clone(open[:i]), prev...), open[i+64:]...)
			line, _ = audit.AppendSealed(nil, append(open, '}'))
		}
		prev = string(line[len(line)-67 : len(line)-3])
		out = append(out, line...)
		n++
	}
	return out
}

func TestALogWithoutItsKeyDoesNotStart(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"no key":                 func(dir string) error { return os.Remove(filepath.Join(dir, "keys", "log.key")) },
		"another description":    func(dir string) error { return os.WriteFile(filepath.Join(dir, "log.json"), []byte("{}\n"), 0o600) },
		"no description":         func(dir string) error { return os.Remove(filepath.Join(dir, "log.json")) },
		"nothing of what signed": func(dir string) error { return os.Remove(filepath.Join(dir, "anchor", "heads.jsonl")) },
		"a key that is none": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "keys", "log.key"), []byte("x\n"), 0o600)
		},
		"a head that is none": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "anchor", "heads.jsonl"), []byte("{}\n"), 0o600)
		},
	} {
		dir, file := t.TempDir(), filepath.Join(t.TempDir(), "anchors")
		l := openSigned(t, dir, store.Options{}, byHand(file))
		add(t, l, "a")
		shut(t, l)
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := store.OpenSigned(t.Context(), dir, store.Options{}, byHand(file)); err == nil {
			t.Errorf("%s: it starts", name)
		} else if strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("%s: the error holds the secret", name)
		}
	}
}

func TestIdleChainsSaySo(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "anchors")
	var mu sync.Mutex
	now := time.Date(2026, 8, 30, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	l := openSigned(t, dir, store.Options{Clock: clock}, byHand(file))
	add(t, l, "a")
	settled(t, l, tenant, 2)
	round(t, l)
	for range 2 {
		before := l.Mark(tenant).Durable
		round(t, l)
		if l.Mark(tenant).Durable != before {
			t.Error("a heartbeat too early")
		}
		mu.Lock()
		now = now.Add(10 * time.Minute)
		mu.Unlock()
		round(t, l)
		settled(t, l, tenant, before+1)
		round(t, l)
		if w := inOrder(t, l, tenant); w.Anchored != before+1 {
			t.Errorf("the heartbeat is not signed: %+v", w)
		}
	}
	shut(t, l)
	good(t, dir, file)
	if got := kinds(t, read(t, chainFile(dir))); !slices.Equal(got, []audit.Kind{
		audit.KindGenesis, audit.KindDecision, audit.KindHeartbeat, audit.KindHeartbeat, audit.KindShutdown,
	}) {
		t.Errorf("kinds are %v", got)
	}
}

// broken is a publisher that fails while it is told to.
type broken struct {
	store.Publisher
	err error
}

func (b *broken) Publish(ctx context.Context, a []*checkpoint.Anchor) error {
	if b.err != nil {
		return b.err
	}
	return b.Publisher.Publish(ctx, a)
}

func TestDecisionsGoOnWhileNothingCanBePublished(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "anchors")
	p := &broken{store.NewAnchorFile(file), errors.New("no way")}
	l := openSigned(t, dir, store.Options{}, store.Signing{Interval: time.Hour, Publisher: p})
	add(t, l, "a")
	settled(t, l, tenant, 2)
	if err := l.Round(t.Context()); !errors.Is(err, p.err) {
		t.Errorf("error is %v", err)
	}
	if w := inOrder(t, l, tenant); w.Signed != 2 || w.Anchored != 0 {
		t.Errorf("mark is %+v", w)
	}
	add(t, l, "b")
	p.err = nil
	settled(t, l, tenant, 3)
	round(t, l)
	if w := inOrder(t, l, tenant); w.Anchored != 3 {
		t.Errorf("mark is %+v", w)
	}
	shut(t, l)
	good(t, dir, file)
}

func TestAContradictionStopsSigningAndNothingElse(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "anchors")
	l := openSigned(t, dir, store.Options{}, byHand(file))
	add(t, l, "a")
	settled(t, l, tenant, 2)
	round(t, l)
	add(t, l, "b")
	settled(t, l, tenant, 3)
	l.Overtake(tenant)
	for range 2 {
		if err := l.Round(t.Context()); !errors.Is(err, checkpoint.ErrOrder) {
			t.Errorf("error is %v", err)
		}
	}
	if _, err := l.Append(t.Context(), "other/policy", decision("c")); err != nil {
		t.Errorf("decisions stop: %v", err)
	}
	if err := l.Close(t.Context()); !errors.Is(err, checkpoint.ErrOrder) {
		t.Errorf("the contradiction is not reported at the end: %v", err)
	}
}

func TestARepairMakesTheLogForgetWhatItSigned(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "anchors")
	l := openSigned(t, dir, store.Options{}, byHand(file))
	add(t, l, "a")
	shut(t, l)
	if err := os.RemoveAll(filepath.Join(dir, "t", store.TenantID(tenant))); err != nil {
		t.Fatal(err)
	}
	if err := store.ForgetSigned(dir, tenant); err != nil {
		t.Fatal(err)
	}
	if _, err := store.OpenSigned(t.Context(), dir, store.Options{}, byHand(file)); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("the anchor file does not know of the repair: %v", err)
	}
	l = openSigned(t, dir, store.Options{}, byHand(file+".after"))
	add(t, l, "b")
	shut(t, l)
	says(t, dir, file, audit.ReasonReplaced, "") // and whoever kept the anchors still sees the loss
}

func TestManyTenantsAreSignedInOneRound(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "anchors")
	l := openSigned(t, dir, store.Options{}, byHand(file))
	var wg sync.WaitGroup
	names := make([]string, 60)
	for i := range names {
		names[i] = "team/" + strings.Repeat("p", i+1)
		wg.Go(func() {
			if _, err := l.Append(t.Context(), names[i], decision("a")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, name := range names {
		settled(t, l, name, 2)
	}
	round(t, l)
	for _, name := range names {
		if w := inOrder(t, l, name); w.Anchored != 2 {
			t.Errorf("%s: %+v", name, w)
		}
	}
	shut(t, l)
	if r := good(t, dir, file); len(r.Chains) != 61 {
		t.Errorf("%d chains", len(r.Chains))
	}
}

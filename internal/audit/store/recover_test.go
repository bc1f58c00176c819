package store_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// lifeOf makes a log with n decisions and no orderly end, and returns its chain.
func lifeOf(t *testing.T, dir string, n int) []byte {
	t.Helper()
	l := open(t, dir, store.Options{})
	for i := range n {
		add(t, l, fmt.Sprint("old-", i))
	}
	shut(t, l)
	chain := read(t, chainFile(dir))
	lines := bytes.SplitAfter(chain, []byte("\n"))
	chain = bytes.Join(lines[:len(lines)-2], nil) // without the shutdown
	write(t, chainFile(dir), chain)
	return chain
}

func TestACutAnywhereInTheLastTwoRecordsIsTorn(t *testing.T) {
	whole := newFaultFS()
	l := open(t, "", store.Options{FS: whole})
	for i := range 3 {
		add(t, l, fmt.Sprint("old-", i))
	}
	names, segments := whole.segments()
	shut(t, l)
	chain := []byte(segments[0])
	ends := lineEnds(chain)
	for size := ends[len(ends)-3]; size <= len(chain); size++ {
		fsys := whole.crash(rand.New(rand.NewPCG(1, 1))) // a copy: all is durable
		fsys.entries[names[0]].data = chain[:size:size]
		l := open(t, "", store.Options{FS: fsys})
		add(t, l, "new")
		shut(t, l)

		kept := 0
		for _, end := range ends {
			if end <= size {
				kept = end
			}
		}
		_, after := fsys.segments()
		if !strings.HasPrefix(after[0], string(chain[:kept])) {
			t.Fatalf("cut at %d: earlier records have changed", size)
		}
		new(acks).check(t, []byte(after[0]))
		boot, _, _ := strings.Cut(after[0][kept:], "\n")
		if torn := chain[kept:size]; len(torn) > 0 {
			checkAside(t, fsys, boot, torn)
		} else if strings.Contains(boot, "quarantined") {
			t.Errorf("cut at %d: something is set aside", size)
		}
	}
}

// checkAside demands that exactly the torn bytes are in quarantine/ and that
// the chain's record of it says so.
func checkAside(t *testing.T, fsys *faultFS, boot string, torn []byte) {
	t.Helper()
	names, err := fsys.ReadDir("quarantine")
	if err != nil || len(names) != 1 || !bytes.Equal(fsys.entries["quarantine/"+names[0]].data, torn) {
		t.Errorf("set aside is %v", names)
		return
	}
	want := fmt.Sprintf(`"quarantined":[{"bytes":%d,"file":"quarantine/%s","sha256":"%x"}]`, len(torn), names[0], sha256.Sum256(torn))
	if !strings.Contains(boot, want) || !strings.Contains(boot, `"kind":"boot"`) {
		t.Errorf("record is %s, want %s", boot, want)
	}
}

func lineEnds(chain []byte) (ends []int) {
	for i, c := range chain {
		if c == '\n' {
			ends = append(ends, i+1)
		}
	}
	return ends
}

func TestATornGenesisBeginsTheChainAnew(t *testing.T) {
	dir := t.TempDir()
	chain := lifeOf(t, dir, 1)
	for _, size := range []int{0, 1, 100, lineEnds(chain)[0] - 1} {
		write(t, chainFile(dir), chain[:size])
		l := open(t, dir, store.Options{})
		if r := add(t, l, "new"); r.Seq != 1 {
			t.Errorf("cut at %d: receipt is %+v", size, r)
		}
		shut(t, l)
		verified(t, dir)
		if got := bytes.Contains(read(t, chainFile(dir)), []byte("quarantined")); got != (size > 0) {
			t.Errorf("cut at %d: genesis tells of torn bytes: %t", size, got)
		}
	}
}

func TestGarbageAfterTheLastRecordIsTorn(t *testing.T) {
	for name, garbage := range map[string][]byte{
		"zeros":            make([]byte, 4096),
		"old blocks":       bytes.Repeat([]byte{0xde, 0xad}, 70_000),
		"lines of nothing": bytes.Repeat([]byte("{}\n"), 1000),
		"a megabyte":       bytes.Repeat([]byte("x"), 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			chain := lifeOf(t, dir, 3)
			write(t, chainFile(dir), append(bytes.Clone(chain), garbage...))
			l := open(t, dir, store.Options{})
			add(t, l, "new")
			shut(t, l)
			r := verified(t, dir)
			if len(r.Quarantined) != 1 || !bytes.Equal(read(t, r.Quarantined[0]), garbage) {
				t.Errorf("set aside is %v", r.Quarantined)
			}
		})
	}
}

func TestADamagedChainTakesNoRecords(t *testing.T) {
	for name, tc := range map[string]struct {
		damage func(chain []byte) []byte
		says   string
	}{
		"the record before the last is changed": {func(c []byte) []byte {
			c[lineEnds(c)[1]+40] ^= 1
			return c
		}, ".jsonl:3: bad record before a good one"},
		"the record before the last is gone": {func(c []byte) []byte {
			e := lineEnds(c)
			return append(c[:e[2]:e[2]], c[e[3]:]...)
		}, ".jsonl:4: record does not follow the one before it"},
		"the genesis is changed": {func(c []byte) []byte { c[20] ^= 1; return c }, ".jsonl:1: bad record before a good one"},
		"the beginning is gone":  {func(c []byte) []byte { return c[lineEnds(c)[0]:] }, ".jsonl:1: not the genesis"},
		"megabytes of nothing":   {func(c []byte) []byte { return append(c, make([]byte, 5<<20)...) }, "no good record near the end"},
		"a torn batch with good lines": {func(c []byte) []byte {
			e := lineEnds(c)
			clear(c[e[2] : e[3]-10])
			return c
		}, ".jsonl:4: bad record before a good one"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			chain := tc.damage(lifeOf(t, dir, 4))
			write(t, chainFile(dir), chain)
			l := open(t, dir, store.Options{})
			for range 2 {
				_, err := l.Append(t.Context(), tenant, decision("new"))
				if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("error is %v", err)
				}
			}
			if _, err := l.Append(t.Context(), "another/tenant", decision("new")); err != nil {
				t.Errorf("another tenant: %v", err)
			}
			if err := l.Ready(); err != nil {
				t.Errorf("not ready for the others: %v", err)
			}
			shut(t, l)
			if !bytes.Equal(read(t, chainFile(dir)), chain) {
				t.Error("the damaged chain was written to")
			}
		})
	}
}

func TestTheChainOfAnotherTenantIsRefused(t *testing.T) {
	dir := t.TempDir()
	chain := lifeOf(t, dir, 1)
	other := filepath.Join(dir, "t", store.TenantID("other/tenant"), "log")
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(other, filepath.Base(chainFile(dir))), chain)
	l := open(t, dir, store.Options{})
	if _, err := l.Append(t.Context(), "other/tenant", decision("x")); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("error is %v", err)
	}
	shut(t, l)
	r, err := store.VerifyPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, c := range r.Chains {
		found = found || c.Finding != nil && c.Finding.Reason == audit.ReasonTenant
	}
	if !found {
		t.Error("verification does not find it")
	}
}

func TestACrashDuringRecoveryIsRecovered(t *testing.T) {
	// Each operation of a recovery fails in turn; what follows is a crash.
	for op, steps := range map[string]int{"open": 8, "write": 2, "datasync": 3, "truncate": 2, "rename": 1, "syncdir": 6, "read": 4} {
		for step := 1; step <= steps; step++ {
			t.Run(fmt.Sprint(op, " ", step), func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(uint64(step), 1))
				fsys := newFaultFS()
				l := open(t, "", store.Options{FS: fsys})
				var got acks
				for i := range 3 {
					got.add(fmt.Sprint(i), add(t, l, fmt.Sprint(i)))
				}
				names, _ := fsys.segments()
				shut(t, l)
				n := fsys.entries[names[0]]
				n.data = n.data[:len(n.data)-100] // in the shutdown record
				n.synced = n.data

				l = open(t, "", store.Options{FS: fsys})
				fsys.setFail(func(o, _ string, n int) (int, error) {
					if o == op && n >= step {
						return 0, errIO
					}
					return 0, nil
				})
				_, err := l.Append(t.Context(), tenant, decision("lost"))
				if err == nil {
					// The recovery does not take that many steps.
					got.add("lost", audit.Receipt{})
					t.Skip("no failure")
				}
				if !errors.Is(err, store.ErrUnavailable) {
					t.Fatalf("error is %v", err)
				}
				fsys = fsys.crash(rnd)
				l = open(t, "", store.Options{FS: fsys})
				got.add("new", add(t, l, "new"))
				shut(t, l)
				_, segments := fsys.segments()
				got.check(t, []byte(strings.Join(segments, "")))
			})
		}
	}
}

func TestABootRecordSaysWhereTheChainEnded(t *testing.T) {
	dir := t.TempDir()
	lifeOf(t, dir, 3)
	l := open(t, dir, store.Options{Replica: "r1"})
	r := add(t, l, "new")
	shut(t, l)
	lines := bytes.SplitAfter(read(t, chainFile(dir)), []byte("\n"))
	v, err := strictjson.Parse(lines[4])
	if err != nil {
		t.Fatal(err)
	}
	boot := v.(map[string]any)
	detail, _ := boot["detail"].(map[string]any)
	if boot["kind"] != "boot" || boot["log"] != r.Chain || boot["replica"] != "r1" || detail["last_seq"] != "3" {
		t.Errorf("boot record is %s", lines[4])
	}
}

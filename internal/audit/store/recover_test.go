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
	"testing/synctest"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/auditor"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// lifeOf makes a log with n decisions as the version before made it, without an
// orderly end, and returns its chain.
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
	before(t, dir)
	return chain
}

// before makes a log's directory one of the version before.
func before(t *testing.T, dir string) {
	t.Helper()
	write(t, filepath.Join(dir, "FORMAT"), []byte("hookpolicy audit v1\n"))
	states, err := filepath.Glob(filepath.Join(dir, "t", "*", "state"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(states, filepath.Join(dir, "journal")) {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
}

// killedAfter returns what a log with n decisions leaves that is killed, and
// the name of the only segment of its journal.
func killedAfter(t *testing.T, n int) (left *faultFS, journal string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fsys := newFaultFS()
		l := open(t, "", store.Options{FS: fsys})
		for i := range n {
			add(t, l, fmt.Sprint("old-", i))
		}
		synctest.Wait() // the tenant's file has all of them
		left = fsys.killed()
		shut(t, l)
	})
	names, _ := left.journal()
	return left, names[len(names)-1]
}

// cutShort returns a copy of what was left in which the journal and, as after a
// power cut, the tenant's file have lost some of their last bytes.
func cutShort(left *faultFS, journal string, size int) *faultFS {
	fsys := left.killed()
	n := fsys.entries[journal]
	n.data = n.data[:size:size]
	n.synced = n.data
	names, _ := fsys.segments()
	n = fsys.entries[names[0]]
	n.data = n.data[:min(len(n.data), lastEnd(n.data, size))]
	n.synced = n.data
	return fsys
}

// lastEnd returns where the last whole line ends within a size.
func lastEnd(chain []byte, size int) int {
	return bytes.LastIndexByte(chain[:min(size, len(chain))], '\n') + 1
}

func TestACutAnywhereInTheLastTwoBatchesIsTorn_T4(t *testing.T) {
	left, journal := killedAfter(t, 3)
	chain := left.entries[journal].data
	ends := lineEnds(chain)
	for size := ends[len(ends)-3]; size <= len(chain); size++ {
		fsys := cutShort(left, journal, size)
		l := open(t, "", store.Options{FS: fsys})
		add(t, l, "new")
		shut(t, l)
		checkKept(t, fsys, chain, lastEnd(chain, size), chain[lastEnd(chain, size):size])
	}
}

// checkKept demands that a chain begins with what was kept and goes on with a
// boot record that names exactly what was torn.
func checkKept(t *testing.T, fsys *faultFS, chain []byte, kept int, torn []byte) {
	t.Helper()
	_, after := fsys.segments()
	if !strings.HasPrefix(after[0], string(chain[:kept])) {
		t.Fatalf("kept %d: earlier records have changed", kept)
	}
	new(acks).check(t, []byte(after[0]))
	boot, _, _ := strings.Cut(after[0][kept:], "\n")
	if len(torn) > 0 {
		checkAside(t, fsys, boot, torn)
	} else if strings.Contains(boot, "quarantined") {
		t.Errorf("kept %d: something is set aside", kept)
	}
}

func TestASectorOfZerosInTheLastBatchIsTorn_T4_T10(t *testing.T) {
	left, journal := killedAfter(t, 5)
	chain := left.entries[journal].data
	ends := lineEnds(chain)
	begin := ends[len(ends)-2]
	for at := begin; at < len(chain); at = (at/512 + 1) * 512 {
		fsys := cutShort(left, journal, len(chain))
		n := fsys.entries[journal]
		clear(n.data[at:min((at/512+1)*512, len(chain))])
		names, _ := fsys.segments()
		tail := fsys.entries[names[0]]
		tail.data = tail.data[:begin]
		l := open(t, "", store.Options{FS: fsys})
		add(t, l, "new")
		shut(t, l)
		checkKept(t, fsys, chain, begin, n.data[begin:])
	}
}

func TestWhatAClientWasToldIsNeverTakenForTorn_T4_T6(t *testing.T) {
	left, journal := killedAfter(t, 5)
	chain := left.entries[journal].data
	ends := lineEnds(chain)
	begin := ends[len(ends)-2]
	for name, damage := range map[string]func(b []byte) []byte{
		"the last line is cut":         func(b []byte) []byte { return b[:len(b)-1] },
		"the last line is gone":        func(b []byte) []byte { return b[:begin] },
		"the last line is zeros":       func(b []byte) []byte { clear(b[begin:]); return b },
		"a bit of the last is flipped": func(b []byte) []byte { b[len(b)-100] ^= 4; return b },
	} {
		fsys := left.killed()
		n := fsys.entries[journal]
		n.data = damage(n.data)
		_, err := store.Open("", store.Options{FS: fsys})
		if !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func TestAnyBitOfACommittedBatchThatFlipsIsFound_T6(t *testing.T) {
	left, journal := killedAfter(t, 6)
	chain := left.entries[journal].data
	rnd := rand.New(rand.NewPCG(6, 6))
	for range 4000 {
		at, bit := rnd.IntN(len(chain)), byte(1)<<rnd.IntN(8)
		fsys := left.killed()
		fsys.entries[journal].data[at] ^= bit
		_, err := store.Open("", store.Options{FS: fsys})
		if !errors.Is(err, store.ErrCorrupt) {
			t.Fatalf("bit %d of byte %d: error is %v", bit, at, err)
		}
		if text := err.Error(); !strings.Contains(text, "byte ") || !strings.Contains(text, ".jsonl:") || !strings.Contains(text, "audit repair") {
			t.Fatalf("error is %v", err)
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
		before(t, dir)
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
		}, ".jsonl:3: byte 712: record is not what was written"},
		"the record before the last is gone": {func(c []byte) []byte {
			e := lineEnds(c)
			return append(c[:e[2]:e[2]], c[e[3]:]...)
		}, ".jsonl:4: byte 1098: bad record before a good one"},
		"the genesis is changed": {func(c []byte) []byte { c[20] ^= 1; return c }, ".jsonl:1: byte 0: record is not what was written"},
		"the beginning is gone":  {func(c []byte) []byte { return c[lineEnds(c)[0]:] }, ".jsonl:1: byte 0: bad record before a good one"},
		"megabytes of nothing":   {func(c []byte) []byte { return append(c, make([]byte, 5<<20)...) }, "no good record near the end"},
		"a torn batch with good lines": {func(c []byte) []byte {
			e := lineEnds(c)
			clear(c[e[2] : e[3]-10])
			return c
		}, ".jsonl:4: byte 1098: bad record before a good one"},
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
	r, err := auditor.Verify(dir, auditor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range r.All() {
		found = found || f.Reason == audit.ReasonTenant
	}
	if !found {
		t.Error("verification does not find it")
	}
}

func TestACrashDuringRecoveryIsRecovered_T3_T9(t *testing.T) {
	// Each operation of a recovery fails in turn; what follows is a crash, in
	// which the same happens, and another one.
	left, journal := killedAfter(t, 4)
	for op, steps := range map[string]int{"open": 12, "write": 6, "datasync": 6, "truncate": 2, "rename": 4, "syncdir": 10, "read": 12, "remove": 2, "mkdir": 3} {
		for step := 1; step <= steps; step++ {
			t.Run(fmt.Sprint(op, " ", step), func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(uint64(step), 1))
				chain := left.entries[journal].data
				size := len(chain) - 100
				fsys := cutShort(left, journal, size)
				for range 2 {
					fsys.setFail(func(o, _ string, n int) (int, error) {
						if o == op && n >= step {
							return 0, errIO
						}
						return 0, nil
					})
					l, err := store.Open("", store.Options{FS: fsys, ReserveBytes: -1})
					if err == nil { // it does not take that many steps
						fsys.setFail(nil)
						fsys = fsys.crash(rnd)
						shut(t, l)
						continue
					}
					if errors.Is(err, store.ErrCorrupt) {
						t.Fatal(err)
					}
					fsys.setFail(nil)
					fsys = fsys.crash(rnd)
				}
				l := open(t, "", store.Options{FS: fsys})
				add(t, l, "new")
				shut(t, l)
				checkKept(t, fsys, chain, lastEnd(chain, size), chain[lastEnd(chain, size):size])
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

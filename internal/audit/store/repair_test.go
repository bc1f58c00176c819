package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

func repair(t *testing.T, fsys *faultFS, operator string) *store.Repair {
	t.Helper()
	r, err := store.RepairLog(t.Context(), "", store.Options{FS: fsys, ReserveBytes: -1}, operator)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// goesOn demands that a log opens, and that a tenant's chain takes a record and
// verifies.
func goesOn(t *testing.T, fsys *faultFS, name string) (chain string) {
	t.Helper()
	l := open(t, "", store.Options{FS: fsys})
	if _, err := l.Append(t.Context(), name, decision("after")); err != nil {
		t.Error(err)
	}
	shut(t, l)
	chain = fsys.chains()[store.TenantID(name)]
	new(acks).check(t, []byte(chain))
	return chain
}

// twoTenants returns what a log leaves that is killed after some records of two
// tenants each, written in turn.
func twoTenants(t *testing.T, n int) (left *faultFS, journal string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fsys := newFaultFS()
		l := open(t, "", store.Options{FS: fsys})
		for i := range 2 * n {
			if _, err := l.Append(t.Context(), []string{"a/a", "b/b"}[i%2], decision(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		left = fsys.killed()
		shut(t, l)
	})
	names, _ := left.journal()
	return left, names[len(names)-1]
}

func TestARepairWithoutAnOperatorChangesNothing_T6(t *testing.T) {
	left, journal := twoTenants(t, 4)
	for _, damage := range []int{-1, 600} {
		fsys := left.killed()
		if damage >= 0 {
			fsys.entries[journal].data[damage] ^= 1
		}
		before := fsys.killed()
		r := repair(t, fsys, "")
		if (r.Damage != "") != (damage >= 0) || (len(r.Chains) == 2) != (damage >= 0) {
			t.Errorf("report is %+v", r)
		}
		for name, n := range fsys.entries {
			if o := before.entries[name]; o == nil || string(o.data) != string(n.data) {
				t.Errorf("%s has changed", name)
			}
		}
	}
}

func TestARepairKeepsWhatTheTenantsFilesStillHave_T6(t *testing.T) {
	left, journal := twoTenants(t, 4)
	fsys := left.killed()
	chains := fsys.chains()
	fsys.entries[journal].data[600] ^= 1
	r := repair(t, fsys, "ann")
	for _, c := range r.Chains {
		if c.Lost != 0 || c.Kept != 5 {
			t.Errorf("report is %+v", c)
		}
	}
	for _, name := range []string{"a/a", "b/b"} {
		id := store.TenantID(name)
		after := goesOn(t, fsys, name)
		if !strings.HasPrefix(after, chains[id]) {
			t.Errorf("the records of %s have changed", name)
		}
		if !strings.Contains(after[len(chains[id]):], `"operator":"ann"`) || !strings.Contains(after, `"kind":"gap"`) || !strings.Contains(after, `"quarantined":[`) {
			t.Errorf("%s says nothing of the repair:\n%s", name, after[len(chains[id]):])
		}
	}
}

func TestARepairGivesUpWhatNothingHolds_T6(t *testing.T) {
	left, journal := twoTenants(t, 5)
	// A power cut took the tenants' files, and somebody a line of a/a out of
	// the journal.
	fsys := left.killed()
	for name, n := range fsys.entries {
		if strings.HasPrefix(name, "t/") && !n.dir {
			n.data = nil
		}
	}
	lines := strings.SplitAfter(string(fsys.entries[journal].data), "\n")
	gone := lines[4] // a/a's third: genesis and first of each come first
	fsys.entries[journal].data = []byte(strings.Replace(string(fsys.entries[journal].data), gone, "", 1))
	if _, err := store.Open("", store.Options{FS: fsys}); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("error is %v", err)
	}
	r := repair(t, fsys, "ann")
	var a store.ChainRepair
	for _, c := range r.Chains {
		if c.ID == store.TenantID("a/a") {
			a = c
		}
	}
	if a.Tenant != "a/a" || a.Kept != 2 || a.Lost != 4 || a.Bytes == 0 {
		t.Errorf("report is %+v", r)
	}
	chain := goesOn(t, fsys, "a/a")
	want := []audit.Kind{audit.KindGenesis, audit.KindDecision, audit.KindBoot, audit.KindGap, audit.KindShutdown, audit.KindBoot, audit.KindDecision, audit.KindShutdown}
	if got := kinds(t, []byte(chain)); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("kinds are %v", got)
	}
	if !strings.Contains(chain, `"after":"2"`) || !strings.Contains(chain, `"lost_at_least":"4"`) {
		t.Errorf("chain is\n%s", chain)
	}
	_, aside := fsys.files("quarantine/")
	if all := strings.Join(aside, ""); strings.Count(all, `"tenant":"a/a"`) != 3 {
		t.Errorf("set aside is %q", all)
	}
	if b := goesOn(t, fsys, "b/b"); strings.Count(b, `"kind":"decision"`) != 6 {
		t.Errorf("b/b has lost something:\n%s", b)
	}
}

func TestARepairOfAnyDamageMakesALogThatGoesOn_T6_T9(t *testing.T) {
	left, _ := twoTenants(t, 4)
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		fsys := left.killed()
		for range 1 + rnd.IntN(3) { // one to three places anywhere
			for _, n := range fsys.entries {
				if n.dir || len(n.data) < 200 || rnd.IntN(3) > 0 {
					continue
				}
				switch at := rnd.IntN(len(n.data)); rnd.IntN(4) {
				case 0:
					n.data = n.data[:at]
				case 1:
					clear(n.data[at:min(at+rnd.IntN(900), len(n.data))])
				default:
					n.data[at] ^= 1 << rnd.IntN(8)
				}
			}
		}
		for _, n := range fsys.entries {
			n.synced = n.data
		}
		if seed%2 == 1 { // cut off in the middle, once
			steps := rnd.IntN(60)
			fsys.setFail(func(string, string, int) (int, error) {
				if steps--; steps < 0 {
					return 0, errIO
				}
				return 0, nil
			})
			_, _ = store.RepairLog(t.Context(), "", store.Options{FS: fsys, ReserveBytes: -1}, "ann")
			fsys.setFail(nil)
			fsys = fsys.crash(rnd)
		}
		repair(t, fsys, "ann")
		goesOn(t, fsys, "a/a")
		goesOn(t, fsys, "b/b")
		if r := repair(t, fsys, ""); r.Damage != "" {
			t.Errorf("still damaged: %s", r.Damage)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestARepairedLogIsSignedAnew_T24(t *testing.T) {
	fsys := newFaultFS()
	signed := func() (*store.Log, error) {
		return store.OpenSigned(t.Context(), "", store.Options{FS: fsys, ReserveBytes: -1}, store.Signing{})
	}
	l, err := signed()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		add(t, l, fmt.Sprint(i))
	}
	older := fsys.killed()
	add(t, l, "then")
	shut(t, l)                           // signs
	for name, n := range older.entries { // somebody puts back an older state of the chains
		if strings.HasPrefix(name, "t/") || strings.HasPrefix(name, "journal/") {
			fsys.entries[name] = n
		}
	}
	for name := range fsys.entries {
		if older.entries[name] == nil && (strings.HasPrefix(name, "t/") || strings.HasPrefix(name, "journal/")) {
			delete(fsys.entries, name)
		}
	}
	if r := repair(t, fsys, ""); !strings.Contains(r.Damage, "TRUNCATED") {
		t.Fatalf("report is %+v", r)
	}
	repair(t, fsys, "ann")
	if l, err = signed(); err != nil {
		t.Fatal(err)
	}
	add(t, l, "after")
	shut(t, l)
	chain := fsys.chains()[store.TenantID(tenant)]
	new(acks).check(t, []byte(chain))
	if !strings.Contains(chain, `"kind":"gap"`) {
		t.Errorf("no gap is recorded:\n%s", chain)
	}
}

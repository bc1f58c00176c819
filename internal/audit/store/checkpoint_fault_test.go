package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit/auditor"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

// goodInMemory demands that what a faultFS holds verifies.
func goodInMemory(t *testing.T, fsys *faultFS) {
	t.Helper()
	dir := t.TempDir()
	names, contents := fsys.files("")
	for i, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, []byte(contents[i]))
	}
	r, err := auditor.Verify(dir, auditor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK() || r.Signed == nil || r.Signed.Checkpoints == 0 {
		t.Errorf("findings are %v, signed %+v", r.All(), r.Signed)
	}
}

// T14 and T17, as far as checkpoints go: one operation on what is signed fails.
func TestAfterAFaultTheNextRoundSigns(t *testing.T) {
	for _, op := range []string{"open", "write", "datasync", "rename", "syncdir"} {
		for nth := range 4 {
			t.Run(fmt.Sprintf("%s %d", op, nth), func(t *testing.T) {
				fsys := newFaultFS()
				l := openSigned(t, "", store.Options{FS: fsys}, store.Signing{Interval: time.Hour})
				add(t, l, "a")
				settled(t, l, tenant, 2)
				left := nth
				fsys.setFail(func(did, name string, _ int) (int, error) {
					if did == op && strings.HasPrefix(name, "anchor") {
						if left--; left < 0 && left >= -1 {
							return 0, errIO
						}
					}
					return 0, nil
				})
				if err := l.Round(t.Context()); err != nil && !errors.Is(err, errIO) {
					t.Errorf("error is %v", err)
				}
				inOrder(t, l, tenant)
				fsys.setFail(nil)
				add(t, l, "b")
				settled(t, l, tenant, 3)
				round(t, l)
				if w := inOrder(t, l, tenant); w.Signed != 3 {
					t.Errorf("mark is %+v", w)
				}
				cut := fsys.powerCut()
				shut(t, l)
				l = openSigned(t, "", store.Options{FS: cut}, store.Signing{Interval: time.Hour})
				add(t, l, "c")
				shut(t, l)
				goodInMemory(t, cut)
			})
		}
	}
}

// Whatever moment the power goes at, the log starts again, and holds what it
// signed and published elsewhere.
func TestWhatWasSignedSurvivesPowerCuts(t *testing.T) {
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		fsys, file := newFaultFS(), filepath.Join(t.TempDir(), "anchors")
		for life := range 3 {
			l := openSigned(t, "", store.Options{FS: fsys, AppendTimeout: 5 * time.Second}, byHand(file))
			until := rnd.IntN(60)
			fsys.setFail(func(string, string, int) (int, error) {
				if until--; until < 0 {
					return 0, errIO
				}
				return 0, nil
			})
			for i := range 4 {
				_, appendErr := l.Append(t.Context(), tenant, decision(fmt.Sprintf("%d-%d", life, i)))
				if appendErr != nil || l.Round(t.Context()) != nil {
					break
				}
				inOrder(t, l, tenant)
			}
			cut := fsys.crash(rnd)
			fsys.setFail(func(string, string, int) (int, error) { return 0, errIO })
			_ = l.Close(t.Context()) // of the process that is dead already
			fsys = cut
		}
		l := openSigned(t, "", store.Options{FS: fsys}, byHand(file))
		add(t, l, "last")
		shut(t, l)
		goodInMemory(t, fsys)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

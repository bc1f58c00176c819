package policyfile_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/policyfile"
)

func hookPolicy(name, unlisted string) string {
	return "apiVersion: hookpolicy.dev/v1alpha1\nkind: HookPolicy\nmetadata: {name: " + name + ", namespace: team}\nspec: {unlistedTools: " + unlisted + "}\n"
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoadReadsFilesAndDirectories(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "policies")
	if err := os.Mkdir(sub, 0o750); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(sub, "a.yaml"), hookPolicy("a", "Allow"))
	put(t, filepath.Join(sub, "b.yml"), hookPolicy("b", "Deny"))
	put(t, filepath.Join(sub, "notes.txt"), "not a policy")
	single := filepath.Join(dir, "c.yaml")
	put(t, single, hookPolicy("c", "Ask"))
	set, _, err := policyfile.New([]string{sub, single}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if set.Len() != 3 {
		t.Errorf("%d policies", set.Len())
	}
}

func TestLoadTellsEveryMistakeOfEveryFile(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a.yaml"), hookPolicy("a", "Perhaps"))
	put(t, filepath.Join(dir, "b.yaml"), hookPolicy("b", "Never"))
	_, _, err := policyfile.New([]string{dir}).Load(t.Context())
	if err == nil {
		t.Fatal("bad files were loaded")
	}
	for _, want := range []string{"a.yaml", "b.yaml", "Perhaps", "Never", "spec.unlistedTools"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

// watched is what a watch has said so far.
type watched struct {
	mu   sync.Mutex
	sets []*plan.Set
	good []bool
	log  strings.Builder
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(b)
}

var _ io.Writer = (*watched)(nil)

func TestWatchAppliesGoodFilesAndKeepsThemWhileFilesAreBad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.yaml")
	put(t, path, hookPolicy("p", "Allow"))
	synctest.Test(t, func(t *testing.T) {
		source := policyfile.New([]string{path})
		first, _, err := source.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w := &watched{}
		ctx, stop := context.WithCancel(t.Context())
		go source.Watch(ctx, slog.New(slog.NewTextHandler(w, nil)),
			func(s *plan.Set) error { w.sets = append(w.sets, s); return nil },
			func(good bool) { w.good = append(w.good, good) })
		step := func() {
			time.Sleep(2 * policyfile.Interval)
			synctest.Wait()
		}

		step()
		if len(w.sets) != 0 || len(w.good) != 0 {
			t.Fatalf("an untouched file was applied again")
		}
		put(t, path, hookPolicy("p", "Deny"))
		step()
		if len(w.sets) != 1 || w.sets[0].Digest() == first.Digest() {
			t.Fatalf("%d sets after an edit", len(w.sets))
		}
		put(t, path, hookPolicy("p", "Perhaps"))
		step()
		step()
		if len(w.sets) != 1 || w.good[len(w.good)-1] || strings.Count(w.log.String(), "keeps the last good ones") != 1 {
			t.Errorf("a bad file: %d sets, good %v, log:\n%s", len(w.sets), w.good, w.log.String())
		}
		put(t, path, hookPolicy("p", "Allow"))
		step()
		if len(w.sets) != 2 || w.sets[1].Digest() != first.Digest() || !w.good[len(w.good)-1] {
			t.Errorf("a good file again: %d sets, good %v", len(w.sets), w.good)
		}
		stop()
		synctest.Wait()
	})
}

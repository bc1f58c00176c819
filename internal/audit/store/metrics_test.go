package store_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

// observed counts what it is told.
type observed struct{ batches, givenUp atomic.Int64 }

func (o *observed) Batch(int)    { o.batches.Add(1) }
func (o *observed) FileGivenUp() { o.givenUp.Add(1) }

func TestACorruptChainIsCountedWhileTheLogStaysReady(t *testing.T) {
	dir := t.TempDir()
	chain := lifeOf(t, dir, 4)
	write(t, chainFile(dir), chain[lineEnds(chain)[0]:]) // its beginning is gone

	var o observed
	l := open(t, dir, store.Options{Observer: &o})
	defer shut(t, l)
	if n := l.CorruptChains(); n != 0 {
		t.Errorf("corrupt chains before any is used: %d", n)
	}
	if _, err := l.Append(t.Context(), tenant, decision("c")); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("error is %v, want ErrCorrupt", err)
	}
	if _, err := l.Append(t.Context(), "other/policy", decision("d")); err != nil {
		t.Fatalf("another tenant's record: %v", err)
	}
	if err := l.Ready(); err != nil {
		t.Errorf("not ready for the others: %v", err)
	}
	if n := l.CorruptChains(); n != 1 {
		t.Errorf("corrupt chains = %d, want 1", n)
	}
	if n := o.batches.Load(); n != 1 {
		t.Errorf("%d batches are observed, want 1", n)
	}
	if n := o.givenUp.Load(); n != 0 {
		t.Errorf("%d files are given up, want 0", n)
	}
}

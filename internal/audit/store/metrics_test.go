package store_test

import (
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

func TestACorruptChainIsCountedWhileTheLogStaysReady(t *testing.T) {
	dir := t.TempDir()
	chain := lifeOf(t, dir, 4)
	write(t, chainFile(dir), chain[lineEnds(chain)[0]:]) // its beginning is gone

	registry := prometheus.NewPedanticRegistry()
	l := open(t, dir, store.Options{Metrics: registry})
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
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]*dto.Metric)
	for _, f := range families {
		got[f.GetName()] = f.GetMetric()[0]
	}
	if n := got["hookpolicy_audit_corrupt_chains"].GetGauge().GetValue(); n != 1 {
		t.Errorf("corrupt chains = %v, want 1", n)
	}
	if n := got["hookpolicy_audit_poisoned_files_total"].GetCounter().GetValue(); n != 0 {
		t.Errorf("poisoned files = %v, want 0", n)
	}
	if n := got["hookpolicy_audit_batch_records"].GetHistogram().GetSampleCount(); n != 1 {
		t.Errorf("%d batches are measured, want 1", n)
	}
}

package store_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/auditor"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

const tenant = "acme/policy"

func open(tb testing.TB, dir string, o store.Options) *store.Log {
	tb.Helper()
	o.ReserveBytes = cmp.Or(o.ReserveBytes, -1)
	l, err := store.Open(dir, o)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func shut(tb testing.TB, l *store.Log) {
	tb.Helper()
	if err := l.Close(tb.Context()); err != nil {
		tb.Error(err)
	}
}

func decision(id string) *audit.Record {
	return &audit.Record{
		Kind: audit.KindDecision, ID: id, Agent: "acme/etl", Tool: "db_query_sql", Decision: "Deny",
		Reason: "sql.forbidden", Args: map[string]any{"sql": "DROP DATABASE app"},
	}
}

func add(tb testing.TB, l *store.Log, id string) audit.Receipt {
	tb.Helper()
	r, err := l.Append(tb.Context(), tenant, decision(id))
	if err != nil {
		tb.Error(err) // not Fatal: writers are goroutines
	}
	return r
}

// acks collects what was acknowledged.
type acks struct {
	mu sync.Mutex
	m  map[string]audit.Receipt // by record id
}

func (a *acks) add(id string, r audit.Receipt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.m == nil {
		a.m = map[string]audit.Receipt{}
	}
	a.m[id] = r
}

// check demands that a chain holds each acknowledged record at its place, that
// no id stands twice, and that the whole verifies.
func (a *acks) check(tb testing.TB, chain []byte) {
	tb.Helper()
	var v audit.Verifier
	if err := v.Verify("chain", bytes.NewReader(chain)); err != nil {
		tb.Errorf("chain does not verify: %v", err)
	}
	seen := map[string]bool{}
	for line := range bytes.Lines(chain) {
		l, err := audit.ParseLine(line)
		if err != nil {
			tb.Fatal(err)
		}
		id, _, _ := strings.Cut(string(line[bytes.Index(line, []byte(`"id":"`))+len(`"id":"`):]), `"`)
		if l.Kind != audit.KindDecision {
			continue
		}
		if seen[id] {
			tb.Errorf("record %s stands twice", id)
		}
		seen[id] = true
		if r, ok := a.m[id]; ok && (r.Seq != l.Seq || r.Hash != l.Hash.String()) {
			tb.Errorf("record %s stands at %d, was acknowledged at %d", id, l.Seq, r.Seq)
		}
	}
	for id := range a.m {
		if !seen[id] {
			tb.Errorf("record %s was acknowledged and is not there", id)
		}
	}
}

// verified returns the report of a directory whose chains all verify.
func verified(tb testing.TB, dir string) *auditor.Report {
	tb.Helper()
	r, err := auditor.Verify(dir, auditor.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	if !r.OK() {
		tb.Fatalf("log does not verify: %v", r.All())
	}
	return r
}

func chainDir(dir string) string { return filepath.Join(dir, "t", store.TenantID(tenant), "log") }

func chainFile(dir string) string {
	return filepath.Join(chainDir(dir), fmt.Sprintf("%020d.jsonl", 0))
}

func read(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func write(tb testing.TB, name string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		tb.Fatal(err)
	}
}

// kinds returns the kinds of a chain's records, in order.
func kinds(tb testing.TB, chain []byte) (out []audit.Kind) {
	tb.Helper()
	for line := range bytes.Lines(chain) {
		l, err := audit.ParseLine(line)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, l.Kind)
	}
	return out
}

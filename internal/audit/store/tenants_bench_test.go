package store_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

// rate is how many records a second 64 appenders write to some tenants in turn.
func rate(b *testing.B, l *store.Log, names []string, n int) float64 {
	b.Helper()
	rec := decision("x")
	var turn atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for range 64 {
		wg.Go(func() {
			for i := int(turn.Add(1)); i <= n; i = int(turn.Add(1)) {
				if _, err := l.Append(b.Context(), names[i%len(names)], rec); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(n) / time.Since(start).Seconds()
}

func tenantNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("tenant-", i)
	}
	return names
}

// BenchmarkTenants measures the records a second of many tenants against those
// of one, in turn in the same run, both with all chains open (P10), and the
// memory of a tenant that is idle (P11).
func BenchmarkTenants(b *testing.B) {
	for _, tenants := range []int{16, 1000, 10_000} {
		b.Run(fmt.Sprint(tenants), func(b *testing.B) {
			one := open(b, b.TempDir(), store.Options{})
			rate(b, one, tenantNames(1), 64)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			many, names := open(b, b.TempDir(), store.Options{}), tenantNames(tenants)
			rate(b, many, names, max(tenants, 64))
			runtime.GC()
			runtime.ReadMemStats(&after)
			var ofOne, ofMany float64
			rounds := 0
			for b.Loop() {
				ofOne += rate(b, one, names[:1], 2000)
				ofMany += rate(b, many, names, 2000)
				rounds++
			}
			b.ReportMetric(ofMany/float64(rounds), "records/s")
			b.ReportMetric(ofMany/ofOne, "x-one-tenant")
			b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/float64(tenants), "B/idle-tenant")
			shut(b, one)
			shut(b, many)
		})
	}
}

// BenchmarkLongChain measures the records a second at the end of a chain of a
// hundred million records against those of a new one (P12), and how much longer
// opening it takes (P13).
func BenchmarkLongChain(b *testing.B) {
	short, long := b.TempDir(), b.TempDir()
	shut(b, open(b, short, store.Options{}))
	shut(b, open(b, long, store.Options{}))
	longChain(b, long, 100_000_000)
	var rates [2]float64
	var starts [2]time.Duration
	for b.Loop() {
		for i, dir := range []string{short, long} {
			begin := time.Now()
			l := open(b, dir, store.Options{})
			add(b, l, "first")
			starts[i] += time.Since(begin)
			rates[i] += rate(b, l, []string{tenant}, 4000)
			shut(b, l)
		}
	}
	b.ReportMetric(rates[1]/rates[0], "x-new-chain")
	b.ReportMetric(float64(starts[1])/float64(starts[0]), "x-start")
}

// longChain makes the end of a chain as one of n records would have it.
func longChain(tb testing.TB, dir string, n uint64) {
	tb.Helper()
	log := filepath.Join(dir, "t", store.TenantID(tenant), "log")
	if err := os.MkdirAll(log, 0o700); err != nil {
		tb.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	line, head, err := audit.AppendLine(nil, decision("last"), audit.Place{Seq: n - 1, Time: now, Tenant: tenant})
	if err != nil {
		tb.Fatal(err)
	}
	write(tb, filepath.Join(log, fmt.Sprintf("%020d.jsonl", n-1)), line)
	roots := bytes.Repeat([]byte("any subtree's root: 32 bytes    "), bits.OnesCount64(n))
	state, err := json.Marshal(map[string]any{
		"tenant": tenant, "origin": "hookpolicy.dev/x/y", "first": fmt.Sprint(n - 1), "size": fmt.Sprint(len(line)),
		"lastLen": len(line), "head": head.String(), "time": now,
		"tree": fmt.Sprintf("%d %s", n, base64.StdEncoding.EncodeToString(roots)),
	})
	if err != nil {
		tb.Fatal(err)
	}
	write(tb, filepath.Join(filepath.Dir(log), "state"), fmt.Appendf(state, "\n%x\n", sha256.Sum256(state)))
}

package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

// BenchmarkAppend measures durable records a second beside two baselines in
// the same run: a mutex and one fdatasync a record, which is what it replaces,
// and one bare fdatasync of the same bytes at a time, which is what the disk
// can do.
func BenchmarkAppend(b *testing.B) {
	line, _, err := audit.AppendLine(nil, decision("x"), audit.Place{Time: time.Now(), Tenant: tenant})
	if err != nil {
		b.Fatal(err)
	}
	for _, appenders := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprint(appenders), func(b *testing.B) {
			l := open(b, b.TempDir(), store.Options{})
			add(b, l, "first")
			rec := decision("x")
			b.ReportAllocs()
			spread(b, appenders, func() error {
				_, err := l.Append(b.Context(), tenant, rec)
				return err
			})
			rate := float64(b.N) / b.Elapsed().Seconds()
			naive, bare := rates(b, line, appenders)
			b.ReportMetric(rate, "records/s")
			b.ReportMetric(rate/naive, "x-naive")
			b.ReportMetric(rate/bare, "x-fdatasync")
			shut(b, l)
		})
	}
}

// spread divides b.N calls among goroutines.
func spread(b *testing.B, n int, call func() error) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := call(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
}

// rates measures the baselines, in records a second.
func rates(b *testing.B, line []byte, appenders int) (naive, bare float64) {
	b.Helper()
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "f"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	one := func() error {
		if _, err := f.Write(line); err != nil {
			return err
		}
		return syscall.Fdatasync(int(f.Fd()))
	}
	const n = 600
	start := time.Now()
	for range n {
		if err := one(); err != nil {
			b.Fatal(err)
		}
	}
	bare = n / time.Since(start).Seconds()

	var mu sync.Mutex
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(n)
	start = time.Now()
	for range appenders {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				mu.Lock()
				_ = one() // a failing disk shows above
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return n / time.Since(start).Seconds(), bare
}

// BenchmarkOpen opens a log with a long chain up to its first record.
func BenchmarkOpen(b *testing.B) {
	for _, records := range []int{10, 100_000} {
		b.Run(fmt.Sprint(records), func(b *testing.B) {
			dir := b.TempDir()
			l := open(b, dir, store.Options{})
			var wg sync.WaitGroup
			for range 100 {
				wg.Go(func() {
					for range records / 100 {
						add(b, l, "x")
					}
				})
			}
			wg.Wait()
			shut(b, l)
			for b.Loop() {
				l := open(b, dir, store.Options{})
				add(b, l, "x")
				b.StopTimer()
				shut(b, l)
				b.StartTimer()
			}
		})
	}
}

func BenchmarkCommitment(b *testing.B) {
	l := open(b, b.TempDir(), store.Options{})
	data := make([]byte, 500)
	b.ReportAllocs()
	for b.Loop() {
		l.Commitment(tenant, data)
	}
	shut(b, l)
}

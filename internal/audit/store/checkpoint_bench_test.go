package store_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

// BenchmarkRound signs and publishes 1,000 chains that have grown (P17). It
// prints what a round takes of one processor when there is one in ten seconds.
func BenchmarkRound(b *testing.B) {
	const tenants = 1000
	dir, file := b.TempDir(), filepath.Join(b.TempDir(), "anchors")
	l := openSigned(b, dir, store.Options{}, byHand(file))
	defer shut(b, l)
	grow := func(n uint64) {
		var wg sync.WaitGroup
		for i := range tenants {
			wg.Go(func() {
				if _, err := l.Append(b.Context(), fmt.Sprintf("team/%d", i), decision("a")); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
		for i := range tenants {
			settled(b, l, fmt.Sprintf("team/%d", i), n)
		}
	}
	var cpu time.Duration
	n := uint64(1)
	for b.Loop() {
		b.StopTimer()
		n++
		grow(n)
		startCPU := cpuTime(b)
		b.StartTimer()
		round(b, l)
		cpu += cpuTime(b) - startCPU
	}
	b.ReportMetric(cpu.Seconds()/float64(b.N)*1000, "cpu-ms/round")
	b.ReportMetric(cpu.Seconds()/float64(b.N)/10*100, "%-of-a-processor-at-10s")
}

// cpuTime is what the process has used of all processors.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

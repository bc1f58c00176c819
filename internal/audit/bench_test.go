package audit_test

import (
	"bytes"
	"crypto/sha256"
	"syscall"
	"testing"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
)

func BenchmarkEncode(b *testing.B) {
	r, p := decisionRecord(), audit.Place{Seq: 12345, Time: goldenTime, Tenant: "customer-a/customer-a", Replica: "r-0"}
	var d audit.Draft
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Reset(r); err != nil {
			b.Fatal(err)
		}
		dst, p.Prev = d.AppendLine(dst[:0], &p)
	}
	b.ReportMetric(float64(len(dst)), "bytes/record")
}

// BenchmarkPlace is the part of BenchmarkEncode that the committer does.
func BenchmarkPlace(b *testing.B) {
	p := audit.Place{Seq: 12345, Time: goldenTime, Tenant: "customer-a/customer-a", Replica: "r-0"}
	var d audit.Draft
	if err := d.Reset(decisionRecord()); err != nil {
		b.Fatal(err)
	}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst, p.Prev = d.AppendLine(dst[:0], &p)
	}
}

// BenchmarkVerify prints what verification costs in terms of SHA-256 over the
// same bytes in the same run: of-SHA-256 by the clock, cpu-of-SHA-256 by the
// time of all processors, which other work on the machine does not change. 1
// would be as fast, or as cheap. A checkpoint stands after every 500 records.
func BenchmarkVerify(b *testing.B) {
	lines := chainOf(b, 20_000)
	chain := bytes.Join(lines, nil)
	expect := checkpointsOf(b, lines, 500)
	for _, mode := range []struct {
		name      string
		chainOnly bool
	}{{"strict and closure", false}, {"chain only", true}} {
		b.Run(mode.name, func(b *testing.B) {
			b.SetBytes(int64(len(chain)))
			b.ReportAllocs()
			var hashing, verifying, hashingCPU, verifyingCPU time.Duration
			for b.Loop() {
				start, startCPU := time.Now(), cpuTime(b)
				sha256.Sum256(chain)
				hashed, hashedCPU := time.Now(), cpuTime(b)
				v := audit.Verifier{ChainOnly: mode.chainOnly, Expect: expect}
				if !mode.chainOnly {
					v.Closure = new(audit.Closure)
				}
				if err := v.Verify("f", bytes.NewReader(chain)); err != nil {
					b.Fatal(err)
				}
				hashing += hashed.Sub(start)
				hashingCPU += hashedCPU - startCPU
				verifying += time.Since(hashed)
				verifyingCPU += cpuTime(b) - hashedCPU
			}
			b.ReportMetric(float64(hashing)/float64(verifying), "of-SHA-256")
			b.ReportMetric(float64(hashingCPU)/float64(verifyingCPU), "cpu-of-SHA-256")
			b.ReportMetric(float64(len(chain))*float64(b.N)/verifying.Seconds()/1e6, "MB/s-verify")
		})
	}
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

func checkpointsOf(tb testing.TB, lines [][]byte, every int) (expect []audit.Expected) {
	tb.Helper()
	var tree checkpoint.Tree
	for _, line := range lines {
		l, err := audit.ParseLine(line)
		if err != nil {
			tb.Fatal(err)
		}
		if tree.Append(l.Hash); tree.Size()%uint64(every) == 0 {
			expect = append(expect, audit.Expected{Size: tree.Size(), Root: tree.Root()})
		}
	}
	return expect
}

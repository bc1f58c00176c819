package audit_test

import (
	"bytes"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit"
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

// BenchmarkVerify prints how fast a chain verifies in terms of SHA-256 over the
// same bytes in the same run: 1 would be as fast.
func BenchmarkVerify(b *testing.B) {
	chain := bytes.Join(chainOf(b, 20_000), nil)
	for _, mode := range []struct {
		name      string
		chainOnly bool
	}{{"strict", false}, {"chain only", true}} {
		b.Run(mode.name, func(b *testing.B) {
			b.SetBytes(int64(len(chain)))
			b.ReportAllocs()
			var hashing, verifying time.Duration
			for b.Loop() {
				start := time.Now()
				sha256.Sum256(chain)
				hashed := time.Now()
				v := audit.Verifier{ChainOnly: mode.chainOnly}
				if err := v.Verify("f", bytes.NewReader(chain)); err != nil {
					b.Fatal(err)
				}
				hashing += hashed.Sub(start)
				verifying += time.Since(hashed)
			}
			b.ReportMetric(float64(hashing)/float64(verifying), "of-SHA-256")
			b.ReportMetric(float64(len(chain))*float64(b.N)/verifying.Seconds()/1e6, "MB/s-verify")
		})
	}
}

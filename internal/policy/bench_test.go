package policy_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/policy"
)

// BenchmarkCompile compiles the sample policy as the watch of a cluster does.
func BenchmarkCompile(b *testing.B) {
	objects, err := policy.Parse(b.Context(), "f", policyFiles(b)["customer-a.yaml"])
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, errs := policy.Compile(objects[0].Policy); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

// BenchmarkLoad reads policies from a file, and reports the time for each and
// the memory that the set keeps for each.
func BenchmarkLoad(b *testing.B) {
	const policies = 500
	sample, err := os.ReadFile("../../test/policies/customer-a.yaml")
	if err != nil {
		b.Fatal(err)
	}
	var file strings.Builder
	for i := range policies {
		fmt.Fprintf(&file, "%s\n---\n", strings.Replace(string(sample), "name: customer-a\n", fmt.Sprintf("name: p%d\n", i), 1))
	}
	files := map[string][]byte{"f": []byte(file.String())}
	var set *plan.Set
	for b.Loop() {
		if set, _, err = policy.Load(b.Context(), files); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/policies, "ns/policy")
	b.ReportMetric(float64(retained(set, func() { set = nil }))/policies, "B/policy")
}

// retained is the memory that release gives back.
func retained(keep any, release func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	runtime.KeepAlive(keep)
	keep = nil
	release()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(before.HeapAlloc) - int64(after.HeapAlloc)
}

package layout_test

import (
	"math"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

func TestASegmentsNameSaysItsNumberAndNoOtherNameDoes(t *testing.T) {
	for _, n := range []uint64{0, 1, 99, math.MaxUint64} {
		if got, ok := layout.ParseSegment(layout.Segment(n)); !ok || got != n {
			t.Errorf("%s: %d %t", layout.Segment(n), got, ok)
		}
	}
	for _, name := range []string{"", ".jsonl", "1.jsonl", "0000000000000000000x.jsonl", "00000000000000000000.json", "99999999999999999999.jsonl", layout.Next} {
		if n, ok := layout.ParseSegment(name); ok {
			t.Errorf("%q is taken for segment %d", name, n)
		}
	}
}

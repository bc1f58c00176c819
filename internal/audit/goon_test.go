package audit_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
)

func TestEveryFaultIsNamedOnce(t *testing.T) {
	lines := chainOf(t, 30)
	lines[25] = bytes.Replace(lines[25], []byte("AskUser"), []byte("Allow!!"), 1)
	lines[20] = reseal(lines[20], "AskUser", "Allow!!")
	lines[15] = append(lines[15][:len(lines[15])-1], "\r\n"...)
	lines = append(lines[:11:11], append([][]byte{[]byte("garbage\n")}, lines[11:]...)...)
	lines = append(lines[:8:8], lines[9:]...)
	lines = append(lines[:4:4], lines[3:]...)
	var got []string
	v := audit.Verifier{Report: func(f *audit.Finding) { got = append(got, fmt.Sprintf("%s %d", f.Reason, f.Seq)) }}
	if err := v.Verify("f", bytes.NewReader(bytes.Join(lines, nil))); err != nil {
		t.Fatal(err)
	}
	want := []string{"seq 4", "seq 8", "frame 11", "frame 15", "prev_hash 21", "record_hash 25"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings differ (-want +got):\n%s", diff)
	}
	if s := v.Summary(); s.Next != 30 || s.Root != (audit.Hash{}) {
		t.Errorf("summary is %+v", s)
	}
}

func TestAChainMustFitItsCheckpoints(t *testing.T) {
	lines := chainOf(t, 12)
	var tree checkpoint.Tree
	var expect []audit.Expected
	for _, line := range lines {
		l, err := audit.ParseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		tree.Append(l.Hash)
		expect = append(expect, audit.Expected{Size: tree.Size(), Root: tree.Root(), From: "here"})
	}
	v := audit.Verifier{Expect: expect}
	if err := v.Verify("f", bytes.NewReader(bytes.Join(lines, nil))); err != nil {
		t.Fatal(err)
	}
	if s := v.Summary(); s.Fits != 12 || s.Root != tree.Root() || len(v.Expect) != 0 {
		t.Errorf("summary is %+v", s)
	}
	expect[7].Root[3] ^= 1
	v = audit.Verifier{Expect: expect[5:]}
	err := v.Verify("f", bytes.NewReader(bytes.Join(lines, nil)))
	if f, ok := err.(*audit.Finding); !ok || f.Reason != audit.ReasonRoot || f.Seq != 7 || !strings.Contains(f.Detail, "here") { //nolint:errorlint // it is returned as it is
		t.Errorf("error is %v", err)
	}
	v = audit.Verifier{Expect: []audit.Expected{{Size: 13}}}
	if err := v.Verify("f", bytes.NewReader(bytes.Join(lines, nil))); err != nil || len(v.Expect) != 1 {
		t.Errorf("a checkpoint beyond the end: %v, left are %v", err, v.Expect)
	}
}

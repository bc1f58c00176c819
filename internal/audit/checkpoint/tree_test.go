package checkpoint_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
)

func leaf(n int) checkpoint.Hash {
	return sha256.Sum256(binary.BigEndian.AppendUint64([]byte{0}, uint64(n)))
}

// stored is a whole tree as package tlog keeps it.
type stored []tlog.Hash

func (s stored) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		out[i] = s[x]
	}
	return out, nil
}

func TestTheRootIsThatOfRFC6962(t *testing.T) {
	var tree checkpoint.Tree
	var all stored
	for n := range 300 {
		want, err := tlog.TreeHash(int64(n), all)
		if err != nil {
			t.Fatal(err)
		}
		if got := tree.Root(); got != checkpoint.Hash(want) || tree.Size() != uint64(n) {
			t.Fatalf("root of %d leaves is %x, want %x", n, got, want)
		}
		hashes, err := tlog.StoredHashesForRecordHash(int64(n), leaf(n), all)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, hashes...)
		tree.Append(leaf(n))
	}
}

func TestATreeComesBackFromItsText(t *testing.T) {
	var tree checkpoint.Tree
	for n := range 200 {
		text, err := tree.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back checkpoint.Tree
		if err := back.UnmarshalText(text); err != nil || back != tree {
			t.Fatalf("%d leaves: %v", n, err)
		}
		back.Append(leaf(n))
		before := tree
		tree.Append(leaf(n))
		if back != tree || before == tree {
			t.Fatalf("%d leaves: what comes back does not go on the same way", n)
		}
	}
}

func TestOnlyTheOneTextOfATreeIsRead(t *testing.T) {
	one := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	for name, text := range map[string]string{
		"nothing":                  "",
		"no hashes":                "1 ",
		"no separator":             "0",
		"a hash too many":          "0 " + one,
		"a hash too few":           "3 " + one,
		"a zero before":            "01 " + one,
		"a sign":                   "+1 " + one,
		"a size beyond the bound":  "281474976710656 " + one,
		"no padding":               "1 " + one[:len(one)-1],
		"bits after the end":       "1 " + one[:len(one)-2] + "d=",
		"a newline after":          "1 " + one + "\n",
		"a newline inside":         "1 " + one[:8] + "\n" + one[8:],
		"two spaces":               "1  " + one,
		"more than any tree takes": "1 " + string(bytes.Repeat([]byte("A"), checkpoint.MaxTreeText)),
	} {
		var tree checkpoint.Tree
		if err := tree.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
	var tree checkpoint.Tree
	if err := tree.UnmarshalText([]byte("1 " + one)); err != nil {
		t.Error(err)
	}
}

func TestAppendingAllocatesNothing(t *testing.T) {
	var tree checkpoint.Tree
	h := leaf(1)
	if n := testing.AllocsPerRun(1000, func() { tree.Append(h) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// T29: a record that looks like an inner node is still a leaf.
func TestALeafIsNeverTakenForANode(t *testing.T) {
	a, b := leaf(1), leaf(2)
	var two checkpoint.Tree
	two.Append(a)
	two.Append(b)
	forged := append(append([]byte{1}, a[:]...), b[:]...)
	var one checkpoint.Tree
	one.Append(checkpoint.Hash(tlog.RecordHash(forged)))
	if one.Root() == two.Root() {
		t.Error("a record of the bytes of an inner node has its hash")
	}
}

func FuzzTreeText(f *testing.F) {
	var tree checkpoint.Tree
	for n := range 5 {
		text, _ := tree.MarshalText()
		f.Add(text)
		tree.Append(leaf(n))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var tree checkpoint.Tree
		if tree.UnmarshalText(text) != nil {
			return
		}
		if back, _ := tree.MarshalText(); !bytes.Equal(back, text) {
			t.Errorf("%q is read as %q", text, back)
		}
		tree.Root()
	})
}

func BenchmarkAppend(b *testing.B) {
	var tree checkpoint.Tree
	h := leaf(1)
	b.ReportAllocs()
	for b.Loop() {
		tree.Append(h)
	}
}

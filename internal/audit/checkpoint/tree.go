package checkpoint

import (
	"encoding/base64"
	"errors"
	"math/bits"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// A Hash is a SHA-256: of a record, an inner node, or a root.
type Hash = [tlog.HashSize]byte

const (
	maxLevels = 48
	// MaxSize is how many leaves a Tree takes: nine years of a million a second.
	MaxSize = 1<<maxLevels - 1
	// MaxTreeText bounds the text of a Tree, in bytes.
	MaxTreeText = len("281474976710655 ") + (maxLevels*tlog.HashSize+2)/3*4
)

// ErrTree says that a text is not that of a Tree.
var ErrTree = errors.New("not a tree in its text form")

// A Tree is the tree over a log, as far as appending to it needs it. The zero
// Tree is empty. It is a plain value: an assignment keeps what it was, and two
// are equal (==) exactly if they are of equal leaves.
type Tree struct {
	size uint64
	// nodes[k] is the root of the perfect subtree of 1<<k leaves if bit k of
	// size is set, else zero. The larger ones stand to the left.
	nodes [maxLevels]Hash
}

// Append adds a leaf: the hash of the next record. It allocates nothing.
func (t *Tree) Append(leaf Hash) {
	k := 0
	for ; t.size>>k&1 == 1; k++ {
		leaf = Hash(tlog.NodeHash(t.nodes[k], leaf))
		t.nodes[k] = Hash{}
	}
	t.nodes[k] = leaf // beyond MaxSize this panics, which no log lives to see
	t.size++
}

// Size returns the number of leaves.
func (t *Tree) Size() uint64 { return t.size }

// Root returns the root over all leaves; of none, the SHA-256 of nothing.
func (t *Tree) Root() Hash {
	if t.size == 0 {
		return emptyRoot
	}
	k := bits.TrailingZeros64(t.size)
	root := t.nodes[k]
	for k++; k < maxLevels; k++ {
		if t.size>>k&1 == 1 {
			root = Hash(tlog.NodeHash(t.nodes[k], root))
		}
	}
	return root
}

// emptyRoot is the SHA-256 of nothing.
var emptyRoot = Hash{
	0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24,
	0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
}

// AppendText appends the tree's text; it never fails. See the package comment.
func (t *Tree) AppendText(dst []byte) ([]byte, error) {
	var raw [maxLevels * tlog.HashSize]byte
	hashes := raw[:0]
	for k := maxLevels - 1; k >= 0; k-- {
		if t.size>>k&1 == 1 {
			hashes = append(hashes, t.nodes[k][:]...)
		}
	}
	dst = append(strconv.AppendUint(dst, t.size, 10), ' ')
	return base64.StdEncoding.AppendEncode(dst, hashes), nil
}

// MarshalText returns the tree's text; it never fails.
func (t *Tree) MarshalText() ([]byte, error) { return t.AppendText(nil) }

// UnmarshalText reads what MarshalText wrote, and nothing else: ErrTree.
func (t *Tree) UnmarshalText(text []byte) error {
	if len(text) > MaxTreeText {
		return ErrTree
	}
	size, hashes, ok := strings.Cut(string(text), " ")
	n, err := parseSize(size)
	if !ok || err != nil {
		return ErrTree
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(hashes)
	if err != nil || len(raw) != bits.OnesCount64(n)*tlog.HashSize || strings.ContainsAny(hashes, "\r\n") {
		return ErrTree
	}
	*t = Tree{size: n}
	for k := maxLevels - 1; k >= 0; k-- {
		if n>>k&1 == 1 {
			raw = raw[copy(t.nodes[k][:], raw):]
		}
	}
	return nil
}

// parseSize reads a size: decimal, without a sign or zeros before it.
func parseSize(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, maxLevels)
	if err != nil || strconv.FormatUint(n, 10) != s {
		return 0, ErrTree
	}
	return n, nil
}

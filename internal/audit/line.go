package audit

import (
	"crypto/sha256"
	"encoding/hex"
)

// Sizes, in bytes.
const (
	// MaxEntry bounds an entry, MaxLine a line with all that it holds.
	MaxEntry = 60 << 10
	MaxLine  = 64 << 10
)

// A Hash is the hash of a record; the zero Hash comes before the first one.
type Hash [sha256.Size]byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// What follows ENTRY without its last byte.
const (
	hashMember = `,"record_hash":"`
	lineEnd    = "\"}\n"
	hexLen     = 2 * sha256.Size
	sealLen    = len(hashMember) + hexLen + len(lineEnd)
)

// leafPrefix sets records apart from inner nodes of the tree over them: RFC
// 6962, section 2.1.
const leafPrefix = 0

// AppendSealed appends an entry as a line: with its hash and a newline. The
// entry must be a JSON object in canonical form that is not empty.
func AppendSealed(dst, entry []byte) ([]byte, Hash) {
	start := len(dst)
	dst = append(append(dst, leafPrefix), entry...)
	h := leafHash(dst[start:])
	return appendSeal(append(dst[:start], entry...), h), h
}

// leafHash returns the hash of an entry with leafPrefix before it.
func leafHash(prefixed []byte) Hash { return sha256.Sum256(prefixed) }

func appendHash(dst []byte, h Hash) []byte { return hex.AppendEncode(dst, h[:]) }

// appendSeal turns the entry at the end of dst into a line.
func appendSeal(dst []byte, h Hash) []byte {
	dst = append(dst[:len(dst)-1], hashMember...)
	dst = appendHash(dst, h)
	return append(dst, lineEnd...)
}

// splitLine takes a line apart: the entry without its last byte, and its hash
// in hexadecimal. It looks at the frame only.
func splitLine(line []byte) (open, hash []byte, ok bool) {
	n := len(line) - sealLen
	if n < 1 || string(line[len(line)-len(lineEnd):]) != lineEnd ||
		string(line[n:n+len(hashMember)]) != hashMember {
		return nil, nil, false
	}
	return line[:n], line[n+len(hashMember) : n+len(hashMember)+hexLen], true
}

package checkpoint

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// Bounds, in bytes.
const (
	MaxOrigin = 1024
	// MaxNote bounds a signed checkpoint, signatures included.
	MaxNote = 16 << 10
	// maxSignatures is what c2sp.org/signed-note asks readers to take at least.
	maxSignatures = 16
)

// ErrNote says that something is not a checkpoint with a signature that is
// known and good.
var ErrNote = errors.New("not a checkpoint with a good signature")

// A Checkpoint says how long a log is and what its root is.
type Checkpoint struct {
	Origin string
	Size   uint64
	Root   Hash
}

// String returns the three lines that are signed.
func (c Checkpoint) String() string {
	return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]))
}

// Parse reads what String wrote, and nothing else: ErrNote.
func Parse(text string) (Checkpoint, error) {
	lines := strings.SplitN(text, "\n", 4)
	if len(lines) != 4 || lines[3] != "" || !isOrigin(lines[0]) {
		return Checkpoint{}, ErrNote
	}
	c := Checkpoint{Origin: lines[0]}
	var err error
	if c.Size, err = parseSize(lines[1]); err != nil {
		return Checkpoint{}, ErrNote
	}
	root, err := base64.StdEncoding.Strict().DecodeString(lines[2])
	if err != nil || len(root) != len(c.Root) || c.Size == 0 && Hash(root) != emptyRoot || strings.Contains(lines[2], "\r") {
		return Checkpoint{}, ErrNote
	}
	c.Root = Hash(root)
	return c, nil
}

// isOrigin demands printable ASCII without spaces or a plus sign: what can name
// a key too.
func isOrigin(s string) bool {
	if s == "" || len(s) > MaxOrigin {
		return false
	}
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || c == '+' {
			return false
		}
	}
	return true
}

// Verifiers are the public keys that a reader trusts.
type Verifiers struct{ list note.Verifiers }

// NewVerifiers reads public keys.
func NewVerifiers(vkeys ...string) (Verifiers, error) {
	var list []note.Verifier
	for _, text := range vkeys {
		v, err := note.NewVerifier(text)
		if err != nil {
			return Verifiers{}, fmt.Errorf("read a public key: %w", err)
		}
		list = append(list, v)
	}
	return Verifiers{note.VerifierList(list...)}, nil
}

// Open returns a signed checkpoint if at least one of its signatures is of a
// known key and none of a known key is bad; else ErrNote.
func (v Verifiers) Open(signed []byte) (Checkpoint, error) {
	if v.list == nil || len(signed) > MaxNote || bytes.Count(signed, []byte("\n— ")) > maxSignatures {
		return Checkpoint{}, ErrNote
	}
	n, err := note.Open(signed, v.list)
	if err != nil {
		return Checkpoint{}, ErrNote
	}
	return Parse(n.Text)
}

// OpenUnverified returns what a checkpoint says without looking at who says it.
func OpenUnverified(signed []byte) (Checkpoint, error) {
	if len(signed) > MaxNote {
		return Checkpoint{}, ErrNote
	}
	text, _, ok := bytes.Cut(signed, []byte("\n\n"))
	if !ok {
		return Checkpoint{}, ErrNote
	}
	return Parse(string(text) + "\n")
}

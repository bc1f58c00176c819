package lex

// Mark stands where a secret was.
const Mark = "[REDACTED]"

// A Span is a part of a text that is a secret.
type Span struct {
	Start, End int    // bytes from the beginning of the text
	How        string // the name of the shape
}

// Columns is a set of positions, the first 256.
type Columns [4]uint64

// Add adds a position; one that is too far off is left out.
func (c *Columns) Add(i int) {
	if i < 256 {
		c[i>>6] |= 1 << (i & 63)
	}
}

// Has reports whether a position is in the set.
func (c *Columns) Has(i int) bool { return i < 256 && c[i>>6]&(1<<(i&63)) != 0 }

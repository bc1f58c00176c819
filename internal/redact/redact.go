package redact

import (
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/find"
	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
	"github.com/hookpolicy/hookpolicy/internal/redact/names"
)

// Mark stands where a secret was.
const Mark = lex.Mark

// A Removed is one secret that was taken out.
type Removed struct {
	// Pointer says where, as RFC 6901 has it: the value, or the string that held
	// the secret, or the member whose name did. It has the names that the clean
	// arguments have: a name that held a secret is not in it.
	Pointer string

	// How is "key" if a name told, else "shape:" and the name of the shape.
	How string

	// Original is the value that was taken out, or the part of a string.
	Original any
}

// A Redactor takes secrets out. It is immutable and safe for concurrent use.
// Its zero value knows no extra names.
type Redactor struct{ names names.Dictionary }

// New returns a Redactor that treats extraKeys like the names of secrets that
// it knows, in any of their spellings. Without extra keys it costs no memory
// to speak of.
func New(extraKeys []string) *Redactor { return &Redactor{names.New(extraKeys)} }

// Text returns s without secrets.
func (r *Redactor) Text(s string) string {
	clean, _ := r.text(s, 0)
	return clean
}

// maxPasses bounds how often a text is read again after something was taken
// out of it.
const maxPasses = 4

// text returns s without secrets, and what was taken out.
//
// What is left is read again until nothing is found: so redacting twice is
// redacting once, whatever the rules are. A text that does not come to rest
// is removed whole.
func (r *Redactor) text(s string, depth int) (string, []cut) {
	clean, cuts := r.pass(s, depth)
	if cuts == nil || depth > 0 { // the outer text is read again with it
		return clean, cuts
	}
	for range maxPasses {
		again, more := r.pass(clean, depth)
		if more == nil {
			return clean, cuts
		}
		clean, cuts = again, []cut{{s, cuts[0].how}}
	}
	return lex.Mark, []cut{{s, cuts[0].how}}
}

// A cut is a secret that was taken out of a text.
type cut struct{ text, how string }

func (r *Redactor) pass(s string, depth int) (string, []cut) {
	if !r.told(s) {
		return s, nil
	}
	spans := find.Spans(&r.names, s)
	var cuts []cut
	clean := s
	if len(spans) > 0 {
		var b strings.Builder
		b.Grow(len(s))
		at := 0
		for _, sp := range spans {
			b.WriteString(s[at:sp.Start])
			b.WriteString(lex.Mark)
			at = sp.End
			cuts = append(cuts, cut{s[sp.Start:sp.End], "shape:" + sp.How})
		}
		b.WriteString(s[at:])
		clean = b.String()
	}
	if doc, ok := r.document(clean, depth); ok {
		return doc, append(cuts, cut{clean, "shape:json"})
	}
	return clean, cuts
}

// told reports whether anything in a text could tell of a secret.
func (r *Redactor) told(s string) bool { return find.Told(&r.names, s) }

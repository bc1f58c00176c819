package names

import (
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
	"github.com/hookpolicy/hookpolicy/internal/redact/trigger"
)

// A Dictionary knows the names of secrets, and those that a policy adds. It is
// immutable. Its zero value knows no extra names.
type Dictionary struct {
	extra map[string]bool  // names, as one folded word each
	also  *trigger.Trigger // of extra; nil if there is none
}

// New returns a dictionary with extra names, in any spelling.
func New(extra []string) Dictionary {
	var d Dictionary
	var first []string
	for _, key := range extra {
		var w words
		w.split(key)
		if w.count == 0 {
			continue
		}
		if d.extra == nil {
			d.extra = make(map[string]bool, len(extra))
		}
		d.extra[strings.TrimSuffix(string(w.all()), "s")] = true
		if lex.IsASCII(string(w.at(0))) { // text in other letters is always read
			first = append(first, strings.TrimSuffix(string(w.at(0)), "s"))
		}
	}
	if len(first) > 0 {
		d.also = trigger.New(first)
	}
	return d
}

// HasExtra reports whether the dictionary has names of its own.
func (d *Dictionary) HasExtra() bool { return d.also != nil }

// ExtraIn reports whether a text could hold a name of its own.
func (d *Dictionary) ExtraIn(s string) bool { return d.also != nil && d.also.In(s) }

package redact

import (
	"strconv"
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/cmdline"
	"github.com/hookpolicy/hookpolicy/internal/redact/find"
	"github.com/hookpolicy/hookpolicy/internal/redact/names"
)

// list redacts the elements of a list by a function; it copies the list when
// one changes first.
func (w *walker) list(at string, list []any, element func(at string, i int, e any) (any, bool)) (any, bool) {
	var copied []any
	for i, e := range list {
		if c, did := element(at+"/"+strconv.Itoa(i), i, e); did {
			if copied == nil {
				copied = append([]any(nil), list...)
			}
			copied[i] = c
		}
	}
	if copied == nil {
		return list, false
	}
	return copied, true
}

// array redacts a list: each element by itself, and what is a secret for its
// place: in a command line, or after its name.
func (w *walker) array(at string, list []any, program string) (any, bool) {
	line, named := command{w: w}, false
	if program != "" {
		line.Next(program)
	}
	return w.list(at, list, func(at string, i int, e any) (any, bool) {
		was := named
		s, ok := e.(string)
		if !ok {
			if named = false; was {
				if c, did := w.take(at, e, names.Weak); did {
					return c, true
				}
			}
			return w.value(at, e)
		}
		named = isFlagOfSecret(&w.r.names, s)
		switch {
		case len(list) == 2 && i == 1 && isPair(&w.r.names, list[0], s), len(list)%2 == 0 && i%2 == 1 && isHeader(&w.r.names, list[i-1], s):
			return w.take(at, e, names.Secret)
		case was && !strings.HasPrefix(s, "-") && !find.IsHarmless(s, names.Secret):
			return w.take(at, e, names.Secret)
		}
		if c, did := line.word(at, s); did {
			return c, true
		}
		return w.text(at, s)
	})
}

// A command is a command line given as a list.
type command struct {
	cmdline.Line
	w *walker
}

// word judges the next word of the command line, if that is what the list is.
func (c *command) word(at, s string) (any, bool) {
	if !c.Started() && !cmdline.Known(s) {
		return s, false
	}
	part, ok := c.Next(s)
	if !ok || find.IsHarmless(s[part.Start:part.End], names.Secret) {
		return s, false
	}
	c.w.removed = append(c.w.removed, Removed{at, "shape:flag", s[part.Start:part.End]})
	return s[:part.Start] + Mark + s[part.End:], true
}

// isFlagOfSecret reports whether an element is a flag whose name is that of a
// secret: --password.
func isFlagOfSecret(d *names.Dictionary, s string) bool {
	name, ok := strings.CutPrefix(s, "-")
	return ok && len(name) > 1 && len(name) <= 64 && !strings.ContainsAny(name, "= :") && d.KindOf(strings.TrimPrefix(name, "-")) != names.Plain
}

// isHeader reports whether an element of a list of names and values in turn is
// the value of a header that holds a secret.
func isHeader(d *names.Dictionary, name any, value string) bool {
	s, ok := name.(string)
	return ok && len(s) <= 64 && strings.IndexByte(s, '-') > 0 && strings.IndexByte(s, ' ') < 0 && d.KindOf(s) != names.Plain &&
		find.IsRandom(value, 8) && d.KindOf(value) == names.Plain
}

// isPair reports whether a list of two is a name and its secret, and not two
// names.
func isPair(d *names.Dictionary, first any, second string) bool {
	name, ok := first.(string)
	return ok && len(name) <= 64 && !strings.HasPrefix(name, "-") && !strings.ContainsAny(name, " =:") && d.KindOf(name) != names.Plain &&
		!(find.OnlyLetters(second) && strings.ToLower(second) == second) && d.KindOf(second) == names.Plain
}

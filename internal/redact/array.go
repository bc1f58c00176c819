package redact

import (
	"path"
	"strconv"
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/find"
	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
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

// array redacts a list: each element by itself, and what stands after a flag
// of a command line, or after the name of a secret in a list of two.
func (w *walker) array(at string, list []any) (any, bool) {
	command, after := "", afterNothing
	return w.list(at, list, func(at string, i int, e any) (any, bool) {
		s, ok := e.(string)
		if !ok {
			if after != afterNothing {
				after = afterNothing
				if c, did := w.take(at, e, names.Weak); did {
					return c, true
				}
			}
			return w.value(at, e)
		}
		was := after
		after = w.flagged(s, command)
		if name := path.Base(s); find.Commands[name] != "" {
			command = name
		}
		if i == 1 && len(list) == 2 && isPair(&w.r.names, list[0], s) {
			return w.take(at, e, names.Secret)
		}
		switch {
		case was == afterSecret && !strings.HasPrefix(s, "-") && !find.IsHarmless(s, names.Secret):
			return w.take(at, e, names.Secret)
		case was == afterUser:
			if user, password, ok := strings.Cut(s, ":"); ok && !find.IsHarmless(password, names.Secret) {
				w.removed = append(w.removed, Removed{at, "shape:flag", password})
				return user + ":" + lex.Mark, true
			}
		}
		if letter := find.Attached[command]; letter != "" && strings.HasPrefix(s, "-"+letter) && len(s) > 2 && !find.IsHarmless(s[2:], names.Secret) {
			w.removed = append(w.removed, Removed{at, "shape:flag", s[2:]})
			return s[:2] + lex.Mark, true
		}
		return w.text(at, s)
	})
}

// What an element of a command line says of the next one.
type flagged int

const (
	afterNothing flagged = iota
	afterSecret          // it is a secret
	afterUser            // it is user:password
)

func (w *walker) flagged(s, command string) flagged {
	name, ok := strings.CutPrefix(s, "-")
	if !ok || len(name) > 64 || strings.ContainsAny(name, "= :") {
		return afterNothing
	}
	if s == "--user" || command == "curl" && s == "-u" {
		return afterUser
	}
	if len(name) == 1 {
		if strings.Contains(find.Commands[command], name) && find.Attached[command] != name {
			return afterSecret
		}
		return afterNothing
	}
	if w.r.names.KindOf(strings.TrimPrefix(name, "-")) != names.Plain {
		return afterSecret
	}
	return afterNothing
}

// isPair reports whether a list of two is a name and its secret, and not two
// names.
func isPair(d *names.Dictionary, first any, second string) bool {
	name, ok := first.(string)
	return ok && len(name) <= 64 && !strings.HasPrefix(name, "-") && !strings.ContainsAny(name, " =:") && d.KindOf(name) != names.Plain &&
		!(find.OnlyLetters(second) && strings.ToLower(second) == second) && d.KindOf(second) == names.Plain
}

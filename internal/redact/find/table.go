package find

import (
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
	"github.com/hookpolicy/hookpolicy/internal/redact/names"
)

// table takes out the columns of a text with separators (CSV, TSV) that its
// first line names as secrets.
func (sc *scanner) table() {
	s := sc.s
	head := strings.IndexByte(s[:min(len(s), 1024)], '\n')
	if head <= 0 {
		return
	}
	line := strings.TrimSuffix(s[:head], "\r")
	for _, sep := range []byte{',', '\t', ';', '|'} {
		if n := strings.Count(line, string(sep)); n > 0 {
			if secrets := headings(sc.d, strings.Split(line, string(sep))); secrets != (lex.Columns{}) {
				sc.rows(head+1, sep, n, secrets)
			}
			return
		}
	}
}

// headings returns which columns are secret. What is no list of names has
// none.
func headings(d *names.Dictionary, titles []string) (c lex.Columns) {
	for i, name := range titles {
		name = strings.Trim(name, "\"' \t")
		if len(name) > 64 || strings.ContainsAny(name, "=:(){}") {
			return lex.Columns{}
		}
		if d.KindOf(name) != names.Plain {
			c.Add(i)
		}
	}
	return c
}

func (sc *scanner) rows(at int, sep byte, seps int, secrets lex.Columns) {
	s := sc.s
	for at < len(s) {
		end := lex.LineEnd(s, at)
		if strings.Count(s[at:end], string(sep)) < seps {
			at = end + 1
			continue
		}
		for column := 0; at < end; column++ {
			stop := at
			if _, _, after, ok := lex.Literal(s[:end], at); ok {
				stop = after
			}
			for stop < end && s[stop] != sep {
				stop++
			}
			if field := strings.TrimRight(s[at:stop], "\r"); secrets.Has(column) && !IsHarmless(strings.Trim(field, `"`), names.Secret) {
				sc.add(at, at+len(field), "table")
			}
			at = stop + 1
		}
		at = end + 1
	}
}

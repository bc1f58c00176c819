package find

import (
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
	"github.com/hookpolicy/hookpolicy/internal/redact/names"
)

// separator finds what stands between the name from i to end and its value:
// "=", ":", "=>", ":=", in quotes, brackets or escaped JSON. It returns where
// the value begins.
func (sc *scanner) separator(i, end int) (value int, ok bool) {
	s, p := sc.s, sc.closed(i, end)
	blank := p
	p = lex.SkipBlank(s, p)
	if p == len(s) || s[p] < 0x80 && strings.IndexByte(`=:!<|?+-%&\\`, s[p]) < 0 {
		return 0, false
	}
	rest := s[p:]
	for _, sep := range separators {
		if !strings.HasPrefix(rest, sep.text) {
			continue
		}
		if sep.spaced && p == blank {
			return 0, false
		}
		p += len(sep.text)
		return p, sep.text != ":" || !strings.HasPrefix(s[p:], ":") && !strings.HasPrefix(s[p:], "//")
	}
	return 0, false
}

// separators, longer ones first.
var separators = []struct {
	text   string
	spaced bool // only after a space
}{
	{"===", false}, {"!==", false}, {"==", false}, {"=>", false}, {":=", false}, {"!=", false}, {"<>", false}, {"||=", false},
	{"?=", false}, {"+=", false}, {"->", true}, {"=", false}, {":", false},
	{"：", false}, {"＝", false}, {"→", false}, {"%3D", false}, {"%3d", false}, {"%3A", false}, {"%3a", false},
	{"&#61;", false}, {"&#x3d;", false}, {"&#x3D;", false}, {"&equals;", false}, {`\u003d`, false}, {`\u003D`, false}, {`\x3d`, false},
	{`\x3D`, false}, {"%253D", false}, {"%253d", false}, {"%5D=", false}, {"%5d=", false}, {"%5D%3D", false}, {"%22%3A", false}, {"%22%3a", false}, {"&quot;:", false}, {"&#34;:", false},
}

// closed returns where the quotes and brackets that were opened before i are
// closed again.
func (sc *scanner) closed(i, end int) int {
	s, p := sc.s, end
	if i == 0 {
		return p
	}
	switch open := s[i-1]; {
	case lex.IsQuote(open):
		q := p
		for q < len(s) && s[q] == '\\' {
			q++
		}
		if q == len(s) || s[q] != open {
			return p
		}
		p = q + 1
		if p < len(s) && s[p] == ']' {
			p++
		}
	case open == '[' && p < len(s) && s[p] == ']':
		p++
	case open == '*':
		for p < len(s) && s[p] == '*' {
			p++
		}
	}
	return p
}

// pair judges a name and what stands after its separator.
func (sc *scanner) pair(i, end, v int) int {
	k := sc.kindAt(i, end)
	if k == names.Plain {
		return max(end, sc.sibling(i, end, v))
	}
	if next := sc.value(i, v, k); next > v {
		return next
	}
	return end
}

// kindAt is kindOf for a name within text: in the query of a URL more names
// are secret, and outside of code a name may be two words.
func (sc *scanner) kindAt(i, end int) names.Kind {
	s := sc.s
	k := sc.d.KindOf(s[i:end])
	if k != names.Plain {
		return k
	}
	if sc.inQuery(i) && inQuery[names.Compact(s[i:end])] {
		return names.Weak
	}
	if i > 1 && s[i-1] == ' ' {
		start := i - 1
		for start > 0 && i-start < 32 && (lex.IsAlnum(s[start-1]) || s[start-1] == '_' || s[start-1] == '-') {
			start--
		}
		if sc.d.HasExtra() || end-i < 10 && names.EndsPhrase(strings.ToLower(s[i:end])) {
			return sc.d.KindOf(s[start:end])
		}
	}
	return names.Plain
}

func (sc *scanner) inQuery(i int) bool {
	return i > 0 && strings.IndexByte("?&#", sc.s[i-1]) >= 0
}

// value takes out the value that begins at v, after the name at i. It returns
// where to go on, or 0 if nothing was taken.
func (sc *scanner) value(i, v int, k names.Kind) int {
	s := sc.s
	quotedName := i > 0 && lex.IsQuote(s[i-1])
	p := lex.SkipBlank(s, v)
	for quotedName && p < len(s) && lex.IsSpace(s[p]) {
		p++
	}
	if p == len(s) {
		return 0
	}
	if start, stop, after, ok := lex.Literal(s, p); ok {
		return sc.take(i, start, stop, after, k)
	}
	switch s[p] {
	case '\n', '\r':
		return sc.below(i, v, p, k)
	case '[', '{', '(':
		if next, ok := sc.bracketed(p, k, quotedName); ok {
			return next
		}
	case '|', '>':
		if start := lex.BlockScalar(s, i, p); start > 0 {
			stop := lex.BlockEnd(s, i, start)
			return sc.take(i, start, stop, stop, names.Secret)
		}
	case '%':
		if strings.HasPrefix(s[p:], "%22") || strings.HasPrefix(s[p:], "%27") {
			p += 3
		}
	}
	return sc.bare(i, v, p, k)
}

// bare takes out a value without quotes.
func (sc *scanner) bare(i, v, p int, k names.Kind) int {
	s := sc.s
	stop := sc.bareEnd(i, v, p)
	if stop == p || stop-p < 24 && typeWords[strings.ToLower(strings.TrimRight(s[p:stop], " \t"))] {
		return sc.typed(i, stop, k)
	}
	if isCall(s, p, stop) || isUnion(s[stop:min(len(s), stop+32)]) {
		return 0
	}
	if stop < len(s) && stop-p < 16 && isHeaderOfCredentials(s[i:min(v, i+32)]) && schemes[strings.ToLower(s[p:stop])] {
		_, stop = nextWord(s, stop) // authorization=Bearer …
	}
	return sc.take(i, p, stop, stop, k)
}

// below takes out the value of a YAML key that stands on the lines below it.
func (sc *scanner) below(i, v, p int, k names.Kind) int {
	s := sc.s
	start := lex.NextLine(s, i, p)
	if start == 0 || s[v-1] != ':' {
		return 0
	}
	stop := lex.BlockEnd(s, i, start)
	if s[start] == '-' {
		stop = lex.ListEnd(s, start)
	}
	return sc.take(i, start, stop, stop, k)
}

// bracketed takes out a list, an object of JSON or a tuple.
func (sc *scanner) bracketed(p int, k names.Kind, quotedName bool) (next int, ok bool) {
	s := sc.s
	if k == names.Weak && s[p] == '{' {
		return 0, true // its members have names of their own
	}
	if strings.HasPrefix(s[p:], lex.Mark) || s[p] == '{' && !quotedName && !isFlowMap(s[p:]) || s[p] == '(' && (p+1 == len(s) || !lex.IsQuote(s[p+1])) {
		return 0, false
	}
	stop := lex.Balanced(s, p)
	if k == names.Count && isTame(s[p:stop]) {
		return 0, true
	}
	sc.add(p, stop, "pair")
	return stop, true
}

// isFlowMap reports whether a text begins with an object of YAML on one line:
// { prod: x }.
func isFlowMap(s string) bool {
	line := s[:min(lex.LineEnd(s, 0), maxHarmless)]
	colon, shut := strings.Index(line, ": "), strings.IndexByte(line, '}')
	return colon > 1 && shut > colon && line[1] != '{' && line[1] != '%'
}

// typed takes out the value of a declaration that names a type first.
func (sc *scanner) typed(i, p int, k names.Kind) int {
	s := sc.s
	for p < len(s) && lex.IsBlank(s[p]) {
		p++
	}
	if p == len(s) || s[p] != '=' {
		return 0
	}
	for p++; p < len(s) && lex.IsBlank(s[p]); p++ {
	}
	if start, stop, after, ok := lex.Literal(s, p); ok {
		return sc.take(i, start, stop, after, k)
	}
	return 0
}

// take takes out s[start:stop], unless it hides nothing. The scheme of an
// Authorization header stays.
func (sc *scanner) take(i, start, stop, after int, k names.Kind) int {
	s := sc.s
	if IsHarmless(s[start:stop], k) {
		return 0
	}
	if isHeaderOfCredentials(s[i:min(len(s), i+32)]) {
		if n := schemeLen(s[start:stop]); n > 0 {
			if IsHarmless(s[start+n:stop], k) {
				return 0
			}
			start += n
		}
	}
	sc.add(start, stop, "pair")
	return after
}

func isHeaderOfCredentials(s string) bool {
	s = strings.ToLower(s)
	return strings.HasPrefix(s, "authorization") || strings.HasPrefix(s, "proxy-authorization")
}

// schemeLen returns the length of the scheme, and the space after it, that a
// value of an Authorization header begins with.
func schemeLen(value string) int {
	n := strings.IndexByte(value, ' ')
	if n <= 0 || !schemes[strings.ToLower(value[:n])] {
		return 0
	}
	for n < len(value) && value[n] == ' ' {
		n++
	}
	return n
}

// sibling takes out the value that stands beside a field which holds the name
// of a secret: name="password" value="…", {"name": "Authorization", "value": …}.
func (sc *scanner) sibling(i, end, v int) int {
	s := sc.s
	if end-i > 10 || !names.IsNameField(strings.ToLower(s[i:end])) {
		return 0
	}
	for v < len(s) && lex.IsBlank(s[v]) {
		v++
	}
	if v == len(s) || s[v] == '$' || s[v] >= 0x80 {
		return 0
	}
	start, stop, after, ok := lex.Literal(s, v)
	if !ok {
		for start, stop = v, v; stop < len(s) && stop-v < 64 && (lex.Slug.Has(s[stop]) || s[stop] == '.'); {
			stop++
		}
		after = stop
	}
	if stop-start > 64 || sc.d.KindOf(s[start:stop]) == names.Plain {
		return 0
	}
	return sc.besides(i, after)
}

// besides looks a little ahead of a telling name for its value. It returns
// where to go on.
func (sc *scanner) besides(name, from int) int {
	s := sc.s
	window := s[from:min(len(s), from+256)]
	if n := blankLine(window); n > 0 { // multipart/form-data
		stop := from + n
		for stop < len(s) && s[stop] != '\n' && s[stop] != '\r' {
			stop++
		}
		return sc.take(name, from+n, stop, stop, names.Secret)
	}
	if gt := strings.IndexByte(window, '>'); gt >= 0 && !strings.ContainsAny(window[:gt], "</") {
		if lt := strings.Index(window[gt:], "</"); lt > 0 && !strings.Contains(strings.ToLower(window[:gt]), "value") {
			return sc.take(name, from+gt+1, from+gt+lt, from+gt+lt, names.Secret)
		}
	}
	for k := 0; k < len(window); k++ {
		switch c := window[k]; {
		case c == '}' || c == '<':
			return 0
		case lex.IsAlpha(c):
			end := sc.runEnd(from + k)
			field := strings.ToLower(s[from+k : min(end, from+k+16)])
			if names.IsValueField(field) {
				if v, ok := sc.separator(from+k, end); ok {
					return sc.value(from+k, v, names.Secret)
				}
			}
			if names.IsNameField(field) {
				return 0
			}
			k = end - from
		}
	}
	return 0
}

// blankLine returns where the text after the first blank line begins, if
// nothing but the rest of a line stands before it.
func blankLine(s string) int {
	for _, nl := range []string{"\r\n\r\n", "\n\n", `\r\n\r\n`} {
		if n := strings.Index(s, nl); n >= 0 && n < 80 && strings.Count(s[:n], "\n") <= 1 {
			return n + len(nl)
		}
	}
	return 0
}

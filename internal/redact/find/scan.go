package find

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
	"github.com/hookpolicy/hookpolicy/internal/redact/names"
	"github.com/hookpolicy/hookpolicy/internal/redact/sqltext"
	"github.com/hookpolicy/hookpolicy/internal/redact/token"
)

// A scanner reads a text once, from the left, and collects what is secret. It
// never looks further ahead than a constant, unless it also moves there: that
// makes it linear.
type scanner struct {
	d     *names.Dictionary
	s     string
	spans []lex.Span
	depth int // of encodings that were undone

	jwtFrom int // no JWT begins before
	urlEnd  int // of the URL that was read last
	urlAt   int // its last "@", if it is within it
}

// Spans finds the secrets of a text, in order and apart from each other.
func Spans(d *names.Dictionary, s string) []lex.Span {
	sc := scanner{d: d, s: s}
	sc.all()
	return merge(sc.spans)
}

// all reads the text in every way.
func (sc *scanner) all() {
	sc.scan()
	if strings.Contains(sc.s, "AKIA") || strings.Contains(sc.s, "ASIA") {
		sc.awsSecrets()
	}
	sc.table()
	sc.commands()
	sc.manifests()
	sc.lines()
	sc.base64()
	if sqltext.LooksLikeSQL(sc.s) {
		sc.spans = append(sc.spans, sqltext.Spans(sc.d, sc.s)...)
	}
}

func merge(spans []lex.Span) []lex.Span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortStableFunc(spans, func(a, b lex.Span) int { return a.Start - b.Start })
	out := spans[:1]
	for _, sp := range spans[1:] {
		if last := &out[len(out)-1]; sp.Start < last.End {
			last.End = max(last.End, sp.End)
		} else {
			out = append(out, sp)
		}
	}
	return out
}

func (sc *scanner) add(start, end int, how string) {
	if start < end && sc.s[start:end] != lex.Mark {
		sc.spans = append(sc.spans, lex.Span{Start: start, End: end, How: how})
	}
}

func (sc *scanner) scan() {
	s := sc.s
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case lex.IsAlnum(c) || c == '_' || c >= utf8.RuneSelf:
			end := sc.runEnd(i)
			if end == i {
				_, n := utf8.DecodeRuneInString(s[i:])
				i += n
				continue
			}
			i = max(sc.word(i, end), i+1)
		case c == '-':
			i = max(sc.pem(i), i+1)
		case c == ':' && strings.HasPrefix(s[i:], "://"):
			i = sc.url(i)
		case c == '@':
			sc.driverDSN(i)
			i++
		case c == '\\' && i+1 < len(s) && strings.IndexByte("nrt", s[i+1]) >= 0:
			i += 2
		case c == '%' && i+2 < len(s) && lex.Hexes.Has(s[i+1]) && lex.Hexes.Has(s[i+2]):
			i += 3
		default:
			i++
		}
	}
}

// runEnd returns where the name or word that begins at i ends. "-" and "." are
// within a name, not at its end.
func (sc *scanner) runEnd(i int) int {
	s := sc.s
	for i < len(s) {
		switch c := s[i]; {
		case lex.IsAlnum(c) || c == '_':
			i++
		case c == '-' || c == '.':
			if i+1 == len(s) || !lex.IsAlnum(s[i+1]) && s[i+1] != '_' {
				return i
			}
			i++
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			if !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.Cf) {
				return i
			}
			i += n
		default:
			return i
		}
	}
	return i
}

// word judges the word from i to end and what follows it. It returns where to
// go on.
func (sc *scanner) word(i, end int) int {
	if next := sc.shape(i, end); next > 0 {
		return next
	}
	if next := sc.element(i, end); next > 0 {
		return next
	}
	if v, ok := sc.separator(i, end); ok {
		return sc.pair(i, end, v)
	}
	return sc.spoken(i, end)
}

// shape takes out what is a credential by its look, at the beginning of a word
// or after a separator within it.
func (sc *scanner) shape(i, end int) int {
	for k := i; k < end; k++ {
		if k > i {
			if end-k < 8 {
				return 0
			}
			if c := sc.s[k-1]; c != '_' && c != '-' && c != '.' && c < utf8.RuneSelf {
				continue
			}
		}
		if k >= sc.jwtFrom {
			stop, searched := token.JWTAt(sc.s, k)
			sc.jwtFrom = searched
			if stop > 0 {
				sc.add(k, stop, "jwt")
				return stop
			}
		}
		if stop, how := token.ShapeAt(sc.s, k); stop > 0 {
			sc.add(k, stop, how)
			return stop
		}
	}
	return 0
}

// awsSecrets takes out whatever is as long as the secret of an AWS key, and as
// mixed: it stands beside the key.
func (sc *scanner) awsSecrets() {
	s := sc.s
	for i := 0; i < len(s); i++ {
		start := i
		for i < len(s) && (lex.IsAlnum(s[i]) || s[i] == '+' || s[i] == '/') {
			i++
		}
		if i-start == 40 && IsMixed(s[start:i]) {
			sc.add(start, i, "aws")
		}
	}
}

// IsMixed reports whether a text has letters of both cases, and digits or
// signs: a hash in hexadecimal has not.
func IsMixed(s string) bool {
	return strings.ContainsFunc(s, unicode.IsUpper) && strings.ContainsFunc(s, unicode.IsLower) && strings.ContainsAny(s, "0123456789+/")
}

// pem takes out a private key in PEM, or what there is of it.
func (sc *scanner) pem(i int) int {
	s := sc.s
	dashes := i
	for dashes < len(s) && s[dashes] == '-' {
		dashes++
	}
	if dashes-i < 4 {
		return dashes
	}
	label, ok := strings.CutPrefix(strings.TrimPrefix(s[dashes:min(len(s), dashes+80)], " "), "BEGIN ")
	if !ok {
		return dashes
	}
	label, _, _ = strings.Cut(label, "---")
	if !strings.Contains(label, "PRIVATE KEY") {
		return dashes
	}
	end := pemEnd(s, dashes)
	sc.add(i, end, "pem")
	return end
}

// pemEnd returns where the block ends: with the text, if nothing says so.
func pemEnd(s string, from int) int {
	n, marker := strings.Index(s[from:], "-END "), len("-END ")
	if n < 0 {
		n, marker = strings.Index(s[from:], "- END "), len("- END ")
	}
	if n < 0 {
		return len(s)
	}
	end := from + n + marker
	n = strings.Index(s[end:min(len(s), end+80)], "---")
	if n < 0 {
		return len(s)
	}
	for end += n; end < len(s) && s[end] == '-'; {
		end++
	}
	return end
}

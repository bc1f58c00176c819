package lex

import (
	"strings"
	"unicode/utf8"
)

// Literal reads a string literal at p: in quotes of any kind, escaped or
// doubled by a text around it, dollar-quoted, with SQL's and Python's
// prefixes. What is not closed goes to the end of the text. start and stop
// are those of the content; after is where the text goes on.
func Literal(s string, p int) (start, stop, after int, ok bool) {
	if p == len(s) {
		return 0, 0, 0, false
	}
	switch c := s[p]; {
	case c == '$':
		return DollarQuoted(s, p)
	case c == '&' || c >= utf8.RuneSelf:
		if start, stop, after, ok = entityQuoted(s, p); ok {
			return start, stop, after, true
		}
	}
	q := p
	for q < len(s) && q-p < 2 && strings.IndexByte("eEnNuUxXbBrRfF&@", s[q]) >= 0 {
		q++
	}
	open := q
	for open < len(s) && s[open] == '\\' {
		open++
	}
	if open == len(s) || !IsQuote(s[open]) {
		return 0, 0, 0, false
	}
	return quoted(s, open, open-q)
}

// quoted reads a literal whose opening quote is at open, after so many
// backslashes.
func quoted(s string, open, slashes int) (start, stop, after int, ok bool) {
	quote, run := s[open], open
	for run < len(s) && s[run] == quote {
		run++
	}
	if slashes == 0 {
		switch n := run - open; {
		case n == 2 && (run == len(s) || !IsAlnum(s[run])):
			return run - 1, run - 1, run, true // empty
		case n == 2 || n >= 4 || n == 3 && quote == '"':
			return doubled(s, run, quote, n)
		}
	}
	start = open + 1
	stop = closing(s, start, quote, slashes)
	after = stop
	for after < len(s) && s[after] == '\\' {
		after++
	}
	return start, stop, min(after+1, len(s)), true
}

// entityQuoted reads a literal in HTML's entities or in typographic quotes.
func entityQuoted(s string, p int) (start, stop, after int, ok bool) {
	for _, pair := range [...][2]string{{"&quot;", "&quot;"}, {"&#34;", "&#34;"}, {"&apos;", "&apos;"}, {"&#39;", "&#39;"}, {"“", "”"}} {
		if strings.HasPrefix(s[p:], pair[0]) {
			start = p + len(pair[0])
			stop = IndexFrom(s, start, pair[1])
			return start, stop, min(len(s), stop+len(pair[1])), true
		}
	}
	return 0, 0, 0, false
}

// doubled reads a literal within a literal: its quotes are n characters each.
func doubled(s string, start int, quote byte, n int) (int, int, int, bool) {
	run := 0
	for i := start; i < len(s); i++ {
		if s[i] != quote {
			run = 0
			continue
		}
		if run++; run == n {
			return start, i + 1 - n, i + 1, true
		}
	}
	return start, len(s), len(s), true
}

// closing returns where the content of a literal ends whose quotes have so
// many backslashes before them. A quote with more belongs to the content,
// unless the content ends in backslashes of its own.
func closing(s string, i int, quote byte, slashes int) int {
	run := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '\\':
			run++
		case quote:
			if run%(2*slashes+2) > slashes {
				run = 0
				continue
			}
			if quote == '\'' && slashes == 0 && i+1 < len(s) && s[i+1] == quote {
				i++
				run = 0
				continue
			}
			return i - min(run, slashes)
		default:
			run = 0
		}
	}
	return len(s)
}

// DollarQuoted reads $tag$ … $tag$.
func DollarQuoted(s string, p int) (start, stop, after int, ok bool) {
	q := p + 1
	for q < len(s) && q-p < 64 && Word.Has(s[q]) {
		q++
	}
	if q >= len(s) || s[q] != '$' {
		return 0, 0, 0, false
	}
	tag := s[p : q+1]
	start = q + 1
	if n := strings.Index(s[start:], tag); n >= 0 {
		return start, start + n, start + n + len(tag), true
	}
	return start, len(s), len(s), true
}

// Balanced returns where the bracket at p is closed.
func Balanced(s string, p int) int {
	depth := 0
	for i := p; i < len(s); i++ {
		switch s[i] {
		case '[', '{', '(':
			depth++
		case ']', '}', ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// BlockScalar returns where the lines of a YAML block scalar (| or >) begin
// whose indicator is at p.
func BlockScalar(s string, name, p int) int {
	q := p + 1
	for q < len(s) && strings.IndexByte("+-0123456789 \t\r", s[q]) >= 0 {
		q++
	}
	if q >= len(s) || s[q] != '\n' {
		return 0
	}
	for q++; q < len(s) && IsBlank(s[q]); q++ {
	}
	if q-lineStart(s, q) <= name-lineStart(s, name) {
		return 0
	}
	return q
}

// BlockEnd returns where the lines that are indented deeper than the name end.
func BlockEnd(s string, name, start int) int {
	indent := name - lineStart(s, name)
	end := start
	for end < len(s) {
		n := strings.IndexByte(s[end:], '\n')
		if n < 0 {
			return len(s)
		}
		next := end + n + 1
		text := next
		for text < len(s) && IsBlank(s[text]) {
			text++
		}
		if text-next <= indent && text < len(s) && s[text] != '\n' {
			return end + n
		}
		end = next
	}
	return len(s)
}

// NextLine returns where the value begins that stands, indented, on the line
// after its name, which ends at p.
func NextLine(s string, name, p int) int {
	q := p
	for q < len(s) && IsSpace(s[q]) {
		q++
	}
	if q == len(s) || s[q] == '#' || NameFollows(s, q) {
		return 0
	}
	indent, of := q-lineStart(s, q), name-lineStart(s, name)
	if strings.HasPrefix(s[q:], "- ") && indent >= of && !NameFollows(s, q+1) || s[q] != '-' && indent > of {
		return q
	}
	return 0
}

// ListEnd returns where the lines that begin with "-" end.
func ListEnd(s string, at int) int {
	for {
		end := LineEnd(s, at)
		next := end
		for next < len(s) && IsSpace(s[next]) {
			next++
		}
		if next == len(s) || s[next] != '-' {
			return end
		}
		at = next
	}
}

// lineStart looks back no further than an indentation can be.
func lineStart(s string, i int) int {
	for n := 0; i > 0 && s[i-1] != '\n' && n < 200; n++ {
		i--
	}
	return i
}

// NameFollows reports whether a name and a separator follow.
func NameFollows(s string, i int) bool {
	for n := 0; n < 16 && i < len(s) && IsBlank(s[i]); n++ {
		i++
	}
	start := i
	for i < len(s) && i-start < 48 && (Slug.Has(s[i]) || s[i] == '.' || s[i] == ' ' && i > start && i+1 < len(s) && IsUpper(s[i+1])) {
		i++
	}
	return i > start && i < len(s) && (IsAlpha(s[start]) || s[start] == '_') && (s[i] == '=' || s[i] == ':')
}

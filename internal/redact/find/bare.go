package find

import (
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
)

// A bareForm says how values without quotes are written where one stands.
type bareForm struct {
	header  bool // to the end of the line, whatever is in it
	spaces  bool // with spaces: a YAML line, a value of an ADO connection string
	query   bool // a parameter of a URL
	percent bool // within percent-encoded text
}

// bareEnd returns where a value without quotes ends, that begins at p: the
// name is at i, and v is just after its separator.
//
// A header and a YAML line go to the end of the line; a value of an ADO
// connection string to its semicolon; a parameter of a query to "&"; anything
// else to the next space, or to what closes the text around it.
func (sc *scanner) bareEnd(i, v, p int) int {
	s := sc.s
	colon := v > 0 && s[v-1] == ':'
	form := bareForm{
		header:  colon && isHeader(s[i:min(v, i+32)]),
		spaces:  colon && (atLineStart(s, i) || p > v && openedBefore(s, i)) || i > 0 && sc.inConnectionString(i, p),
		query:   sc.inQuery(i),
		percent: v > 2 && s[v-3] == '%',
	}
	open := 0 // brackets of the value itself
	for e := p; e < len(s); e++ {
		switch c := s[e]; {
		case c == '\\' && !endsAtEscape(s, e):
			e++
		case form.header && opensParameter(s, p, e):
			e = max(e, min(lex.IndexFrom(s, e+1, `"`), lex.LineEnd(s, e)-1))
		case strings.IndexByte("{([", c) >= 0 || c == '<' && e == p:
			open++
		case open > 0 && strings.IndexByte("})]>", c) >= 0:
			open--
		case form.endsAt(s, e, p):
			return e
		}
	}
	return len(s)
}

// opensParameter reports whether a quote at e opens a parameter of the header
// whose value begins at p: realm="….
func opensParameter(s string, p, e int) bool { return s[e] == '"' && e > p && s[e-1] == '=' }

// endsAt reports whether the value that begins at p ends before e.
func (f bareForm) endsAt(s string, e, p int) bool {
	switch c := s[e]; c {
	case '\n', '\r', '\\':
		return true
	case ' ', '\t':
		return !f.header && (!f.spaces || lex.NameFollows(s, e+1))
	case '#':
		return f.query
	case '%':
		return f.percent && endsAtPercent(s[e:])
	case ',', ';', '&', ')':
		return !f.header && (f.query && c == '&' || endsValue(s, e, p))
	case '"', '\'', '`', '|', ']', '}', '<', '>':
		return endsValue(s, e, p)
	}
	return false
}

func isHeader(s string) bool {
	s = strings.ToLower(s)
	return isHeaderOfCredentials(s) || strings.HasPrefix(s, "cookie") || strings.HasPrefix(s, "set-cookie")
}

// openedBefore reports whether the name is the first word in quotes: "X-Api-Key: …".
func openedBefore(s string, i int) bool { return i > 0 && lex.IsQuote(s[i-1]) }

// atLineStart reports whether only indentation and list marks stand before i
// on its line.
func atLineStart(s string, i int) bool {
	for n := 0; i > 0 && n < 200; n++ {
		i--
		switch c := s[i]; {
		case c == '\n':
			return true
		case c == 'n' && i > 0 && s[i-1] == '\\':
			return true
		case !lex.IsBlank(c) && c != '-' && c != '>' && c != '*' && c != '#' && c != '+' && c != '\r':
			return false
		}
	}
	return i == 0
}

// inConnectionString reports whether the name is one of a list with
// semicolons: values may hold spaces there.
func (sc *scanner) inConnectionString(i, p int) bool {
	s := sc.s
	q := i - 1
	for q > 0 && s[q] == ' ' {
		q--
	}
	if s[q] == ';' {
		return true
	}
	line := s[p:min(len(s), p+128)]
	n := strings.IndexByte(line, ';')
	return n > 0 && !strings.ContainsAny(line[:n], "\n'\" ") && lex.NameFollows(s, p+n+1)
}

// endsAtEscape reports whether the backslash at e is an escape of the text
// around the value: a quote of escaped JSON, or a line's end.
func endsAtEscape(s string, e int) bool {
	if e+1 == len(s) {
		return false
	}
	switch s[e+1] {
	case '"', '\'', '\\':
		q := e
		for q < len(s) && q-e < 64 && s[q] == '\\' {
			q++
		}
		return q < len(s) && (lex.IsQuote(s[q]) || s[q] == 'n' || s[q] == 'r')
	case 'n', 'r', 't':
		return e+2 == len(s) || lex.IsQuote(s[e+2]) || s[e+2] == '\\' || lex.NameFollows(s, e+2)
	}
	return false
}

func endsAtPercent(s string) bool {
	for _, code := range []string{"%26", "%22", "%27", "%0A", "%0a", "%0D", "%20", "%7D", "%7d", "%2C", "%2c"} {
		if strings.HasPrefix(s, code) {
			return true
		}
	}
	return false
}

// endsValue reports whether the quote, bracket or comma at e ends a value
// that has neither quotes nor brackets of its own: the text ends, or goes on
// with a space, another such sign or a name.
func endsValue(s string, e, p int) bool {
	if s[e] == '<' {
		return e+1 < len(s) && (s[e+1] == '/' || s[e+1] == 'b')
	}
	if e == p && s[e] != '"' && s[e] != '\'' && s[e] != ',' && s[e] != '}' {
		return false
	}
	return e+1 == len(s) || lex.IsSpace(s[e+1]) || strings.IndexByte("\"'`,;&|)]}<>.:\\", s[e+1]) >= 0 || lex.NameFollows(s, e+1)
}

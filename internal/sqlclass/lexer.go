package sqlclass

import "strings"

// The parser's scanner takes a whole run of operator characters and gives back
// what it cannot use: all but the two that open a comment, or all but one of
// plus and minus signs. The time that this takes is quadratic in the length of
// the run, for nested comments and for comments side by side, and nothing can
// interrupt it.
const (
	maxCommentNesting = 32
	maxRescans        = 256 << 10 // characters taken and given back
)

// precheck refuses what the parser must not see: a NUL, which would end the
// text for it, and comments and operators that cost it too much time. It
// returns nil otherwise.
func precheck(text string) *Report {
	if text == "" {
		return refusal(CodeEmpty, "")
	}
	if strings.IndexByte(text, 0) >= 0 {
		return refusal(CodeNUL, "")
	}
	l := lexer{text: text}
	for l.next() {
		switch {
		case l.nesting > maxCommentNesting:
			return refusal(CodeCommentNesting, "")
		case l.rescans > maxRescans:
			return refusal(CodeOperators, "")
		}
	}
	return nil
}

// lexer finds the comments of a text: it knows just enough of PostgreSQL's
// lexical rules to tell them from the insides of literals.
type lexer struct {
	text    string
	at      int
	nesting int // of the deepest comment so far
	rescans int // characters that the parser would give back
}

// next passes one literal, comment or other byte; false at the end.
func (l *lexer) next() bool {
	if l.at >= len(l.text) {
		return false
	}
	rest := l.text[l.at:]
	switch c := rest[0]; {
	case c == '\'':
		l.quoted('\'', l.escapes())
	case c == '"':
		l.quoted('"', false)
	case strings.HasPrefix(rest, "--"):
		if end := strings.IndexAny(rest, "\r\n"); end >= 0 {
			l.at += end
		} else {
			l.at = len(l.text)
		}
	case strings.HasPrefix(rest, "/*"):
		l.comment()
	case c == '$' && !(l.at > 0 && isIdent(l.text[l.at-1])):
		l.dollar()
	case isOperator(c):
		l.rescan()
		l.at++
	default:
		l.at++
	}
	return true
}

// rescan counts the run of operator characters that starts here.
func (l *lexer) rescan() {
	for i := l.at; i < len(l.text) && isOperator(l.text[i]) && l.rescans <= maxRescans; i++ {
		l.rescans++
	}
}

// escapes reports whether the literal that starts here is an E'...' one, in
// which a backslash escapes the quote.
func (l *lexer) escapes() bool {
	i := l.at - 1
	return i >= 0 && (l.text[i] == 'E' || l.text[i] == 'e') && (i == 0 || !isIdent(l.text[i-1]))
}

func (l *lexer) quoted(quote byte, escapes bool) {
	for l.at++; l.at < len(l.text); l.at++ {
		switch c := l.text[l.at]; {
		case escapes && c == '\\':
			l.at++
		case c == quote && l.at+1 < len(l.text) && l.text[l.at+1] == quote:
			l.at++
		case c == quote:
			l.at++
			if !escapes || !l.continued() {
				return
			}
		}
	}
}

// continued reports whether an E'...' literal goes on in a further quote on a
// later line, and moves to that quote.
func (l *lexer) continued() bool {
	rest := strings.TrimLeft(l.text[l.at:], " \t\r\n\v\f")
	space := l.text[l.at : len(l.text)-len(rest)]
	if !strings.HasPrefix(rest, "'") || !strings.ContainsAny(space, "\r\n") {
		return false
	}
	l.at += len(space)
	return true
}

func (l *lexer) comment() {
	depth := 0
	for l.at < len(l.text) {
		switch rest := l.text[l.at:]; {
		case strings.HasPrefix(rest, "/*"):
			depth++
			l.rescan()
			l.at += 2
			if l.nesting = max(l.nesting, depth); depth > maxCommentNesting || l.rescans > maxRescans {
				return
			}
		case strings.HasPrefix(rest, "*/"):
			depth--
			l.at += 2
			if depth == 0 {
				return
			}
		default:
			l.at++
		}
	}
}

// dollar passes a dollar-quoted literal, or the dollar sign alone.
func (l *lexer) dollar() {
	end := l.at + 1
	for end < len(l.text) && isIdent(l.text[end]) && l.text[end] != '$' {
		end++
	}
	if end == len(l.text) || l.text[end] != '$' || isDigit(l.text[l.at+1]) {
		l.at++
		return
	}
	tag := l.text[l.at : end+1]
	l.at = end + 1
	if i := strings.Index(l.text[l.at:], tag); i >= 0 {
		l.at += i + len(tag)
	} else {
		l.at = len(l.text)
	}
}

// isOperator reports whether a byte can stand in an operator.
func isOperator(c byte) bool {
	switch c {
	case '~', '!', '@', '#', '^', '&', '|', '`', '?', '+', '-', '*', '/', '%', '<', '>', '=':
		return true
	default:
		return false
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isIdent reports whether a byte can stand within an identifier.
func isIdent(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_' || c == '$' || c >= 0x80
}

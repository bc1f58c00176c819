package redact

import (
	"strings"
	"unicode/utf8"
)

// literal reads a string literal at p: in quotes of any kind, escaped or
// doubled by a text around it, dollar-quoted, with SQL's and Python's
// prefixes. What is not closed goes to the end of the text. start and stop
// are those of the content; after is where the text goes on.
func literal(s string, p int) (start, stop, after int, ok bool) {
	q := p
	for q < len(s) && q-p < 2 && strings.IndexByte("eEnNuUxXbBrRfF&@", s[q]) >= 0 {
		q++
	}
	if q == len(s) {
		return 0, 0, 0, false
	}
	if q == p && s[p] == '$' {
		return dollarQuoted(s, p)
	}
	for _, entity := range []string{"&quot;", "&#34;", "&apos;", "&#39;", "“"} {
		if strings.HasPrefix(s[p:], entity) {
			start = p + len(entity)
			closing := strings.ReplaceAll(entity, "“", "”")
			if n := strings.Index(s[start:], closing); n >= 0 {
				return start, start + n, start + n + len(closing), true
			}
			return start, len(s), len(s), true
		}
	}
	slashes := q
	for slashes < len(s) && s[slashes] == '\\' {
		slashes++
	}
	if slashes == len(s) || !isQuote(s[slashes]) {
		return 0, 0, 0, false
	}
	quote, run := s[slashes], slashes
	for run < len(s) && s[run] == quote {
		run++
	}
	if n := run - slashes; n == 2 && (run == len(s) || !isAlnum(s[run])) && slashes == q {
		return run - 1, run - 1, run, true // empty
	} else if slashes == q && (n == 2 || n >= 4 || n == 3 && quote == '"') {
		return doubled(s, run, quote, n)
	}
	start = slashes + 1
	stop = closing(s, start, quote, slashes-q)
	after = stop
	for after < len(s) && s[after] == '\\' {
		after++
	}
	return start, stop, min(after+1, len(s)), true
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

// dollarQuoted reads $tag$ … $tag$.
func dollarQuoted(s string, p int) (start, stop, after int, ok bool) {
	q := p + 1
	for q < len(s) && q-p < 64 && word.has(s[q]) {
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

// balanced returns where the bracket at p is closed.
func balanced(s string, p int) int {
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

// blockScalar returns where the lines of a YAML block scalar (| or >) begin
// whose indicator is at p.
func blockScalar(s string, name, p int) int {
	q := p + 1
	for q < len(s) && strings.IndexByte("+-0123456789 \t\r", s[q]) >= 0 {
		q++
	}
	if q >= len(s) || s[q] != '\n' {
		return 0
	}
	for q++; q < len(s) && isBlank(s[q]); q++ {
	}
	if q-lineStart(s, q) <= name-lineStart(s, name) {
		return 0
	}
	return q
}

// blockEnd returns where the lines that are indented deeper than the name end.
func blockEnd(s string, name, start int) int {
	indent := name - lineStart(s, name)
	end := start
	for end < len(s) {
		n := strings.IndexByte(s[end:], '\n')
		if n < 0 {
			return len(s)
		}
		next := end + n + 1
		text := next
		for text < len(s) && isBlank(s[text]) {
			text++
		}
		if text-next <= indent && text < len(s) && s[text] != '\n' {
			return end + n
		}
		end = next
	}
	return len(s)
}

// nextLine returns where the value begins that stands, indented, on the line
// after its name, which ends at p.
func nextLine(s string, name, p int) int {
	q := p
	for q < len(s) && isSpace(s[q]) {
		q++
	}
	if q == len(s) || q-lineStart(s, q) <= name-lineStart(s, name) || s[q] == '-' || s[q] == '#' || nameFollows(s, q) {
		return 0
	}
	return q
}

// lineStart looks back no further than an indentation can be.
func lineStart(s string, i int) int {
	for n := 0; i > 0 && s[i-1] != '\n' && n < 200; n++ {
		i--
	}
	return i
}

// maxHarmless bounds how much of a text is read for nothing.
const maxHarmless = 256

// isHarmless reports whether a value, though its name is that of a secret,
// hides nothing: nothing is there, or a diagnostic, a type, a placeholder.
func isHarmless(v string, k kind) bool {
	v = strings.TrimSpace(v)
	if len(v) > maxHarmless {
		return false
	}
	if strings.Trim(v, "*.•_-x") == "" || strings.HasPrefix(v, Mark) && len(strings.TrimRight(v, `"'.,;:)]}\`)) <= len(Mark) {
		return true
	}
	if k == count && isNumber(v) || k == weak && isNumber(v) && len(v) <= 3 {
		return true
	}
	bare := strings.ToLower(strings.Trim(v, `"'.,;:!()`))
	if quietWords[bare] || k == weak && schemes[bare] || isPlaceholder(v) {
		return true
	}
	first, _, more := strings.Cut(bare, " ")
	return more && diagnoses[strings.TrimRight(first, ",:;")]
}

func isNumber(v string) bool {
	for i := range len(v) {
		if !isDigit(v[i]) && strings.IndexByte(".,_kKmM%", v[i]) < 0 {
			return false
		}
	}
	return v != ""
}

// isPlaceholder reports whether a value stands for one that comes from
// elsewhere: $1, ?, :password, %s, ${TOKEN}, {{ token }}, <your token>.
func isPlaceholder(v string) bool {
	v = strings.TrimRight(v, ",;)")
	if v == "" || v == "?" || v == "%s" || v == "%v" || v == "%d" {
		return true
	}
	body := v[1:]
	last := v[len(v)-1]
	switch v[0] {
	case '$':
		if strings.HasPrefix(body, "{") || strings.HasPrefix(body, "(") {
			return (last == '}' || last == ')') && !strings.Contains(v, ":-") && len(v) < 80
		}
		return isNumber(body) || body != "" && strings.ToUpper(body) == body && onlyLetters(body)
	case ':', '@':
		return onlyLetters(body) && strings.ToLower(body) == body || v[0] == '@' && len(body) > 1 && body[0] == 'p' && isNumber(body[1:])
	case '{':
		return strings.HasPrefix(v, "{{") && strings.HasSuffix(v, "}}") || last == '}' && onlyLetters(strings.Trim(v, "{}"))
	case '<':
		return last == '>' && onlyLetters(strings.Map(hyphenToUnderscore, v[1:len(v)-1]))
	case '%':
		return strings.HasPrefix(body, "(") || last == '%' && onlyLetters(strings.Trim(v, "%"))
	}
	return isMember(v)
}

func hyphenToUnderscore(r rune) rune {
	if r == '-' || r == ' ' || r == '.' {
		return '_'
	}
	return r
}

func onlyLetters(s string) bool {
	for i := range len(s) {
		if !isAlpha(s[i]) && s[i] != '_' {
			return false
		}
	}
	return s != ""
}

// isMember reports whether a value is the member of an object, in code:
// config.password.
func isMember(v string) bool {
	object, member, ok := strings.Cut(v, ".")
	return ok && objects[strings.ToLower(object)] && onlyLetters(strings.ReplaceAll(member, ".", "_"))
}

// isCall reports whether a bare value is a call or an index, in code:
// getenv("TOKEN"). What is within is judged for itself.
func isCall(s string, p, stop int) bool {
	if stop-p > maxHarmless {
		return false
	}
	q := p
	for q < len(s) && (isAlpha(s[q]) || s[q] == '_' || s[q] == '.') {
		q++
	}
	if q == p || q >= len(s) || s[q] != '(' && s[q] != '[' {
		return false
	}
	shut := byte(')')
	if s[q] == '[' {
		shut = ']'
	}
	return strings.IndexByte(s[q:min(len(s), stop+64)], shut) > 0
}

// isRandom reports whether a word looks made up: letters and digits, or signs
// that words of a language do not have.
func isRandom(v string, least int) bool {
	letters, digits, upperInside, signs := 0, 0, 0, 0
	for i := range len(v) {
		switch c := v[i]; {
		case isDigit(c):
			digits++
		case isUpper(c) && i > 0:
			upperInside++
			letters++
		case isAlpha(c) || c >= utf8.RuneSelf:
			letters++
		case strings.IndexByte("!@#$%^&*+=~", c) >= 0:
			signs++
		}
	}
	return len(v) >= least && (letters > 0 && digits > 0 || signs > 0 || upperInside > 0 && upperInside < letters-1)
}

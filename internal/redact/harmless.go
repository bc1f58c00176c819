package redact

import (
	"strings"
	"unicode/utf8"
)

// maxHarmless bounds how much of a text is read for nothing.
const maxHarmless = 256

// isHarmless reports whether a value, though its name is that of a secret,
// hides nothing: nothing is there, or a diagnostic, a type, a placeholder.
func isHarmless(v string, k kind) bool {
	v = strings.TrimSpace(v)
	if len(v) > maxHarmless {
		return false
	}
	if strings.Trim(v, "*.•_-") == "" || len(v) > 2 && strings.Trim(v, "xX") == "" || strings.HasPrefix(v, Mark) && len(strings.TrimRight(v, `"'.,;:)]}\`)) <= len(Mark) {
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
	if v == "" || v == "?" || v == "//" || len(v) == 2 && v[0] == '%' && isLower(v[1]) {
		return true
	}
	body := v[1:]
	switch v[0] {
	case '$':
		return isVariable(body)
	case ':':
		return onlyLetters(body) && strings.ToLower(body) == body
	case '@':
		return onlyLetters(body) && strings.ToLower(body) == body || strings.HasPrefix(body, "p") && isNumber(body[1:])
	case '{':
		return strings.HasPrefix(v, "{{") && strings.HasSuffix(v, "}}") || enclosed(body, '}')
	case '<':
		return enclosed(strings.Map(hyphenToUnderscore, body), '>')
	case '%':
		return strings.HasPrefix(body, "(") || enclosed(body, '%')
	}
	return isMember(v)
}

// isVariable reports whether what follows a "$" is the name of a variable, by
// convention in capitals, or a number, or in brackets.
func isVariable(name string) bool {
	if strings.HasPrefix(name, "{") || strings.HasPrefix(name, "(") {
		last := name[len(name)-1]
		return (last == '}' || last == ')') && !strings.Contains(name, ":-") && len(name) < 80 // :- gives a value
	}
	return isNumber(name) || onlyLetters(name) && strings.ToUpper(name) == name
}

// enclosed reports whether a text is a name and then the closing sign.
func enclosed(s string, shut byte) bool {
	n := len(s) - 1
	return n > 0 && s[n] == shut && onlyLetters(s[:n])
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
	return ok && onlyLetters(strings.ReplaceAll(v, ".", "_")) && (objects[strings.ToLower(object)] || nameSigns.in(member))
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

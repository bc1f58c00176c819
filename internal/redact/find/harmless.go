package find

import (
	"strings"
	"unicode/utf8"

	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
	"github.com/hookpolicy/hookpolicy/internal/redact/names"
)

// maxHarmless bounds how much of a text is read for nothing.
const maxHarmless = 256

// IsHarmless reports whether a value, though its name is that of a secret,
// hides nothing: nothing is there, or a diagnostic, a type, a placeholder.
func IsHarmless(v string, k names.Kind) bool {
	v = strings.TrimSpace(v)
	if len(v) > maxHarmless {
		return false
	}
	if strings.Trim(v, "*.•_-") == "" || len(v) > 2 && strings.Trim(v, "xX") == "" || strings.HasPrefix(v, lex.Mark) && len(strings.TrimRight(v, `"'.,;:)]}\`)) <= len(lex.Mark) {
		return true
	}
	if k == names.Count && isNumber(v) || k == names.Weak && isNumber(v) && len(v) <= 3 {
		return true
	}
	bare := strings.ToLower(strings.Trim(v, `"'.,;:!()`))
	if quietWords[bare] || k == names.Weak && schemes[bare] || isPlaceholder(v) {
		return true
	}
	if v == "~" || isTag(v) {
		return true
	}
	first, _, more := strings.Cut(bare, " ")
	return more && diagnoses[strings.TrimRight(first, ",:;")]
}

// isTag reports whether a value of YAML comes from elsewhere: !vault |, !Ref X.
func isTag(v string) bool {
	tag, _, _ := strings.Cut(v, " ")
	return tag != "" && tag[0] == '!' && tags[strings.ToLower(tag[1:])]
}

// isUnion reports whether what follows a value makes it a type of a language
// that has unions: Token | null.
func isUnion(after string) bool {
	after, ok := strings.CutPrefix(strings.TrimLeft(after, " "), "| ")
	word, _, _ := strings.Cut(after[:min(len(after), 16)], "\n")
	return ok && quietWords[strings.Trim(word, " ;,)")]
}

// isTame reports whether a list under a name like "tokens" holds numbers or
// words of a language, which hide nothing.
func isTame(list string) bool {
	if len(list) > 4*maxHarmless {
		return false
	}
	for word := range strings.FieldsFuncSeq(list, func(r rune) bool { return strings.ContainsRune("[](){},\"' \t\r\n", r) }) {
		if !IsTameWord(word) {
			return false
		}
	}
	return true
}

// IsTameWord reports whether a value under a name like "tokens" is a number or
// a word of a language, which hides nothing.
func IsTameWord(v string) bool { return isNumber(v) || len(v) <= 20 && !IsRandom(v, 3) }

func isNumber(v string) bool {
	for i := range len(v) {
		if !lex.IsDigit(v[i]) && strings.IndexByte(".,_kKmM%", v[i]) < 0 {
			return false
		}
	}
	return v != ""
}

// isPlaceholder reports whether a value stands for one that comes from
// elsewhere: $1, ?, :password, %s, ${TOKEN}, {{ token }}, <your token>.
func isPlaceholder(v string) bool {
	v = strings.TrimRight(v, ",;)")
	if v == "" || v == "?" || v == "//" || len(v) == 2 && v[0] == '%' && lex.IsLower(v[1]) {
		return true
	}
	body := v[1:]
	switch v[0] {
	case '$':
		return isVariable(body)
	case ':':
		return OnlyLetters(body) && strings.ToLower(body) == body
	case '@':
		return OnlyLetters(body) && strings.ToLower(body) == body || strings.HasPrefix(body, "p") && isNumber(body[1:])
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
	return isNumber(name) || OnlyLetters(name) && strings.ToUpper(name) == name
}

// enclosed reports whether a text is a name and then the closing sign.
func enclosed(s string, shut byte) bool {
	n := len(s) - 1
	return n > 0 && s[n] == shut && OnlyLetters(s[:n])
}

func hyphenToUnderscore(r rune) rune {
	if r == '-' || r == ' ' || r == '.' {
		return '_'
	}
	return r
}

// OnlyLetters reports whether a text is ASCII letters and "_" only.
func OnlyLetters(s string) bool {
	for i := range len(s) {
		if !lex.IsAlpha(s[i]) && s[i] != '_' {
			return false
		}
	}
	return s != ""
}

// isMember reports whether a value is the member of an object, in code:
// config.password.
func isMember(v string) bool {
	object, member, ok := strings.Cut(v, ".")
	return ok && OnlyLetters(strings.ReplaceAll(v, ".", "_")) && (objects[strings.ToLower(object)] || names.Tell(member))
}

// isCall reports whether a bare value is a call or an index, in code:
// getenv("TOKEN"). What is within is judged for itself.
func isCall(s string, p, stop int) bool {
	if stop-p > maxHarmless {
		return false
	}
	q := p
	for q < len(s) && (lex.IsAlpha(s[q]) || s[q] == '_' || s[q] == '.') {
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

// IsRandom reports whether a word looks made up: letters and digits, or signs
// that words of a language do not have.
func IsRandom(v string, least int) bool {
	letters, digits, upperInside, signs := 0, 0, 0, 0
	for i := range len(v) {
		switch c := v[i]; {
		case lex.IsDigit(c):
			digits++
		case lex.IsUpper(c) && i > 0:
			upperInside++
			letters++
		case lex.IsAlpha(c) || c >= utf8.RuneSelf:
			letters++
		case strings.IndexByte("!@#$%^&*+=~", c) >= 0:
			signs++
		}
	}
	return len(v) >= least && (letters > 0 && digits > 0 || signs > 0 || upperInside > 0 && upperInside < letters-1)
}

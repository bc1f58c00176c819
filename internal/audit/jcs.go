package audit

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Names of the forms that stand for what JSON, or a double, cannot hold.
const (
	numberForm      = "$number"
	objectForm      = "$object"
	unsupportedForm = "$unsupported"
)

// AppendCanonical appends a value in the canonical form of RFC 8785. Values are
// those that package strictjson parses; every value has a form, see the package
// comment, and equal values have equal bytes.
func AppendCanonical(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case string:
		return appendString(dst, v)
	case json.Number:
		return appendNumber(dst, string(v))
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendCanonical(dst, e)
		}
		return append(dst, ']')
	case map[string]any:
		if !looksLikeForm(v) {
			return appendObject(dst, v)
		}
		dst = append(dst, `{"`+objectForm+`":`...)
		return append(appendObject(dst, v), '}')
	default:
		return appendForm(dst, unsupportedForm, fmt.Sprintf("%T", v))
	}
}

// looksLikeForm reports whether an object could be taken for one of ours.
func looksLikeForm(obj map[string]any) bool {
	if len(obj) != 1 {
		return false
	}
	for name := range obj {
		return name == numberForm || name == objectForm || name == unsupportedForm
	}
	return false
}

func appendForm(dst []byte, form, text string) []byte {
	dst = append(append(append(dst, `{"`...), form...), `":`...)
	return append(appendString(dst, text), '}')
}

func appendObject(dst []byte, obj map[string]any) []byte {
	var few [16]string // most objects are small: their names need no heap
	names := few[:0]
	for name := range obj {
		if !utf8.ValidString(name) {
			// Repaired, it could equal another member's name.
			return appendForm(dst, unsupportedForm, "member name that is not UTF-8")
		}
		names = append(names, name)
	}
	slices.SortFunc(names, compareNames)
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, name), ':')
		dst = AppendCanonical(dst, obj[name])
	}
	return append(dst, '}')
}

// compareNames orders UTF-8 texts as RFC 8785 does, by their UTF-16 code units.
// That is the order of their bytes but for one case: characters beyond U+FFFF
// (first byte F0 and above) come before those from U+E000 to U+FFFF (first byte
// EE or EF), because their units are surrogates.
func compareNames[T string | []byte](a, b T) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if (x >= 0xF0) != (y >= 0xF0) && x >= 0xEE && y >= 0xEE {
			x, y = y, x
		}
		return int(x) - int(y)
	}
	return len(a) - len(b)
}

// appendNumber appends a number as it was received if that is its canonical
// form, else in the form that keeps its text.
func appendNumber(dst []byte, text string) []byte {
	if isCanonicalNumber(text) {
		return append(dst, text...)
	}
	return appendForm(dst, numberForm, text)
}

func appendInt(dst []byte, n int64) []byte {
	var text [20]byte
	return appendNumber(dst, string(strconv.AppendInt(text[:0], n, 10)))
}

// isCanonicalNumber reports whether text is what RFC 8785 writes for the double
// nearest to it.
func isCanonicalNumber[T string | []byte](text T) bool {
	if isSmallInteger(text) {
		return true
	}
	// Texts of doubles have at most 25 bytes; the slow way is for short ones.
	if len(text) == 0 || len(text) > 25 || !isNumberStart(text[0]) {
		return false
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return false
	}
	var buf [32]byte
	return string(appendDouble(buf[:0], f)) == string(text)
}

func isNumberStart(c byte) bool { return c == '-' || '0' <= c && c <= '9' }

// isSmallInteger reports whether text is an integer of at most 15 digits, which
// every double holds, without leading zeros; -0 is none.
func isSmallInteger[T string | []byte](text T) bool {
	i := 0
	if len(text) > 0 && text[0] == '-' {
		i = 1
	}
	digits := len(text) - i
	if digits < 1 || digits > 15 || text[i] == '0' && len(text) > 1 {
		return false
	}
	for ; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// appendDouble appends a finite double as ECMAScript writes it.
func appendDouble(dst []byte, f float64) []byte {
	if f == 0 {
		return append(dst, '0') // also for -0
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// Go writes at least two digits of exponent, ECMAScript no more than needed.
	if n := len(dst); dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') {
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst
}

// plain marks the bytes that stand for themselves inside a JSON string.
var plain = func() (t [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

const hexDigits = "0123456789abcdef"

func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			dst = appendEscape(append(dst, s[start:i]...), c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(append(dst, s[start:i]...), "\uFFFD"...)
			start = i + 1
		}
		i += size
	}
	return append(append(dst, s[start:]...), '"')
}

// appendEscape appends the one canonical escape of a byte that needs one.
func appendEscape(dst []byte, c byte) []byte {
	if short := shortEscape(c); short != 0 {
		return append(dst, '\\', short)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// shortEscape returns the letter of a byte's two-byte escape, or 0.
func shortEscape(c byte) byte {
	switch c {
	case '"', '\\':
		return c
	case '\b':
		return 'b'
	case '\t':
		return 't'
	case '\n':
		return 'n'
	case '\f':
		return 'f'
	case '\r':
		return 'r'
	default:
		return 0
	}
}

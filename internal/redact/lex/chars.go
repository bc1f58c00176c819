package lex

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Charset is a set of ASCII characters.
type Charset [4]uint32

// Has reports whether b is in the set.
func (c *Charset) Has(b byte) bool { return b < 128 && c[b>>5]&(1<<(b&31)) != 0 }

func chars(list string) (c Charset) {
	for i := 0; i < len(list); i++ {
		lo, hi := list[i], list[i]
		if i+2 < len(list) && list[i+1] == '-' {
			hi, i = list[i+2], i+2
		}
		for b := lo; b <= hi; b++ {
			c[b>>5] |= 1 << (b & 31)
		}
	}
	return c
}

// Sets that names and tokens are written with.
var (
	Alnum      = chars("0-9A-Za-z")
	Upper      = chars("0-9A-Z")
	Hexes      = chars("0-9a-fA-F")
	Word       = chars("0-9A-Za-z_")
	Slug       = chars("0-9A-Za-z_-")
	DottedSlug = chars("0-9A-Za-z_.=-")
	Base64s    = chars("0-9A-Za-z+/=_-")
)

// IsASCII reports whether all bytes are ASCII.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// IsUpper reports whether c is an ASCII letter in upper case.
func IsUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// IsLower reports whether c is an ASCII letter in lower case.
func IsLower(c byte) bool { return 'a' <= c && c <= 'z' }

// IsDigit reports whether c is an ASCII digit.
func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

// IsAlpha reports whether c is an ASCII letter.
func IsAlpha(c byte) bool { return IsUpper(c) || IsLower(c) }

// IsAlnum reports whether c is an ASCII letter or digit.
func IsAlnum(c byte) bool { return IsAlpha(c) || IsDigit(c) }

// IsSpace reports whether c is a space, a tab or the end of a line.
func IsSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// IsBlank reports whether c is a space or a tab.
func IsBlank(c byte) bool { return c == ' ' || c == '\t' }

// IsQuote reports whether c opens a literal in some notation.
func IsQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// IndexFrom returns where sub is from i on: the end of the text, if nowhere.
func IndexFrom(s string, i int, sub string) int {
	if n := strings.Index(s[i:], sub); n >= 0 {
		return i + n
	}
	return len(s)
}

// SkipBlank returns where the blanks at p end, those that are not ASCII and
// those without width included.
func SkipBlank(s string, p int) int {
	for p < len(s) {
		switch c := s[p]; {
		case IsBlank(c):
			p++
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[p:])
			if !unicode.In(r, unicode.Zs, unicode.Cf) {
				return p
			}
			p += n
		default:
			return p
		}
	}
	return p
}

// LineEnd returns where the line ends that i is in.
func LineEnd(s string, i int) int {
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(s)
}

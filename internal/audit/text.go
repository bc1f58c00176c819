package audit

import (
	"strconv"
	"unicode/utf8"
)

// appendText appends a string whose JSON, quotes aside, takes at most limit
// bytes; a longer one is cut between two characters and says so.
func appendText(dst []byte, s string, limit int) []byte {
	start := len(dst)
	if len(s) <= limit {
		dst = appendString(dst, s)
		if len(dst)-start <= limit+len(`""`) {
			return dst
		}
	}
	return appendString(dst[:start], cut(s, limit))
}

func cut(s string, limit int) string {
	mark := "… (cut from " + strconv.Itoa(len(s)) + " bytes)"
	size := len(mark)
	for i, r := range s {
		if size += escapedLen(r); size > limit {
			return s[:i] + mark
		}
	}
	return s // impossible: the caller measured it
}

func escapedLen(r rune) int {
	switch {
	case r >= utf8.RuneSelf:
		return utf8.RuneLen(r)
	case plain[r]:
		return 1
	case shortEscape(byte(r)) != 0:
		return 2
	default:
		return len(`\u0000`)
	}
}

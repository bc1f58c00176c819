package find

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
)

const (
	// minBase64 is the length of the shortest run that is decoded: a name, a
	// separator and a value.
	minBase64 = 20

	// maxBase64 is how many encodings within each other are undone.
	maxBase64 = 2
)

// base64 takes out what is, once decoded, a text with a secret in it.
func (sc *scanner) base64() {
	if sc.depth == maxBase64 {
		return
	}
	for start, end := range base64Runs(sc.s) {
		text, ok := decoded(sc.s[start:end])
		if !ok || !Told(sc.d, text) {
			continue
		}
		within := scanner{d: sc.d, s: text, depth: sc.depth + 1}
		if within.all(); len(within.spans) > 0 {
			sc.add(start, end, "base64")
		}
	}
}

// holdsBase64 reports whether a text may hold another one in base64.
func holdsBase64(s string) bool {
	for start, end := range base64Runs(s) {
		if isText(s[start:end]) {
			return true
		}
	}
	return false
}

// base64Runs gives the runs of characters of base64 that are long enough. It
// looks at one character in so many, until one may be in such a run.
func base64Runs(s string) func(yield func(start, end int) bool) {
	return func(yield func(start, end int) bool) {
		for i := minBase64 - 1; i < len(s); i += minBase64 {
			if !lex.Base64s.Has(s[i]) {
				continue
			}
			start, end := i, i+1
			for floor := i - minBase64 + 1; start > floor && lex.Base64s.Has(s[start-1]); {
				start--
			}
			if start == i-minBase64+1 {
				for start > 0 && lex.Base64s.Has(s[start-1]) {
					start--
				}
			}
			for end < len(s) && lex.Base64s.Has(s[end]) {
				end++
			}
			if end-start >= minBase64 && !yield(start, end) {
				return
			}
			i = max(i, end-minBase64)
		}
	}
}

// decoded returns the text that a run encodes, in any of the usual alphabets.
func decoded(run string) (string, bool) {
	if !isText(run) {
		return "", false
	}
	run = strings.TrimRight(run, "=")
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if text, err := encoding.DecodeString(run[:len(run)-len(run)%4]); err == nil && utf8.Valid(text) {
			tail, err := encoding.DecodeString(run[len(run)-len(run)%4:])
			if err != nil {
				tail = nil
			}
			return string(append(text, tail...)), true
		}
	}
	return "", false
}

// isText reports whether a run begins with the base64 of printable ASCII.
func isText(run string) bool {
	var head [minBase64 / 4 * 3]byte
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(run[:minBase64], "-_") {
		encoding = base64.RawURLEncoding
	}
	n, err := encoding.Decode(head[:], []byte(run[:minBase64]))
	if err != nil {
		// padding within the first characters: the run is short
		if strings.HasSuffix(run[:minBase64], "=") {
			return true
		}
		return false
	}
	for _, c := range head[:n] {
		if (c < ' ' || c > '~') && c != '\n' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

package paths

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The longest path and the longest name that Linux opens.
const (
	maxPathBytes = 4096
	maxNameBytes = 255
)

// checkForm refuses a path that some reader, the tool or what the tool calls,
// could take for another path than the kernel does: by decoding, expanding,
// trimming or normalising it. An ordinary name that looks odd is not refused.
func checkForm(text string) *refusal {
	for _, c := range [...]struct {
		rule  string
		found func(string) bool
	}{
		{"empty", func(s string) bool { return s == "" }},
		{"length", func(s string) bool { return len(s) > maxPathBytes }},
		{"encoding", func(s string) bool { return !utf8.ValidString(s) }},
		{"control", hasControl},
		{"blank", hasOuterBlank},
		{"backslash", func(s string) bool { return strings.Contains(s, `\`) }},
		{"network", func(s string) bool { return strings.HasPrefix(s, "//") }},
		{"home", func(s string) bool { return strings.HasPrefix(s, "~") }},
		{"scheme", hasScheme},
		{"escape", hasPercentEscape},
		{"expansion", hasExpansion},
		{"archive", func(s string) bool { return strings.Contains(s, "!/") }},
		{"option", func(s string) bool { return strings.IndexAny(s, `-|<>"'`) == 0 || strings.HasSuffix(s, "|") }},
		{"name", hasDeceptiveName},
	} {
		if c.found(text) {
			return &refusal{code: CodeForm, rule: CodeForm + "." + c.rule, message: "path is not in a plain form"}
		}
	}
	return nil
}

// hasControl finds what is not seen when a path is shown. Joiners and variation
// selectors are part of words and emoji, and are let through within them.
func hasControl(s string) bool {
	before := '/'
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			if r < ' ' || r == '\x7f' {
				return true
			}
		case r == '\u200c' || r == '\u200d' || unicode.Is(unicode.Variation_Selector, r):
			if before == '/' || before == '.' {
				return true
			}
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point):
			return true
		}
		before = r
	}
	return false
}

// hasOuterBlank finds white space that some reader trims.
func hasOuterBlank(s string) bool { return strings.TrimSpace(s) != s }

// hasScheme finds URLs and drive letters. A colon that follows anything but a
// scheme's characters is an ordinary one.
func hasScheme(s string) bool {
	if strings.Contains(s, "://") {
		return true
	}
	scheme, _, found := strings.Cut(s, ":")
	if !found || scheme == "" || !isASCIILetter(scheme[0]) {
		return false
	}
	return strings.IndexFunc(scheme, func(r rune) bool {
		return r >= utf8.RuneSelf || !isASCIILetter(byte(r)) && !strings.ContainsRune("0123456789+.-", r)
	}) < 0
}

func isASCIILetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// hasPercentEscape finds escapes that decode to what changes a path: dots,
// slashes, backslashes, control characters, escapes again, and the overlong
// forms of all these. "%20" in a name is left alone.
func hasPercentEscape(s string) bool {
	for i := range len(s) {
		if s[i] != '%' {
			continue
		}
		c, ok := hexByte(s[i+1:])
		switch {
		case !ok:
			if len(s) > i+1 && s[i+1]|0x20 == 'u' {
				return true // %u002e, the form of an old server
			}
		case c < ' ' || c == '\x7f' || strings.IndexByte(`./\%`, c) >= 0, c == 0xc0, c == 0xc1:
			return true
		case c == 0xe0 || c == 0xf0:
			if len(s) > i+3 && s[i+3] == '%' {
				if next, ok := hexByte(s[i+4:]); ok && (c == 0xe0 && next < 0xa0 || next < 0x90) {
					return true
				}
			}
		}
	}
	return false
}

func hexByte(s string) (byte, bool) {
	if len(s) < 2 {
		return 0, false
	}
	hi, ok1 := hexDigit(s[0])
	lo, ok2 := hexDigit(s[1])
	return hi<<4 | lo, ok1 && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// hasExpansion finds what shells and templates replace: patterns, braces,
// commands and variables. A dollar sign with no name after it is one.
func hasExpansion(s string) bool {
	if strings.ContainsAny(s, "*?`") || hasBraceExpansion(s) {
		return true
	}
	for i := range len(s) - 1 {
		if s[i] == '$' && (s[i+1] == '(' || s[i+1] == '_' || isASCIILetter(s[i+1])) {
			return true
		}
	}
	return false
}

// hasBraceExpansion finds braces that stand for several texts, or for one that
// a template has. Braces about one word are those of a name: {id}.yaml.
func hasBraceExpansion(s string) bool {
	for rest := s; ; {
		before, after, ok := strings.Cut(rest, "{")
		if !ok {
			return false
		}
		inside, _, closed := strings.Cut(after, "}")
		if !closed || strings.HasSuffix(before, "$") || strings.ContainsAny(inside, ",{%/") || strings.Contains(inside, "..") {
			return true
		}
		rest = after
	}
}

// hasDeceptiveName finds names that are too long, or that become dots, or
// several names, once a reader trims or normalises them.
func hasDeceptiveName(s string) bool {
	for name := range strings.SplitSeq(s, "/") {
		if len(name) > maxNameBytes {
			return true
		}
		if name == "" || name == "." || name == ".." {
			continue
		}
		plain := norm.NFKC.String(name)
		if strings.ContainsAny(plain, `/\`) {
			return true
		}
		for part := range strings.FieldsFuncSeq(plain, isSlashLike) {
			switch strings.TrimSpace(part) {
			case "", ".", "..":
				return true
			}
		}
	}
	return false
}

// isSlashLike reports whether a character looks like a slash and is turned
// into one by some, though not by Unicode's normal forms.
func isSlashLike(r rune) bool {
	switch r {
	case '\u2044', '\u2215', '\u2216', '\u29f5', '\u29f8', '\u29f9':
		return true
	}
	return false
}

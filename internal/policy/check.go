package policy

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hookpolicy/hookpolicy/internal/argpath"
)

// The bounds that more than one field has. The schema has the same.
const (
	maxSeconds  = 86400
	maxPriority = 1_000_000
	maxTool     = 128 // bytes
	maxPath     = 256 // bytes
)

// choose reads one word of a few. The plan's words are spelled as the API's.
// No word means the fallback.
func choose[A, P ~string](c *compiler, at *field.Path, word A, fallback P, others ...P) P {
	if word == "" || P(word) == fallback {
		return fallback
	}
	if !slices.Contains(others, P(word)) {
		c.add(field.NotSupported(at, clip(string(word)), append([]P{fallback}, others...)))
	}
	return P(word)
}

// bounded reads a number; zero means the fallback.
func (c *compiler) bounded(at *field.Path, n, fallback, low, high int32) int32 {
	if n == 0 {
		return fallback
	}
	if n < low || n > high {
		c.add(field.Invalid(at, n, fmt.Sprintf("must be between %d and %d", low, high)))
	}
	return n
}

// unique reports what stands in a set twice.
func (c *compiler) unique(at *field.Path, list []string) {
	seen := make(map[string]bool, len(list))
	for i, s := range list {
		if seen[s] {
			c.add(field.Duplicate(at.Index(i), clip(s)))
		}
		seen[s] = true
	}
}

// visible reports characters that a reader of the policy cannot see.
func (c *compiler) visible(at *field.Path, s string) {
	if hasInvisible(s) {
		c.add(field.Invalid(at, clip(s), "must not hold control or invisible characters"))
	}
}

// tool reports names that no tool can have, or that would look like a pattern:
// tools are matched by their exact names.
func (c *compiler) tool(at *field.Path, name string) {
	switch {
	case name == "":
		c.add(field.Required(at, "the exact name of a tool"))
	case len(name) > maxTool:
		c.add(field.TooLong(at, "", maxTool))
	case strings.ContainsAny(name, "*?"):
		c.add(field.Invalid(at, clip(name), "must be the exact name of a tool: wildcards are not supported"))
	case hasInvisible(name) || strings.ContainsFunc(name, unicode.IsSpace):
		c.add(field.Invalid(at, clip(name), "must be the exact name of a tool, without white space, control or invisible characters"))
	}
}

// argument reads an argument path into its canonical form, "" if it has none.
func (c *compiler) argument(at *field.Path, text string) string {
	switch {
	case text == "":
		c.add(field.Required(at, "the name of an argument, such as path"))
		return ""
	case len(text) > maxPath:
		c.add(field.TooLong(at, "", maxPath))
		return ""
	case hasInvisible(text):
		c.add(field.Invalid(at, clip(text), "must not hold control or invisible characters"))
		return ""
	}
	p, err := argpath.Parse(text)
	if err != nil {
		c.add(field.Invalid(at, clip(text), "cannot be read as an argument path: "+err.Error()))
		return ""
	}
	if root := p.Root(); root == "confirm_destructive" || root == "hook_approval" {
		c.add(field.Invalid(at, clip(text), root+" is reserved: it carries consent, and is taken off a call before hooks see it"))
		return ""
	}
	return canonical(text)
}

// canonical removes the backslashes that a well-formed argument path does not
// need, so that equal paths are equal strings.
func canonical(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && !strings.ContainsRune(`.[]\`, rune(text[i+1])) {
			continue
		}
		b.WriteByte(text[i])
		if text[i] == '\\' {
			i++
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// within reports whether the canonical path inner is outer or stands beneath it.
func within(inner, outer string) bool {
	rest, ok := strings.CutPrefix(inner, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// hasInvisible reports characters that show nothing or change how others show.
func hasInvisible(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return r != ' ' && (!unicode.IsPrint(r) ||
			unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || r == '\u2800')
	})
}

// clip bounds what an error repeats of a policy.
func clip(s string) string {
	const longest = 80
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}

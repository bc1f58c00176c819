// Package toolpattern matches names of tools with patterns.
//
// In a pattern * stands for any characters, none included; nothing else is
// special. ASCII letters match in both cases. A name that an MCP client has put
// before the tool's own, as in mcp__server__delete_file, is left out of account:
// the pattern delete_* matches that, and so does *delete_*.
package toolpattern

import "strings"

// mcpSeparator stands between the parts of a name behind an MCP prefix.
const mcpSeparator = "__"

// A Pattern matches names of tools. The zero value matches the empty name.
type Pattern struct {
	parts []string // lower case; a * between each two
}

// New returns the pattern of a text. Every text is one.
func New(text string) Pattern { return Pattern{strings.Split(strings.ToLower(text), "*")} }

// Match reports whether the pattern matches a name, or what follows a prefix of
// it that an MCP client has put there.
func (p Pattern) Match(name string) bool {
	name = strings.ToLower(name)
	for {
		if p.whole(name) {
			return true
		}
		_, rest, ok := strings.Cut(name, mcpSeparator)
		if !ok {
			return false
		}
		name = rest
	}
}

// whole matches all of a name: the first and the last part at the ends, the
// others in their order, each as early as it goes.
func (p Pattern) whole(name string) bool {
	if len(p.parts) <= 1 {
		return name == strings.Join(p.parts, "")
	}
	first, middle, last := p.parts[0], p.parts[1:len(p.parts)-1], p.parts[len(p.parts)-1]
	rest, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for _, part := range middle {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, last)
}

// Package toolname says which tool a called name means.
//
// Agents put prefixes before a tool's name, and some can be talked into
// writing a name that only looks like a guarded one. So a called name is one
// of three things to an Index of guarded names:
//
//   - It is a guarded name, byte for byte, or "mcp__<server>__" and one. Tool
//     names may hold "__" themselves, so every split counts. If two guarded
//     names could be meant, none is: the name is a look-alike.
//   - It is a look-alike of a guarded name, and must be refused: the two have
//     the same skeleton (see skeleton.go), or the guarded name's skeleton is a
//     segment of the called one's, as in "db.db_query_sql",
//     "mcp__db__db_query_sql__extra" or "mcp_db_db_query_sql".
//   - It is the name of another tool.
//
// The length of what is matched is bounded by Valid: ask it first.
package toolname

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxBytes is the length of the longest valid name.
const MaxBytes = 128

// mcpPrefix stands before the name of a server in the names that MCP clients
// make: mcp__<server>__<tool>.
const mcpPrefix = "mcp__"

// Valid reports whether a name can be one of a tool: 1 to MaxBytes bytes of
// UTF-8, every character visible, none of them white space or "*".
func Valid(name string) bool {
	if name == "" || len(name) > MaxBytes {
		return false
	}
	for i, r := range name {
		switch {
		case r == '*' || r == ' ':
			return false
		case r == utf8.RuneError && !utf8.ValidString(name[i:]):
			return false
		case r < utf8.RuneSelf && ' ' < r && r < '\x7f':
		case !unicode.IsPrint(r) || isInvisible(r):
			return false
		}
	}
	return true
}

// isInvisible reports whether a character shows nothing, though its category
// may say that it does.
func isInvisible(r rune) bool {
	const brailleBlank = '\u2800'
	return r == brailleBlank ||
		unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Base returns the name without its MCP prefix, if it has one. The server's
// name is taken to be the shortest possible.
func Base(called string) string {
	if tool, ok := nextTool(called, len(mcpPrefix)); ok && strings.HasPrefix(called, mcpPrefix) {
		return called[tool:]
	}
	return called
}

// nextTool finds the first split into server and tool after position from:
// where the tool's name starts. The server keeps at least one character.
func nextTool(called string, from int) (tool int, ok bool) {
	if from >= len(called) {
		return 0, false
	}
	i := strings.Index(called[from+1:], "__")
	tool = from + 1 + i + len("__")
	return tool, i >= 0 && tool < len(called)
}

// An Index is a set of guarded names. It is immutable.
type Index struct {
	names     map[string]struct{}
	skeletons map[string]string // of a name, to the name
	// maxSegments is the number of segments in the longest guarded name.
	maxSegments int
}

// NewIndex returns the index of the guarded names. Of names that are
// look-alikes of each other each is matched when it is called exactly.
func NewIndex(names []string) *Index {
	x := &Index{
		names:     make(map[string]struct{}, len(names)),
		skeletons: make(map[string]string, len(names)),
	}
	for _, name := range names {
		x.names[name] = struct{}{}
		s := newSkeleton(name)
		if len(s.text) == 0 {
			continue // nothing that something else could look like
		}
		if first, ok := x.skeletons[string(s.text)]; !ok || name < first {
			x.skeletons[string(s.text)] = name
		}
		x.maxSegments = max(x.maxSegments, len(s.starts))
	}
	return x
}

// Match returns the guarded name that a called name means, or else the one
// that it is a look-alike of. At most one of the two is set; if none is, the
// called name is another tool's. A name that is not Valid matches nothing.
func (x *Index) Match(called string) (name, lookalike string) {
	if len(x.names) == 0 || len(called) > MaxBytes {
		return "", ""
	}
	name, ambiguous := x.exact(called)
	switch {
	case ambiguous:
		return "", name
	case name != "":
		return name, ""
	default:
		return "", x.lookalike(called)
	}
}

// exact looks for the called name and for what may follow its MCP prefix.
func (x *Index) exact(called string) (name string, ambiguous bool) {
	if _, ok := x.names[called]; ok {
		name = called
	}
	if !strings.HasPrefix(called, mcpPrefix) {
		return name, false
	}
	for tool, ok := nextTool(called, len(mcpPrefix)); ok; tool, ok = nextSplit(called, tool) {
		if _, guarded := x.names[called[tool:]]; !guarded {
			continue
		}
		if name != "" {
			return name, true
		}
		name = called[tool:]
	}
	return name, false
}

// nextSplit finds the split after the one whose tool starts at tool. Of "___"
// both pairs count.
func nextSplit(called string, tool int) (int, bool) {
	i := strings.Index(called[tool-1:], "__")
	next := tool - 1 + i + len("__")
	return next, i >= 0 && next < len(called)
}

// lookalike looks for guarded names among the segments of the called one, any
// number of neighbours taken together.
func (x *Index) lookalike(called string) string {
	s := newSkeleton(called)
	first := 0
	if len(s.starts) > 1 && strings.HasPrefix(called, mcpPrefix) {
		first = 1 // a tool of the name "mcp" is not every tool behind a prefix
	}
	for i := first; i < len(s.starts); i++ {
		for j := i; j < len(s.starts) && j-i < x.maxSegments; j++ {
			if name, ok := x.skeletons[string(s.segments(i, j))]; ok {
				return name
			}
		}
	}
	if name, ok := x.skeletons[string(s.text)]; ok {
		return name
	}
	if strings.HasPrefix(called, mcpPrefix) {
		// What follows the prefix is held to what a name without one is, however
		// many segments it is written in.
		for i := 2; i < len(s.starts); i++ {
			if name, ok := x.skeletons[string(s.text[s.starts[i]:])]; ok {
				return name
			}
		}
	}
	return x.flattened(s)
}

// flattened looks behind the prefix of clients that join server and tool with
// one underscore: mcp_<server>_<tool>.
func (x *Index) flattened(s skeleton) string {
	const prefix = "rncp_" // the skeleton of "mcp_"
	if len(s.starts) != 1 || !strings.HasPrefix(string(s.text), prefix) {
		return ""
	}
	for i := len(prefix) + 1; i < len(s.text); i++ {
		if s.text[i-1] != '_' {
			continue
		}
		if name, ok := x.skeletons[string(s.text[i:])]; ok {
			return name
		}
	}
	return ""
}

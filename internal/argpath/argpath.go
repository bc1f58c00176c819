// Package argpath names places within the arguments of a call.
//
// A path is a list of member names with dots between them, such as "sql" or
// "options.query". "[*]" after a name stands for every element of the array
// there: "files[*].path". A dot, a bracket or a backslash that belongs to a
// name is written after a backslash. Names are compared byte for byte.
//
//	path  = step *( "." step )
//	step  = name *( "[*]" )
package argpath

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxSteps bounds the names and wildcards of one path.
const MaxSteps = 16

// A Path is a parsed path. The zero Path leads nowhere.
type Path struct {
	text  string
	steps []step
}

type step struct {
	name string
	each bool // every element of an array; name is empty
}

// Parse reads a path. The error says what is wrong with it.
func Parse(text string) (Path, error) {
	p := Path{text: text}
	begun := 0 // where the name begins that is being read
	hasName, escaped, afterEach := false, false, false
	flush := func(end int) error {
		if !hasName && !afterEach {
			return errors.New("a name is missing")
		}
		if hasName {
			p.steps = append(p.steps, step{name: unescape(text[begun:end], escaped)})
		}
		hasName, escaped, afterEach = false, false, false
		return nil
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			if !hasName {
				begun = i
			}
			i++
			hasName, escaped = true, true
		case c == '\\':
			return Path{}, errors.New("a backslash at the end")
		case c == '.':
			if err := flush(i); err != nil {
				return Path{}, err
			}
			if i+1 == len(text) {
				return Path{}, errors.New("a name is missing after the last dot")
			}
		case c == '[':
			if !strings.HasPrefix(text[i:], "[*]") {
				return Path{}, fmt.Errorf("position %d: only [*] may follow a name", i+1)
			}
			if err := flush(i); err != nil {
				return Path{}, err
			}
			p.steps = append(p.steps, step{each: true})
			afterEach = true
			i += len("[*]") - 1
		case c == ']':
			return Path{}, fmt.Errorf("position %d: a bracket that was not opened", i+1)
		case afterEach:
			return Path{}, fmt.Errorf("position %d: a dot is missing after [*]", i+1)
		default:
			if !hasName {
				begun = i
			}
			hasName = true
		}
	}
	if err := flush(len(text)); err != nil {
		return Path{}, err
	}
	if len(p.steps) > MaxSteps {
		return Path{}, fmt.Errorf("more than %d steps", MaxSteps)
	}
	return p, nil
}

// unescape takes the backslashes away. A name without one is the part of the
// path that it was: there are many paths, and few names have any.
func unescape(name string, escaped bool) string {
	if !escaped {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '\\' {
			i++
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// String returns the path as it was written.
func (p Path) String() string { return p.text }

// Root is the top-level argument that the path starts at.
func (p Path) Root() string {
	if len(p.steps) == 0 {
		return ""
	}
	return p.steps[0].name
}

// Covers reports whether q leads to what p leads to, or beneath it. A [*] and
// nothing else stands for [*].
func (p Path) Covers(q Path) bool {
	return len(p.steps) > 0 && len(p.steps) <= len(q.steps) && slices.Equal(p.steps, q.steps[:len(p.steps)])
}

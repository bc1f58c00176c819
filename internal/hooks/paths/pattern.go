package paths

import (
	"errors"
	"io/fs"
	"strings"
	"unicode/utf8"
)

// maxReadings bounds the names that a pattern is tried for.
const maxReadings = 64

// errPattern is the error of a walk over a name that a tool which expands
// patterns would take for another one.
var errPattern = errors.New("a pattern for another name")

// hasClass reports whether a path has a name with a class of characters, as
// patterns do: a[bc]. It is an ordinary name, too: report[1].csv, app/[id].
func hasClass(text string) bool {
	for name := range strings.SplitSeq(text, "/") {
		if open := strings.IndexByte(name, '['); open >= 0 && strings.IndexByte(name[open:], ']') > 0 {
			return true
		}
	}
	return false
}

// checkPattern refuses a name that, read as a pattern, is that of something
// else in the directory. A tool that expands it would open that.
func checkPattern(dir entry, name string) error {
	if !hasClass(name) {
		return nil
	}
	others, ok := readings(name)
	if !ok {
		return errPattern
	}
	for _, other := range others {
		e, err := dir.lookup(other)
		if err == nil {
			e.close()
			return errPattern
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// readings returns the names that a pattern of plain classes stands for. It
// knows too many, negated and named ones for patterns, but not which names.
func readings(pattern string) (names []string, ok bool) {
	names = []string{""}
	for pattern != "" {
		open := strings.IndexByte(pattern, '[')
		shut := strings.IndexByte(pattern[max(open, 0):], ']')
		if open < 0 || shut < 0 {
			open, shut = len(pattern), 0
		}
		for i := range names {
			names[i] += pattern[:open]
		}
		if shut == 0 {
			break
		}
		class := pattern[open+1 : open+shut]
		pattern = pattern[open+shut+1:]
		if names, ok = choose(names, class); !ok {
			return nil, false
		}
	}
	return names, true
}

// choose returns every name with every character of a class behind it.
func choose(names []string, class string) ([]string, bool) {
	if class == "" || strings.ContainsAny(class[:1], "!^]") || strings.Contains(class, "[") {
		return nil, false
	}
	characters, ok := members(class)
	if !ok || len(names)*len(characters) > maxReadings {
		return nil, false
	}
	longer := make([]string, 0, len(names)*len(characters))
	for _, name := range names {
		for _, c := range characters {
			longer = append(longer, name+string(c))
		}
	}
	return longer, true
}

// members returns the characters of a class, with those of its ranges.
func members(class string) ([]rune, bool) {
	var all []rune
	runes := []rune(class)
	for i := 0; i < len(runes); i++ {
		last := runes[i]
		if i+2 < len(runes) && runes[i+1] == '-' {
			last = runes[i+2]
		}
		for c := runes[i]; c <= last; c++ {
			if all = append(all, c); len(all) > maxReadings {
				return nil, false
			}
		}
		if last != runes[i] || i+2 < len(runes) && runes[i+1] == '-' {
			i += 2
		}
	}
	return all, utf8.ValidString(class)
}

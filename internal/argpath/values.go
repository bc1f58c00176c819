package argpath

import (
	"strconv"
	"strings"
)

// A Match is one value that a path leads to.
type Match struct {
	Pointer string // where it stands, as an RFC 6901 JSON pointer
	Value   any
}

// Find returns every value that the path leads to, arrays in order. A step
// that does not fit what is there leads nowhere.
func (p Path) Find(args map[string]any) []Match {
	return find(nil, "", args, p.steps)
}

func find(found []Match, at string, v any, rest []step) []Match {
	if len(rest) == 0 {
		return append(found, Match{Pointer: at, Value: v})
	}
	if rest[0].each {
		list, _ := v.([]any)
		for i, e := range list {
			found = find(found, at+"/"+strconv.Itoa(i), e, rest[1:])
		}
		return found
	}
	obj, _ := v.(map[string]any)
	if e, ok := obj[rest[0].name]; ok {
		found = find(found, at+"/"+escape(rest[0].name), e, rest[1:])
	}
	return found
}

// Set writes a value at the path, in place, and makes the objects on the way
// that are missing. It reports false, and may have made objects, when
// something else stands in the way.
func (p Path) Set(args map[string]any, value any) bool {
	return set(args, p.steps, value)
}

func set(v any, rest []step, value any) bool {
	if rest[0].each {
		list, ok := v.([]any)
		for i := range list {
			if len(rest) == 1 {
				list[i] = value
			} else if !set(list[i], rest[1:], value) {
				return false
			}
		}
		return ok
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return false
	}
	name := rest[0].name
	if len(rest) == 1 {
		obj[name] = value
		return true
	}
	next, ok := obj[name]
	if !ok {
		if rest[1].each {
			return true // no array, no elements: nothing to set
		}
		next = map[string]any{}
		obj[name] = next
	}
	return set(next, rest[1:], value)
}

// Remove deletes what the path leads to, in place, and reports whether
// anything was there. A path that ends in [*] empties the array.
func (p Path) Remove(args map[string]any) bool {
	last := p.steps[len(p.steps)-1]
	parent := p.steps[:len(p.steps)-1]
	if last.each { // empty the array that the member before names
		if len(p.steps) < 2 || p.steps[len(p.steps)-2].each {
			return false
		}
		last, parent = p.steps[len(p.steps)-2], p.steps[:len(p.steps)-2]
		return removeWith(args, parent, func(obj map[string]any) bool {
			list, ok := obj[last.name].([]any)
			if ok && len(list) > 0 {
				obj[last.name] = []any{}
				return true
			}
			return false
		})
	}
	return removeWith(args, parent, func(obj map[string]any) bool {
		_, ok := obj[last.name]
		delete(obj, last.name)
		return ok
	})
}

func removeWith(args map[string]any, parent []step, f func(map[string]any) bool) bool {
	removed := false
	for _, m := range find(nil, "", args, parent) {
		if obj, ok := m.Value.(map[string]any); ok && f(obj) {
			removed = true
		}
	}
	return removed
}

// escape writes a member name as a token of a JSON pointer.
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

package argpath

import (
	"slices"
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
	if len(p.steps) == 0 {
		return nil
	}
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
	return len(p.steps) > 0 && set(args, p.steps, value)
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
		if slices.ContainsFunc(rest, func(s step) bool { return s.each }) {
			return true // no array, no elements: nothing to set
		}
		next = map[string]any{}
		obj[name] = next
	}
	return set(next, rest[1:], value)
}

// Replace puts f's answer in the place of every value that the path leads to.
func (p Path) Replace(args map[string]any, f func(v any) any) {
	if len(p.steps) > 0 {
		replace(args, p.steps, f)
	}
}

func replace(v any, rest []step, f func(any) any) {
	next := func(e any) any {
		if len(rest) == 1 {
			return f(e)
		}
		replace(e, rest[1:], f)
		return e
	}
	if rest[0].each {
		list, _ := v.([]any)
		for i, e := range list {
			list[i] = next(e)
		}
		return
	}
	obj, _ := v.(map[string]any)
	if e, ok := obj[rest[0].name]; ok {
		obj[rest[0].name] = next(e)
	}
}

// Remove deletes what the path leads to, in place, and reports whether
// anything was there. A path that ends in [*] empties the array.
func (p Path) Remove(args map[string]any) bool {
	if len(p.steps) == 0 {
		return false
	}
	last, parent := p.steps[len(p.steps)-1], p.steps[:len(p.steps)-1]
	removed := false
	if last.each {
		replace(args, parent, func(v any) any {
			list, ok := v.([]any)
			if !ok || len(list) == 0 {
				return v
			}
			removed = true
			return []any{}
		})
		return removed
	}
	for _, m := range find(nil, "", args, parent) {
		obj, _ := m.Value.(map[string]any)
		if _, ok := obj[last.name]; ok {
			delete(obj, last.name)
			removed = true
		}
	}
	return removed
}

// escape writes a member name as a token of a JSON pointer.
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

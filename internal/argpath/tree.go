package argpath

import (
	"maps"
	"slices"
	"strconv"
)

// A Tree is a set of paths, each standing for everything beneath it.
type Tree struct {
	whole   bool // a path ends here
	members map[string]*Tree
	each    *Tree
}

// Add puts a path into the tree.
func (t *Tree) Add(p Path) {
	for _, s := range p.steps {
		t = t.child(s)
	}
	t.whole = true
}

func (t *Tree) child(s step) *Tree {
	if s.each {
		if t.each == nil {
			t.each = &Tree{}
		}
		return t.each
	}
	if t.members == nil {
		t.members = make(map[string]*Tree)
	}
	if t.members[s.name] == nil {
		t.members[s.name] = &Tree{}
	}
	return t.members[s.name]
}

// Outside returns the JSON pointer of the first value, in the order of names,
// that no path of the tree covers. Empty containers on the way to a path are
// covered: there is nothing in them.
func (t *Tree) Outside(args map[string]any) (pointer string, found bool) {
	return t.outside("", args)
}

func (t *Tree) outside(at string, v any) (string, bool) {
	if t.whole {
		return "", false
	}
	switch v := v.(type) {
	case map[string]any:
		if t.members == nil && at != "" {
			return at, true
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			next, ok := t.members[name]
			if !ok {
				return at + "/" + escape(name), true
			}
			if p, found := next.outside(at+"/"+escape(name), v[name]); found {
				return p, true
			}
		}
		return "", false
	case []any:
		if t.each == nil {
			return at, true
		}
		for i, e := range v {
			if p, found := t.each.outside(at+"/"+strconv.Itoa(i), e); found {
				return p, true
			}
		}
		return "", false
	default:
		return at, true
	}
}

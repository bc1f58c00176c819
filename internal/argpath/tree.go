package argpath

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
)

// A Tree is a set of paths, each standing for everything beneath it. There is
// one for each guarded tool of each policy: it is made to be small.
type Tree struct {
	whole   bool     // the path that leads nowhere is in the tree
	members []branch // of objects, in the order of their names
	each    *branch  // of arrays; nil: there is none
}

// A branch is where paths go on, or end.
type branch struct {
	name  string
	below *Tree // nil: a path ends here, and all beneath it is in the tree
}

// Add puts a path into the tree.
func (t *Tree) Add(p Path) {
	if len(p.steps) == 0 {
		t.whole = true
		return
	}
	for _, s := range p.steps[:len(p.steps)-1] {
		b, known := t.branch(s)
		if !known {
			b.below = &Tree{}
		}
		if b.below == nil {
			return // all beneath it is in the tree already
		}
		t = b.below
	}
	b, _ := t.branch(p.steps[len(p.steps)-1])
	b.below = nil
}

// branch returns the branch of a step, a new one if it is not known. It may be
// moved by the next call.
func (t *Tree) branch(s step) (b *branch, known bool) {
	if s.each {
		known = t.each != nil
		if !known {
			t.each = &branch{}
		}
		return t.each, known
	}
	i, known := t.find(s.name)
	if !known {
		t.members = slices.Insert(t.members, i, branch{name: s.name})
	}
	return &t.members[i], known
}

func (t *Tree) find(name string) (int, bool) {
	return slices.BinarySearchFunc(t.members, name, func(b branch, name string) int { return cmp.Compare(b.name, name) })
}

// Outside returns the JSON pointer of the first value, in the order of names,
// that no path of the tree covers. Empty containers on the way to a path are
// covered: there is nothing in them.
func (t *Tree) Outside(args map[string]any) (pointer string, found bool) {
	return t.outside("", args)
}

func (t *Tree) outside(at string, v any) (string, bool) {
	if t == nil || t.whole {
		return "", false
	}
	switch v := v.(type) {
	case map[string]any:
		if len(t.members) == 0 && at != "" {
			return at, true
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			i, ok := t.find(name)
			if !ok {
				return at + "/" + escape(name), true
			}
			if p, found := t.members[i].below.outside(at+"/"+escape(name), v[name]); found {
				return p, true
			}
		}
		return "", false
	case []any:
		if t.each == nil {
			return at, true
		}
		for i, e := range v {
			if p, found := t.each.below.outside(at+"/"+strconv.Itoa(i), e); found {
				return p, true
			}
		}
		return "", false
	default:
		return at, true
	}
}

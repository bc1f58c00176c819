// Package trigger finds out, in one pass over a text, whether the text is worth
// a closer look.
package trigger

// A Trigger finds, in one pass over a text, whether anything is in it that a
// secret could be told by. Most texts hold nothing, and end here. It is an
// Aho-Corasick automaton over ASCII without case.
type Trigger struct {
	class [256]uint8 // of a byte; 0 is any other
	width int
	next  []uint16 // state*width + class; hit if nothing more need be read
}

const hit = ^uint16(0)

// New returns a Trigger for patterns of ASCII in lower case. A letter that is
// not ASCII may look like any other, so it is a hit too.
func New(patterns []string) *Trigger {
	t := &Trigger{width: 1}
	for _, p := range patterns {
		for i := range len(p) {
			if c := p[i]; t.class[c] == 0 {
				t.class[c] = uint8(t.width) // there are at most 128 ASCII characters
				t.width++
			}
		}
	}
	for c := byte('a'); c <= 'z'; c++ {
		t.class[c-0x20] = t.class[c]
	}
	t.build(patterns)
	return t
}

func (t *Trigger) build(patterns []string) {
	t.next = make([]uint16, t.width)
	for _, p := range patterns {
		t.insert(p)
	}
	fail := make([]int, len(t.next)/t.width)
	var queue []int
	for c := range t.width {
		if to := t.next[c]; to != 0 && to != hit {
			queue = append(queue, int(to))
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for c := range t.width {
			other := t.next[fail[at]*t.width+c]
			switch to := t.next[at*t.width+c]; {
			case to == hit:
			case to == 0 || other == hit:
				t.next[at*t.width+c] = other
			default:
				fail[to] = int(other)
				queue = append(queue, int(to))
			}
		}
	}
}

func (t *Trigger) insert(pattern string) {
	at := 0
	for i := range len(pattern) {
		edge := &t.next[at*t.width+int(t.class[pattern[i]])]
		switch {
		case *edge == hit:
			return
		case i == len(pattern)-1:
			*edge = hit
		case *edge == 0:
			*edge = uint16(len(t.next) / t.width) // patterns are few and short
			at = int(*edge)
			t.next = append(t.next, make([]uint16, t.width)...)
		default:
			at = int(*edge)
		}
	}
}

// In reports whether any pattern, or a letter that is not ASCII, is in s.
func (t *Trigger) In(s string) bool {
	state := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x80 {
			return true
		}
		to := t.next[state+int(t.class[c])]
		if to == hit {
			return true
		}
		state = int(to) * t.width
	}
	return false
}

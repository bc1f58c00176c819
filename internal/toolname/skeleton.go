package toolname

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A skeleton is what is left of a name when everything is taken away that the
// eye, or a gateway that tidies names up, could overlook. Names with the same
// skeleton are look-alikes. In the manner of UTS #39:
//
//   - compatibility decomposition: full-width and mathematical letters become
//     plain ones, and accents stand apart;
//   - accents, invisible and control characters are dropped;
//   - characters that look like an ASCII letter become it (see confusables.go),
//     and case is folded;
//   - i, l, 1 and | are one letter, so are o and 0, m and rn, w and vv;
//   - whatever is no letter and no digit is a separator: any run of them is
//     one underscore, none is left at the ends.
//
// A segment ends at a separator that is more than one "_", "-" or space.
type skeleton struct {
	text   []byte
	starts []int // of the segments, within text
}

// segments returns the segments i to j, j included.
func (s skeleton) segments(i, j int) []byte {
	end := len(s.text)
	if j+1 < len(s.starts) {
		end = s.starts[j+1] - len("_")
	}
	return s.text[s.starts[i]:end]
}

func newSkeleton(name string) skeleton {
	b := builder{skeleton: skeleton{
		text:   make([]byte, 0, 2*MaxBytes),
		starts: make([]int, 0, 8),
	}}
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			name = norm.NFKD.String(name)
			break
		}
	}
	for _, r := range name {
		b.add(r)
	}
	return b.skeleton
}

// A builder writes a skeleton character by character.
type builder struct {
	skeleton
	separators int  // in the run that is being read
	boundary   bool // the run ends a segment
}

func (b *builder) add(r rune) {
	switch {
	case r == '|':
		b.letter('l')
	case r < utf8.RuneSelf && isAlphanumeric(byte(r)):
		b.letter(byte(r))
	case r < utf8.RuneSelf:
		b.separator(r)
	case isInvisible(r) || unicode.In(r, unicode.Mn, unicode.Me):
	default:
		b.addUnicode(r)
	}
}

func (b *builder) addUnicode(r rune) {
	if c, ok := looksLike(r); ok {
		b.letter(c)
		return
	}
	r = unicode.ToLower(unicode.ToUpper(r)) // both: two lower-case sigmas have one capital
	if c, ok := looksLike(r); ok {
		b.letter(c)
		return
	}
	if !unicode.In(r, unicode.L, unicode.N, unicode.M) {
		b.separator(r)
		return
	}
	b.endSeparator()
	b.text = utf8.AppendRune(b.text, r)
}

// letter adds an ASCII letter or digit as the one that stands for its
// look-alikes.
func (b *builder) letter(c byte) {
	b.endSeparator()
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	switch c {
	case 'i', '1':
		b.text = append(b.text, 'l')
	case '0':
		b.text = append(b.text, 'o')
	case 'm':
		b.text = append(b.text, "rn"...)
	case 'w':
		b.text = append(b.text, "vv"...)
	default:
		b.text = append(b.text, c)
	}
}

func (b *builder) separator(r rune) {
	if unicode.IsControl(r) {
		return
	}
	b.separators++
	soft := r == '_' || unicode.IsSpace(r) || unicode.Is(unicode.Pd, r)
	b.boundary = b.boundary || !soft || b.separators > 1
}

// endSeparator writes the run of separators before a letter.
func (b *builder) endSeparator() {
	switch {
	case len(b.text) == 0:
		b.starts = append(b.starts, 0)
	case b.separators > 0:
		b.text = append(b.text, '_')
		if b.boundary {
			b.starts = append(b.starts, len(b.text))
		}
	}
	b.separators, b.boundary = 0, false
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// looksLike returns the ASCII letter or digit that another character looks
// like.
func looksLike(r rune) (byte, bool) {
	i, ok := slices.BinarySearchFunc(confusables[:], r, func(c confusable, r rune) int { return int(c.from - r) })
	if !ok {
		return 0, false
	}
	return confusables[i].to, true
}

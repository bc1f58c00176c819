package approval

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// minShown is the least that Safe shortens a text to, in characters.
	minShown = 64
	// shortening is the room that the note on a shortened text may take.
	shortening = 44
	// maxRun is how often a blank or hidden character is written out in a row.
	maxRun = 16
	// maxMarks is how many combining marks may sit on one character.
	maxMarks = 4
)

// Safe returns the text in a form in which nothing hides and nothing moves the
// rest: only printable characters and the plain space stay as they are.
// Control, bidi, zero-width, tag, private-use and unassigned characters,
// variation selectors, other blanks, line ends and stacked combining marks
// become \u{…}, with \n, \r and \t for the usual ones and \x{…} for bytes that
// are not UTF-8. Long runs of one blank or hidden character are counted,
// \u{20*4000}, so that they push nothing out of sight.
//
// A text longer than limit characters (64 at the least) is cut and ends in a
// note with its full length; whoever shows it offers the whole one too.
// Safe of a safe text is that text. What Markdown, HTML or a chat make of it is
// their renderer's part.
func Safe(text string, limit int) string {
	limit = max(limit, minShown)
	if len(text) <= limit && isPlain(text) {
		return text
	}
	w := safeWriter{limit: limit, marks: maxMarks}
	for rest := text; rest != "" && w.shown <= limit; {
		r, size := utf8.DecodeRuneInString(rest)
		run := 1
		if r == ' ' || (r != utf8.RuneError && isHidden(r, size)) {
			run = runLength(rest, rest[:size])
		}
		w.add(r, size, rest[0], run)
		rest = rest[size*run:]
	}
	if w.shown <= limit {
		return w.text.String()
	}
	return w.text.String()[:w.cut] + fmt.Sprintf("… [%d characters in all]", utf8.RuneCountInString(text))
}

// isPlain reports whether Safe need not touch the text: printable ASCII without
// long runs of spaces.
func isPlain(text string) bool {
	spaces := 0
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c > '~' {
			return false
		}
		if c != ' ' {
			spaces = 0
		} else if spaces++; spaces > maxRun {
			return false
		}
	}
	return true
}

func runLength(text, unit string) int {
	n := 0
	for strings.HasPrefix(text, unit) {
		text = text[len(unit):]
		n++
	}
	return n
}

// isHidden reports whether a character cannot be shown as it is. The list is
// of what may be shown, so that a character that nobody thought of is hidden.
func isHidden(r rune, size int) bool {
	switch {
	case r >= ' ' && r <= '~':
		return false
	case r == utf8.RuneError && size == 1:
		return true
	case !unicode.IsPrint(r):
		return true
	case unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return true
	default: // printable by name, but blank
		return r == '\u2800' || r == '\ufffc' || r == '\U0001d159'
	}
}

// A safeWriter collects what Safe shows.
type safeWriter struct {
	limit int
	text  strings.Builder
	shown int // characters
	cut   int // bytes of text that leave room for the note
	marks int // combining marks on the last character; maxMarks if it is no base
}

func (w *safeWriter) add(r rune, size int, first byte, run int) {
	isMark := r >= '\u0300' && unicode.In(r, unicode.Mn, unicode.Me)
	switch {
	case r == ' ' && run <= maxRun:
		w.write(strings.Repeat(" ", run))
		w.marks = 0
	case r == ' ', isHidden(r, size):
		w.write(escape(r, size, first, run))
		w.marks = maxMarks
	case isMark && w.marks >= maxMarks:
		w.write(escape(r, size, first, 1))
	case isMark:
		w.write(string(r))
		w.marks++
	default:
		w.write(string(r))
		w.marks = 0
	}
}

func (w *safeWriter) write(s string) {
	w.text.WriteString(s)
	w.shown += utf8.RuneCountInString(s)
	if w.shown <= w.limit-shortening {
		w.cut = w.text.Len()
	}
}

func escape(r rune, size int, first byte, run int) string {
	kind, code := 'u', uint32(r)
	if r == utf8.RuneError && size == 1 {
		kind, code = 'x', uint32(first)
	}
	if run > maxRun {
		return fmt.Sprintf(`\%c{%x*%d}`, kind, code, run)
	}
	one := fmt.Sprintf(`\%c{%x}`, kind, code)
	switch r {
	case '\n':
		one = `\n`
	case '\r':
		one = `\r`
	case '\t':
		one = `\t`
	}
	return strings.Repeat(one, run)
}

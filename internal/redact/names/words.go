package names

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
)

// Names are judged by so many bytes and words, at their end.
const (
	maxName  = 96
	maxWords = 16
)

// words are the words of a name, folded. It lives on the stack.
type words struct {
	text   [maxName]byte
	n      int
	ends   [maxWords]int // where each word ends in text
	count  int
	dotted bool // a dot stands before the last word
}

// all returns the words as one.
func (w *words) all() []byte { return w.text[:w.n] }

// at returns word i.
func (w *words) at(i int) []byte {
	start := 0
	if i > 0 {
		start = w.ends[i-1]
	}
	return w.text[start:w.ends[i]]
}

// split sets w to the words of a name: it splits at what is neither letter
// nor digit, and where camelCase begins a word. Bytes of other alphabets are
// letters without case.
func (w *words) split(name string) {
	w.n, w.count, w.dotted = 0, 0, false
	if !lex.IsASCII(name) {
		name = plainLetters(name[:min(len(name), 8*maxName)])
	}
	if len(name) > maxName {
		name = name[len(name)-maxName:]
	}
	for i := range len(name) {
		switch c := name[i]; {
		case lex.IsUpper(c):
			if i > 0 && (lex.IsLower(name[i-1]) || lex.IsDigit(name[i-1]) ||
				lex.IsUpper(name[i-1]) && i+1 < len(name) && lex.IsLower(name[i+1])) {
				w.end()
			}
			w.add(c | 0x20)
		case lex.IsLower(c), lex.IsDigit(c), c >= utf8.RuneSelf:
			w.add(c)
		case c == '\'': // the apostrophe of "user's"
		default:
			w.end()
			w.dotted = c == '.'
		}
	}
	w.end()
}

func (w *words) add(c byte) {
	w.text[w.n] = c
	w.n++
}

func (w *words) end() {
	start := 0
	if w.count > 0 {
		start = w.ends[w.count-1]
	}
	if w.n == start {
		return
	}
	if w.count == maxWords { // the first one matters least
		first := w.ends[0]
		copy(w.text[:], w.text[first:w.n])
		w.n -= first
		for i := 1; i < maxWords; i++ {
			w.ends[i-1] = w.ends[i] - first
		}
		w.count--
	}
	w.ends[w.count] = w.n
	w.count++
}

// plainLetters takes away what the eye does not see in a name: width, accents,
// invisible characters, and the alphabet that a letter is from.
func plainLetters(name string) string {
	out := make([]byte, 0, len(name))
	for _, r := range norm.NFKD.String(name) {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Cf, unicode.Me):
		case confusables[r] != 0:
			out = append(out, confusables[r])
		default:
			out = utf8.AppendRune(out, lowerOther(r))
		}
	}
	return norm.NFC.String(string(out))
}

// lowerOther folds the case of letters that are not ASCII; that of ASCII shows
// where words begin.
func lowerOther(r rune) rune {
	if r < utf8.RuneSelf {
		return r
	}
	return unicode.ToLower(r)
}

// confusables are the letters of other alphabets that look like a letter which
// names of secrets are written with.
var confusables = map[rune]byte{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'м': 'm', 'ո': 'n',
	'о': 'o', 'р': 'p', 'ԛ': 'q', 'ѕ': 's', 'т': 't', 'ц': 'u', 'ԝ': 'w', 'х': 'x', 'у': 'y', 'ʏ': 'y',
	'А': 'A', 'В': 'B', 'С': 'C', 'Е': 'E', 'Н': 'H', 'І': 'I', 'Ј': 'J', 'К': 'K', 'М': 'M', 'О': 'O', 'Р': 'P', 'Ѕ': 'S',
	'Т': 'T', 'Х': 'X', 'У': 'Y', 'Ԝ': 'W',
	'α': 'a', 'ε': 'e', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'σ': 'o', 'τ': 't', 'υ': 'u', 'χ': 'x', 'ω': 'w',
	'Α': 'A', 'Β': 'B', 'Ε': 'E', 'Ζ': 'Z', 'Η': 'H', 'Ι': 'I', 'Κ': 'K', 'Μ': 'M', 'Ν': 'N', 'Ο': 'O', 'Ρ': 'P', 'Τ': 'T',
	'Υ': 'Y', 'Χ': 'X', 'ı': 'i', 'ɑ': 'a', 'ɡ': 'g', 'ѡ': 'w',
}

// Compact returns a name as one word: what names are compared by where their
// words do not matter.
func Compact(name string) string {
	var w words
	w.split(name)
	return string(w.all())
}

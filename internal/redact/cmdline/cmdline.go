// Package cmdline knows which words of a command line are secrets: what a
// program takes as a password, wherever it takes it.
//
// Flags that name a secret (--password) mean the same to every program and are
// no matter of this package. It knows the others: one-letter flags,
// user:password, passwords by position, literals of a Kubernetes Secret, and
// what is piped into a program that reads a password.
package cmdline

import (
	"path"
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
)

// A Part is a part of a word: word[Start:End].
type Part struct{ Start, End int }

// maxRules bounds what is known of one program.
const maxRules = 3

// A Line reads one command line word by word. Its zero value has read nothing.
// Words may still have their quotes.
type Line struct {
	program *program
	active  [maxRules]bool // rules of the program that apply from here on
	place   [maxRules]int  // words since then that are no flags
	next    takes          // what the next word is
	input   takes          // what the program reads as its input
}

// Known reports whether a word names a program with secret arguments, maybe by
// its path.
func Known(word string) bool { return programs[base(word)] != nil }

// Started reports whether such a program has begun the line.
func (l *Line) Started() bool { return l.program != nil }

// Echoes reports whether the program prints its arguments: what they are
// depends on what reads them.
func (l *Line) Echoes() bool { return l.program != nil && l.program.echoes }

// Next judges the next word, and returns the part of it that is a secret.
func (l *Line) Next(word string) (Part, bool) {
	bare := unquoted(word)
	text := word[bare.Start:bare.End]
	if l.program == nil {
		l.start(text)
		return Part{}, false
	}
	take := l.next
	l.next = nothing
	isFlag := len(text) > 1 && text[0] == '-'
	if take != nothing && !isFlag {
		return take.of(word, bare)
	}
	if readers[text] {
		l.input = whole
	}
	if isFlag {
		return l.flag(word, bare)
	}
	return l.positional(word, bare)
}

// Input returns the part of a word that is a secret because the line reads it
// as its input.
func (l *Line) Input(word string) (Part, bool) { return l.input.of(word, unquoted(word)) }

func (l *Line) start(word string) {
	l.program = programs[base(word)]
	if l.program == nil {
		return
	}
	l.input = l.program.input
	for i, r := range l.program.rules {
		l.active[i] = r.within == ""
	}
}

// flag judges a word that begins with a hyphen.
func (l *Line) flag(word string, bare Part) (Part, bool) {
	text := word[bare.Start:bare.End]
	for i, r := range l.program.rules {
		if !l.active[i] {
			l.active[i] = r.isSwitchedOnBy(text)
			continue
		}
		if name, _, ok := strings.Cut(text, "="); ok && r.flags[name] != nothing {
			return r.flags[name].of(word, Part{bare.Start + len(name) + 1, bare.End})
		}
		if l.next = r.flags[text]; l.next != nothing {
			return Part{}, false
		}
		if r.words || strings.HasPrefix(text, "--") || len(text) == 2 {
			continue
		}
		for _, letters := range []map[string]takes{r.attached, r.flags} {
			for _, n := range []int{3, 2} {
				if take := letters[text[:min(n, len(text))]]; take != nothing && len(text) > n {
					return take.of(word, Part{bare.Start + n, bare.End})
				}
			}
		}
		if last := text[len(text)-1:]; isLetters(text[1:]) {
			l.next = r.flags["-"+last]
		}
	}
	return Part{}, false
}

// positional judges a word that is no flag.
func (l *Line) positional(word string, bare Part) (Part, bool) {
	text := word[bare.Start:bare.End]
	for i, r := range l.program.rules {
		if !l.active[i] {
			l.active[i] = text == r.within
			continue
		}
		if l.next = r.flags[text]; l.next != nothing {
			return Part{}, false
		}
		if l.place[i]++; r.takes != nothing && (r.at == l.place[i] || r.at == every) {
			return r.takes.of(word, bare)
		}
	}
	if !l.program.echoes && Known(text) { // sudo mysql, docker exec db mysql
		*l = Line{}
		l.start(text)
	}
	return Part{}, false
}

// base returns the name of a program without its path, in lower case.
func base(word string) string {
	word = word[strings.LastIndexByte(word, '\\')+1:]
	return strings.TrimSuffix(strings.ToLower(path.Base(word)), ".exe")
}

// unquoted returns what stands within a word's quotes.
func unquoted(word string) Part {
	start, end := 0, len(word)
	for start+1 < end && word[start] == '\\' && (word[start+1] == '\\' || lex.IsQuote(word[start+1])) {
		start++
	}
	if start < end && lex.IsQuote(word[start]) {
		quote := word[start]
		if start++; end > start && word[end-1] == quote {
			for end--; end > start && word[end-1] == '\\'; end-- {
			}
		}
	}
	return Part{start, end}
}

func isLetters(s string) bool {
	for i := range len(s) {
		if !lex.IsAlpha(s[i]) {
			return false
		}
	}
	return true
}

package find

import (
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/cmdline"
	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
	"github.com/hookpolicy/hookpolicy/internal/redact/names"
	"github.com/hookpolicy/hookpolicy/internal/redact/trigger"
)

// maxEchoed bounds the words that a line prints for the next one.
const maxEchoed = 16

// commandSigns finds the names of programs with secret arguments.
var commandSigns = trigger.New(programPatterns())

// commands takes out the secrets of command lines: from the name of a program
// to the end of its line, word by word.
func (sc *scanner) commands() {
	s := sc.s
	if !commandSigns.In(s) {
		return
	}
	var echoed []lex.Span // the words of an echo whose output is piped on
	for i := 0; i < len(s); {
		if !lex.IsAlnum(s[i]) || i > 0 && (lex.Slug.Has(s[i-1]) || s[i-1] == '.' || s[i-1] == '=') {
			if s[i] == '\n' || s[i] == ';' {
				echoed = nil
			}
			i++
			continue
		}
		end := i
		for end < len(s) && (lex.Slug.Has(s[end]) || s[end] == '.') {
			end++
		}
		if end-i <= 24 && cmdline.Known(s[i:end]) {
			i, echoed = sc.command(i, end, echoed)
			continue
		}
		i = end
	}
}

// command reads the command line of the program that is named from i to end.
// It returns where to go on, and what the line prints.
func (sc *scanner) command(i, end int, piped []lex.Span) (int, []lex.Span) {
	s := sc.s
	var line cmdline.Line
	var echoed []lex.Span
	line.Next(s[i:end])
	p := end
	for {
		p = lex.SkipBlank(s, p)
		if strings.HasPrefix(s[p:], "\\\n") { // the line goes on
			p += 2
			continue
		}
		stop := wordEnd(s, p)
		if stop == p {
			break
		}
		part, ok := line.Next(s[p:stop])
		if ok {
			sc.addPart(p, part)
		}
		if line.Echoes() && s[p] != '-' && len(echoed) < maxEchoed {
			echoed = append(echoed, lex.Span{Start: p, End: stop})
		}
		p = stop
	}
	for _, w := range piped {
		if part, ok := line.Input(s[w.Start:w.End]); ok {
			sc.addPart(w.Start, part)
		}
	}
	if p < len(s) && s[p] == '|' {
		if echoed == nil {
			echoed = piped
		}
		return p + 1, echoed
	}
	return max(p, end), nil
}

func (sc *scanner) addPart(at int, part cmdline.Part) {
	if start, end := at+part.Start, at+part.End; !IsHarmless(sc.s[start:end], names.Secret) {
		sc.add(start, end, "flag")
	}
}

// wordEnd returns where the word of a command line at p ends: p, if the command
// does.
func wordEnd(s string, p int) int {
	for p < len(s) {
		switch c := s[p]; {
		case strings.IndexByte("\n\r|;&)` \t", c) >= 0 || hasEither(s, p, `\n`, `\r`):
			return p
		case hasEither(s, p, "$(", "${"):
			p = lex.Balanced(s, p+1)
		case c == '"' || c == '\'' || c == '\\' && p+1 < len(s) && lex.IsQuote(s[p+1]):
			_, _, after, ok := lex.Literal(s, p)
			if !ok || after <= p {
				return p + 1
			}
			p = after
		case c == '\\':
			p = min(p+2, len(s))
		default:
			p++
		}
	}
	return p
}

// hasEither reports whether one of two texts stands at p.
func hasEither(s string, p int, a, b string) bool {
	return strings.HasPrefix(s[p:], a) || strings.HasPrefix(s[p:], b)
}

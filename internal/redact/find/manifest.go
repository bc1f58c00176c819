package find

import (
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
	"github.com/hookpolicy/hookpolicy/internal/redact/names"
)

// manifests takes out data and stringData of Kubernetes Secrets in YAML: every
// value of these is a secret, whatever its name.
func (sc *scanner) manifests() {
	s := sc.s
	if !strings.Contains(s, "kind:") || !strings.Contains(s, "Secret") || !strings.Contains(s, "ata:") {
		return
	}
	object := object{}
	for at := 0; at < len(s); {
		end := lex.LineEnd(s, at)
		object.line(sc, at, end)
		at = end + 1
	}
	object.close(sc)
}

// An object is one object of a stream of YAML, as far as it was read.
type object struct {
	open   bool
	indent int // of its members
	secret bool
	blocks []lex.Span // the members data and stringData
	inData bool       // the last line was in one
}

// line reads one line.
func (o *object) line(sc *scanner, at, end int) {
	line := strings.TrimRight(sc.s[at:end], " \t\r")
	text := strings.TrimLeft(line, " ")
	indent, item := len(line)-len(text), false
	for strings.HasPrefix(text, "- ") {
		rest := strings.TrimLeft(text[1:], " ")
		indent, text, item = indent+len(text)-len(rest), rest, true
	}
	switch {
	case text == "" || text[0] == '#':
		return
	case text == "---" || text == "...", !o.open, indent < o.indent, item && indent == o.indent:
		o.close(sc)
		if text == "---" {
			return
		}
		o.open, o.indent = true, indent
	}
	if indent > o.indent {
		if o.inData {
			o.blocks[len(o.blocks)-1].End = end
		} else if name, _, _ := strings.Cut(text, ":"); name == "kind" || name == "apiVersion" {
			o.close(sc) // an object within a list
			o.open, o.indent = true, indent
			o.member(sc, text, end)
		}
		return
	}
	o.member(sc, text, end)
}

// member reads the first line of a member of the object.
func (o *object) member(_ *scanner, text string, end int) {
	name, value, _ := strings.Cut(text, ":")
	name, value = strings.Trim(name, `"'`), strings.Trim(value, ` "'`)
	o.inData = name == "data" || name == "stringData"
	switch {
	case o.inData:
		start := end - len(strings.TrimLeft(text[strings.IndexByte(text, ':')+1:], " "))
		o.blocks = append(o.blocks, lex.Span{Start: start, End: end})
	case name == "kind":
		o.secret = o.secret || value == "Secret"
	}
}

// close takes the data of the object out if it was a Secret.
func (o *object) close(sc *scanner) {
	if o.secret {
		for _, b := range o.blocks {
			sc.values(b.Start, b.End)
		}
	}
	*o = object{}
}

// values takes out what stands behind the colons of lines, and lines with none
// as a whole.
func (sc *scanner) values(at, stop int) {
	for at < stop {
		end := min(lex.LineEnd(sc.s, at), stop)
		start := lex.SkipBlank(sc.s, at)
		if n := strings.Index(sc.s[start:end], ": "); n > 0 && !strings.HasPrefix(sc.s[start:end], "{") {
			start = lex.SkipBlank(sc.s, start+n+1)
		} else if start < end && strings.HasSuffix(strings.TrimRight(sc.s[start:end], " \r"), ":") {
			start = end
		}
		v := strings.TrimRight(sc.s[start:end], " \t\r")
		if v != "|" && v != ">" && v != "|-" && v != "{}" && !IsHarmless(strings.Trim(v, `"'`), names.Secret) {
			sc.add(start, start+len(v), "secret")
		}
		at = end + 1
	}
}

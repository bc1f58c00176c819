package redact

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/hookpolicy/hookpolicy/internal/redact/find"
	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
	"github.com/hookpolicy/hookpolicy/internal/redact/names"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// maxDocuments bounds JSON within strings of JSON.
const maxDocuments = 8

// Args returns args without secrets, and what was removed, in the order of
// the pointers' names. Values are as package strictjson parses them. args is
// never changed; if there is nothing to remove, it is what is returned.
func (r *Redactor) Args(args map[string]any) (clean map[string]any, removed []Removed) {
	if !r.toldIn(args, 0) {
		return args, nil
	}
	w := walker{r: r}
	v, changed := w.object("", args)
	if !changed {
		return args, nil
	}
	return v, w.removed
}

// maxDepth is how deep a value may be nested for toldIn to look; package
// strictjson reads no deeper.
const maxDepth = strictjson.MaxDepth

// toldIn reports whether any name or text of a value could tell of a secret.
func (r *Redactor) toldIn(v any, depth int) bool {
	if depth > maxDepth {
		return true
	}
	switch v := v.(type) {
	case string:
		return r.told(v)
	case map[string]any:
		for name, e := range v {
			if r.told(name) || r.toldIn(e, depth+1) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if r.toldIn(e, depth+1) {
				return true
			}
		}
	}
	return false
}

// document redacts a string that is a JSON document as one, if that finds what
// the text alone did not tell.
func (r *Redactor) document(s string, depth int) (string, bool) {
	t := strings.TrimSpace(s)
	if t == "" || t[0] != '{' && t[0] != '[' {
		return "", false
	}
	v, err := strictjson.Parse([]byte(t))
	if err != nil {
		return "", false
	}
	if depth == maxDocuments {
		return lex.Mark, true
	}
	w := walker{r: r, depth: depth + 1}
	c, changed := w.value("", v)
	if !changed {
		return "", false
	}
	out, err := strictjson.Append(nil, c)
	if err != nil {
		return lex.Mark, true
	}
	return string(out), true
}

// A walker redacts one value. It copies what it changes, and nothing else.
type walker struct {
	r       *Redactor
	removed []Removed
	depth   int // of documents within strings
}

func (w *walker) value(at string, v any) (any, bool) {
	switch v := v.(type) {
	case string:
		return w.text(at, v)
	case map[string]any:
		return w.object(at, v)
	case []any:
		return w.array(at, v, "")
	default:
		return v, false
	}
}

func (w *walker) text(at, s string) (any, bool) {
	clean, cuts := w.r.text(s, w.depth)
	if cuts == nil {
		return s, false
	}
	for _, c := range cuts {
		w.removed = append(w.removed, Removed{at, c.how, c.text})
	}
	return clean, true
}

// take removes a whole value, if there is something in it.
func (w *walker) take(at string, v any, k names.Kind) (any, bool) {
	if isNothing(v, k, false) {
		return v, false
	}
	w.removed = append(w.removed, Removed{at, "key", v})
	return lex.Mark, true
}

// isNothing reports whether a value under the name of a secret hides nothing.
func isNothing(v any, k names.Kind, inList bool) bool {
	switch v := v.(type) {
	case nil, bool:
		return true
	case json.Number:
		return k == names.Count || k == names.Weak && len(v) <= 3
	case string:
		return v == "" || v == lex.Mark || k == names.Weak && find.IsHarmless(v, k) || inList && k == names.Count && find.IsTameWord(v)
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !isNothing(e, k, true) })
	case map[string]any:
		if k == names.Weak || isSchema(v) {
			return true
		}
		for _, e := range v {
			if !isNothing(e, k, false) {
				return false
			}
		}
		return true
	}
	return false
}

// isSchema reports whether an object describes a value, as JSON Schema does,
// rather than holding one.
func isSchema(obj map[string]any) bool {
	t, _ := obj["type"].(string)
	switch t {
	case "string", "number", "integer", "boolean", "object", "array":
	default:
		return false
	}
	for name := range obj {
		if !schemaWords[name] {
			return false
		}
	}
	return true
}

var schemaWords = names.Exactly(`type description title format minLength maxLength pattern nullable required items properties additionalProperties readOnly writeOnly minimum
	maximum minItems maxItems uniqueItems deprecated`)

func (w *walker) object(at string, obj map[string]any) (map[string]any, bool) {
	clean := members{obj: obj}
	beside := w.beside(obj)
	for _, name := range slices.Sorted(maps.Keys(obj)) {
		newName, cuts := w.r.text(name, w.depth)
		if cuts != nil {
			newName = clean.rename(name, newName)
		}
		p := at + "/" + escape(newName)
		for _, c := range cuts {
			w.removed = append(w.removed, Removed{p, c.how, c.text})
		}
		v := obj[name]
		k := max(w.r.names.KindOf(name), w.r.names.KindOf(newName), beside.kind(name))
		c, did := v, false
		if k != names.Plain {
			c, did = w.take(p, v, k)
		}
		if !did {
			c, did = beside.value(w, p, name, v)
		}
		if did {
			clean.set(newName, c)
		}
	}
	return clean.result()
}

// escape escapes a member's name for a pointer.
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// members is an object that is copied when it is first changed.
type members struct {
	obj, copied map[string]any
	taken       map[string]bool // names, normalised: made when one is changed
	renamed     int
}

func (m *members) set(name string, v any) {
	if m.copied == nil {
		m.copied = maps.Clone(m.obj)
	}
	m.copied[name] = v
}

// rename gives a member another name that no other member has.
func (m *members) rename(name, wanted string) string {
	if m.taken == nil {
		m.taken = make(map[string]bool, len(m.obj))
		for other := range m.obj {
			m.taken[norm.NFKC.String(other)] = true
		}
	}
	if !lex.IsASCII(wanted) {
		wanted = lex.Mark
	}
	for m.taken[wanted] {
		m.renamed++
		wanted = lex.Mark + "-" + strconv.Itoa(m.renamed+1)
	}
	m.taken[wanted] = true
	m.set(wanted, m.obj[name])
	delete(m.copied, name)
	return wanted
}

func (m *members) result() (map[string]any, bool) {
	if m.copied == nil {
		return m.obj, false
	}
	return m.copied, true
}

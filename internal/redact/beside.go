package redact

import (
	"slices"
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/cmdline"
	"github.com/hookpolicy/hookpolicy/internal/redact/find"
	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
	"github.com/hookpolicy/hookpolicy/internal/redact/names"
	"github.com/hookpolicy/hookpolicy/internal/redact/sqltext"
	"github.com/hookpolicy/hookpolicy/internal/redact/token"
)

// beside is what the members of an object say of each other.
type beside struct {
	values  bool        // a member holds the name of a secret: the value stands beside
	secrets bool        // a Kubernetes Secret
	columns lex.Columns // which columns of the rows, or parameters of the statement, are secret
	width   int         // of the rows; 0 if there are none
	aws     bool        // an AWS access key is here, so its secret may be, too
	key     bool        // a JWK
	program string      // whose arguments stand beside it
}

func (w *walker) beside(obj map[string]any) beside {
	var b beside
	for name, v := range obj {
		switch v := v.(type) {
		case string:
			b.text(w, name, v)
		case []any:
			if columnLists[names.Compact(name)] {
				b.columns, b.width = w.names(v)
			}
		}
	}
	return b
}

// text notes what one member that is a text says of the others.
func (b *beside) text(w *walker, name, v string) {
	if names.IsNameField(strings.ToLower(name)) && len(v) <= 128 && w.r.names.KindOf(v) != names.Plain {
		b.values = true
	}
	b.secrets = b.secrets || name == "kind" && v == "Secret"
	b.key = b.key || name == "kty"
	if programFields[name] && len(v) <= 64 && cmdline.Known(v) {
		b.program = v
	}
	b.values = b.values || placeFields[strings.ToLower(name)] && len(v) <= 256 && isPlaceOfSecret(&w.r.names, v)
	b.aws = b.aws || len(v) >= 20 && len(v) < 64 && isAWSKey(v)
	if b.width == 0 && w.r.told(v) && sqltext.HasVerb(v) {
		b.columns, b.width = sqltext.Parameters(&w.r.names, v)
	}
}

// isPlaceOfSecret reports whether a value goes where a secret belongs:
// "Password field", input[type=password], /data/password.
func isPlaceOfSecret(d *names.Dictionary, place string) bool {
	var kept []string
	for word := range strings.FieldsFuncSeq(place, func(r rune) bool { return r < 0x80 && !lex.Word.Has(byte(r)) }) {
		if !places[strings.ToLower(word)] {
			kept = append(kept, word)
		}
	}
	return len(kept) > 0 && len(kept) <= 8 && d.KindOf(strings.Join(kept, " ")) != names.Plain
}

func isAWSKey(s string) bool {
	end, how := token.At(s, 0)
	return end == len(s) && how == "aws"
}

// names returns which of a list of names are those of secrets.
func (w *walker) names(list []any) (c lex.Columns, width int) {
	for i, e := range list {
		name, ok := e.(string)
		if obj, isObject := e.(map[string]any); isObject {
			name, ok = obj["name"].(string)
		}
		if !ok {
			return lex.Columns{}, 0
		}
		if w.r.names.KindOf(name) != names.Plain {
			c.Add(i)
		}
	}
	if c == (lex.Columns{}) {
		return c, 0
	}
	return c, len(list)
}

// kind says what the other members make of one.
func (b *beside) kind(name string) names.Kind {
	field := strings.ToLower(name)
	if b.values && (names.IsValueField(field) || field == "text") || b.key && keyFields[name] || b.secrets && (name == "data" || name == "stringData") {
		return names.Secret
	}
	return names.Plain
}

// value redacts a member whose name says nothing.
func (b *beside) value(w *walker, at, name string, v any) (any, bool) {
	if s, ok := v.(string); ok && b.aws && len(s) == 40 && find.IsMixed(s) {
		return w.take(at, v, names.Secret)
	}
	rows, ok := v.([]any)
	if ok && b.program != "" && rowLists[strings.ToLower(name)] {
		return w.array(at, rows, b.program)
	}
	if !ok || b.width == 0 || !rowLists[names.Compact(name)] {
		return w.value(at, v)
	}
	if slices.ContainsFunc(rows, isList) {
		return w.list(at, rows, func(at string, _ int, e any) (any, bool) {
			if row, ok := e.([]any); ok {
				return w.row(at, row, b)
			}
			return w.value(at, e)
		})
	}
	return w.row(at, rows, b)
}

func isList(v any) bool { _, ok := v.([]any); return ok }

func (w *walker) row(at string, row []any, b *beside) (any, bool) {
	return w.list(at, row, func(at string, i int, e any) (any, bool) {
		if b.columns.Has(i) {
			if c, did := w.take(at, e, names.Secret); did {
				return c, true
			}
		}
		return w.value(at, e)
	})
}

var (
	columnLists = names.Set(`columns fields header headers cols column_names field_names names`)
	rowLists    = names.Set(`rows values data records params parameters args argv arguments bindings binds`)

	// programFields name the program whose arguments stand beside it.
	programFields = names.Exactly(`command cmd program executable exec bin binary file tool`)

	// placeFields say where a value goes: into which field of a page, to which
	// place of a document.
	placeFields = names.Exactly(`selector element locator xpath placeholder label id path target`)

	// places are words for fields of a page, which say nothing of what is in them.
	places = names.Set(`field input box textbox textarea type name id form element text the enter your css data test aria label placeholder spec template`)

	// keyFields are the secret members of a JWK.
	keyFields = names.Exactly(`d p q dp dq qi k oth`)
)

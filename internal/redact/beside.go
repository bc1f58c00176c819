package redact

import (
	"slices"
	"strings"
)

// beside is what the members of an object say of each other.
type beside struct {
	values  bool    // a member holds the name of a secret: the value stands beside
	secrets bool    // a Kubernetes Secret
	columns columns // which columns of the rows, or parameters of the statement, are secret
	width   int     // of the rows; 0 if there are none
	aws     bool    // an AWS access key is here, so its secret may be, too
}

func (w *walker) beside(obj map[string]any) beside {
	var b beside
	for name, v := range obj {
		switch v := v.(type) {
		case string:
			if nameFields[strings.ToLower(name)] && len(v) <= 128 && w.r.kindOf(v) != plain {
				b.values = true
			}
			b.secrets = b.secrets || name == "kind" && v == "Secret"
			b.aws = b.aws || len(v) >= 20 && len(v) < 64 && isAWSKey(v)
			if b.width == 0 && w.r.told(v) && sqlVerbs.in(v) {
				b.columns, b.width = w.r.parameters(v)
			}
		case []any:
			if columnLists[compact(name)] {
				b.columns, b.width = w.names(v)
			}
		}
	}
	return b
}

func isAWSKey(s string) bool {
	end, how := tokenAt(s, 0)
	return end == len(s) && how == "aws"
}

// names returns which of a list of names are those of secrets.
func (w *walker) names(list []any) (c columns, width int) {
	for i, e := range list {
		name, ok := e.(string)
		if obj, isObject := e.(map[string]any); isObject {
			name, ok = obj["name"].(string)
		}
		if !ok {
			return columns{}, 0
		}
		if w.r.kindOf(name) != plain {
			c.add(i)
		}
	}
	if c == (columns{}) {
		return c, 0
	}
	return c, len(list)
}

// parameters returns which of a statement's parameters ($1, ?, %s) are
// secret.
func (r *Redactor) parameters(statement string) (columns, int) {
	q := sqlScanner{r: r}
	q.scan(statement, 0, 0)
	return q.bound, q.parameter
}

// kind says what the other members make of one.
func (b *beside) kind(name string) kind {
	field := strings.ToLower(name)
	if b.values && valueFields[field] || b.secrets && (name == "data" || name == "stringData") {
		return secret
	}
	return plain
}

// value redacts a member whose name says nothing.
func (b *beside) value(w *walker, at, name string, v any) (any, bool) {
	if s, ok := v.(string); ok && b.aws && len(s) == 40 && isMixed(s) {
		return w.take(at, v, secret)
	}
	rows, ok := v.([]any)
	if !ok || b.width == 0 || !rowLists[compact(name)] {
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
		if b.columns.has(i) {
			if c, did := w.take(at, e, secret); did {
				return c, true
			}
		}
		return w.value(at, e)
	})
}

var (
	columnLists = set(`columns fields header headers cols column_names field_names names`)
	rowLists    = set(`rows values data records params parameters args arguments bindings binds`)
)

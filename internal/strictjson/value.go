package strictjson

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Clone returns a deep copy of a parsed value.
func Clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return CloneObject(v)
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = Clone(e)
		}
		return c
	default:
		return v
	}
}

// CloneObject returns a deep copy of an object; a nil map stays nil.
func CloneObject(obj map[string]any) map[string]any {
	if obj == nil {
		return nil
	}
	c := make(map[string]any, len(obj))
	for name, e := range obj {
		c[name] = Clone(e)
	}
	return c
}

// Equal reports whether two parsed values are the same. Numbers are compared
// as texts: 1 and 1.0 differ.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, Equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	default:
		switch b.(type) {
		case map[string]any, []any:
			return false
		}
		return a == b
	}
}

// Append writes a parsed value in its one canonical form: member names sorted
// byte by byte, no white space, numbers as they were received. (RFC 8785 would
// round numbers to doubles, and 9007199254740992 is not ...993.)
func Append(dst []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		if v {
			return append(dst, "true"...), nil
		}
		return append(dst, "false"...), nil
	case json.Number:
		return append(dst, v...), nil
	case string:
		return jsontext.AppendQuote(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = Append(dst, e); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case map[string]any:
		var few [16]string // most objects are small: their names need no heap
		names := few[:0]
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		dst = append(dst, '{')
		for i, name := range names {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = jsontext.AppendQuote(dst, name); err != nil {
				return dst, err
			}
			dst = append(dst, ':')
			if dst, err = Append(dst, v[name]); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	default:
		return dst, fmt.Errorf("value of type %T is not a parsed one", v)
	}
}

package policy

import (
	"maps"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// fitting returns the value without what has the wrong type, so that the
// compiler can report on the rest of a policy that the schema refuses. ok is
// false when nothing fits. A list with an item that does not fit goes as a
// whole: its other items would change places.
func fitting(value any, s *schema.Structural) (fit any, ok bool) {
	if s == nil || s.XPreserveUnknownFields && hasType(value, s) {
		return value, true
	}
	if !hasType(value, s) {
		return nil, false
	}
	switch value := value.(type) {
	case map[string]any:
		object := make(map[string]any, len(value))
		for name, v := range value {
			if property, known := s.Properties[name]; known {
				if fit, ok := fitting(v, &property); ok {
					object[name] = fit
				}
			}
		}
		if s.Properties == nil { // metadata, which has no schema here
			maps.Copy(object, value)
		}
		return object, true
	case []any:
		list := make([]any, 0, len(value))
		for _, item := range value {
			fit, ok := fitting(item, s.Items)
			if !ok {
				return nil, false
			}
			list = append(list, fit)
		}
		return list, true
	default:
		return value, true
	}
}

// hasType reports whether a JSON value has a type of the schema's.
func hasType(value any, s *schema.Structural) bool {
	want := s.Type
	switch v := value.(type) {
	case map[string]any:
		return want == "object"
	case []any:
		return want == "array"
	case string:
		return want == "string"
	case bool:
		return want == "boolean"
	case int64:
		return want == "number" || want == "integer" && (s.ValueValidation == nil || s.ValueValidation.Format != "int32" || v == int64(int32(v)))
	case float64:
		return want == "number"
	default:
		return false
	}
}

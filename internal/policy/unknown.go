package policy

import (
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// unknown reports the fields of a value that its schema does not have, each
// with the field that was probably meant. Metadata is looked at elsewhere.
func unknown(at *field.Path, value any, s *schema.Structural) field.ErrorList {
	if s == nil || s.XPreserveUnknownFields {
		return nil
	}
	var errs field.ErrorList
	switch value := value.(type) {
	case map[string]any:
		if s.Type != "object" {
			return nil // the schema says so
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if at == nil && name == "metadata" {
				continue
			}
			property, ok := s.Properties[name]
			if !ok {
				errs = append(errs, unknownField(child(at, name), name, slices.Sorted(maps.Keys(s.Properties))))
				continue
			}
			errs = append(errs, unknown(child(at, name), value[name], &property)...)
		}
	case []any:
		for i, item := range value {
			errs = append(errs, unknown(at.Index(i), item, s.Items)...)
		}
	}
	return errs
}

// unknownField says that there is no such field, and which one is close to it.
func unknownField(at *field.Path, name string, fields []string) *field.Error {
	return field.Forbidden(at, "there is no such field"+meant(name, fields))
}

// child also works at the root of an object.
func child(at *field.Path, name string) *field.Path {
	if name = clip(name); at == nil {
		return field.NewPath(name)
	}
	return at.Child(name)
}

package policy

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// plainWords turns the schema's messages, in place, into ones that stand by
// themselves after the field's name.
func plainWords(err *field.Error) {
	err.Detail = strings.TrimPrefix(err.Detail, err.Field+" in body ")
	if format, ok := strings.CutPrefix(err.Detail, "Checked value must be of type "); ok {
		_, err.Field, _ = strings.Cut(format, " in ")
		err.Type, err.Detail = field.ErrorTypeTypeInvalid, "must be a number that fits into 32 bits"
	}
	if types, ok := strings.CutPrefix(err.Detail, "must be of type "); ok && err.Type == field.ErrorTypeTypeInvalid {
		err.Detail = wrongType(types)
	}
	if err.Type == field.ErrorTypeTypeInvalid {
		err.BadValue = field.OmitValueType{}
	}
	if s, ok := err.BadValue.(string); ok {
		err.BadValue = clip(s)
	}
	switch err.BadValue.(type) {
	case map[string]any, []any: // long, and may hold what is secret
		err.BadValue = field.OmitValueType{}
	}
}

// wrongType rewords `string: "boolean"`, what was expected and what was found.
func wrongType(types string) string {
	want, got, _ := strings.Cut(types, ": ")
	got = strings.Trim(got, `"`)
	text := "must be " + article(want)
	if got != "" {
		text += ", not " + article(got)
	}
	if want == "string" && (got == "boolean" || got == "integer" || got == "number") {
		text += ": put it in quotation marks" // YAML reads Off and yes as booleans
	}
	return text
}

// article names a JSON type in a sentence.
func article(jsonType string) string {
	switch jsonType {
	case "array":
		return "a list"
	case "integer", "int32", "int64":
		return "an integer"
	case "object":
		return "an object"
	case "null":
		return "null"
	default:
		return "a " + jsonType
	}
}

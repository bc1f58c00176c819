package v1_test

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	v1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
)

type schema struct {
	Ref                  string            `json:"$ref"`
	Type                 string            `json:"type"`
	Required             []string          `json:"required"`
	Properties           map[string]schema `json:"properties"`
	Items                *schema           `json:"items"`
	AdditionalProperties *schema           `json:"additionalProperties"`
	Enum                 []string          `json:"enum"`
	Maximum              *int64            `json:"maximum"`
}

type document struct {
	Paths map[string]map[string]struct {
		Description string `json:"description"`
		Responses   map[string]struct {
			Ref string `json:"$ref"`
		} `json:"responses"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

func readDocument(t *testing.T) document {
	t.Helper()
	text, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc document
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestTheDocumentHasThePathsThatServerAndClientUse(t *testing.T) {
	want := map[string]string{
		v1.PathDecide: "post", v1.PathOutcomes: "post", v1.PathApprovals + "{id}": "get", v1.PathEvents: "get",
		v1.PathHooks + "{dialect}": "post",
		v1.PathHealth:              "get", v1.PathReady: "get", v1.PathMetrics: "get",
	}
	got := map[string]string{}
	for path, methods := range readDocument(t).Paths {
		got[path] = strings.Join(slices.Sorted(maps.Keys(methods)), ",")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-Go +document):\n%s", diff)
	}
}

func TestTheDocumentDescribesEveryTypeFieldByField(t *testing.T) {
	schemas := readDocument(t).Components.Schemas
	types := map[string]reflect.Type{}
	collect := func(v any) { collectTypes(reflect.TypeOf(v), types) }
	collect(v1.Request{})
	collect(v1.Response{})
	collect(v1.Outcome{})
	collect(v1.OutcomeResponse{})
	collect(v1.Event{})
	if diff := cmp.Diff(slices.Sorted(maps.Keys(types)), slices.Sorted(maps.Keys(schemas))); diff != "" {
		t.Fatalf("schemas (-Go +document):\n%s", diff)
	}
	for name, typ := range types {
		if typ.Kind() != reflect.Struct {
			continue // an enumeration, see below
		}
		t.Run(name, func(t *testing.T) { checkStruct(t, typ, schemas[name]) })
	}
}

// collectTypes finds our own named types, however deep.
func collectTypes(t reflect.Type, found map[string]reflect.Type) {
	switch {
	case t == reflect.TypeFor[time.Time](), t == reflect.TypeFor[json.RawMessage]():
		return
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice:
		collectTypes(t.Elem(), found)
		return
	case t.PkgPath() == "":
		return
	}
	found[t.Name()] = t
	if t.Kind() == reflect.Struct {
		for f := range t.Fields() {
			collectTypes(f.Type, found)
		}
	}
}

// lenient are members that the server does not insist on, though the client
// always sends them.
var lenient = map[string]bool{"Outcome.callId": true, "Outcome.durationMs": true}

func checkStruct(t *testing.T, typ reflect.Type, s schema) {
	t.Helper()
	var names, required []string
	for f := range typ.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue // not on the wire
		}
		names = append(names, name)
		if options != "omitempty" && !lenient[typ.Name()+"."+name] {
			required = append(required, name)
		}
		if got, want := describe(s.Properties[name]), describeGo(f.Type); got != want {
			t.Errorf("%s is %s in the document, %s in Go", name, got, want)
		}
	}
	if diff := cmp.Diff(names, slices.Collect(maps.Keys(s.Properties)), sorted); diff != "" {
		t.Errorf("fields (-Go +document):\n%s", diff)
	}
	if diff := cmp.Diff(required, s.Required, sorted); diff != "" {
		t.Errorf("required fields (-Go +document):\n%s", diff)
	}
}

var sorted = cmp.Transformer("sorted", func(s []string) map[string]bool {
	set := make(map[string]bool, len(s))
	for _, e := range s {
		set[e] = true
	}
	return set
})

func describe(s schema) string {
	switch {
	case s.Ref != "":
		return s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	case s.Items != nil:
		return s.Type + " of " + describe(*s.Items)
	case s.AdditionalProperties != nil:
		return s.Type + " of " + describe(*s.AdditionalProperties)
	default:
		return s.Type
	}
}

func describeGo(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "string"
	case t == reflect.TypeFor[json.RawMessage](), t == reflect.TypeFor[map[string]any]():
		return "object"
	case t.Kind() == reflect.Pointer:
		return describeGo(t.Elem())
	case t.Kind() == reflect.Map:
		return "object of " + describeGo(t.Elem())
	case t.Kind() == reflect.Slice:
		return "array of " + describeGo(t.Elem())
	case t.PkgPath() != "":
		return t.Name()
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return "integer"
	default:
		return t.Kind().String()
	}
}

func TestTheDocumentHasTheWordsOfTheConstants(t *testing.T) {
	doc := readDocument(t)
	schemas := doc.Components.Schemas
	for name, tc := range map[string]struct {
		got  []string
		want []string
	}{
		"decisions": {schemas["Decision"].Enum, []string{string(v1.Allow), string(v1.Deny), string(v1.AskUser), string(v1.Rewrite)}},
		"states": {schemas["ApprovalState"].Enum, []string{
			string(v1.Pending), string(v1.Approved), string(v1.Rejected), string(v1.TimedOut), string(v1.Used), string(v1.Expired), string(v1.Voided),
		}},
		"outcomes": {schemas["Outcome"].Properties["status"].Enum, []string{v1.OutcomeOK, v1.OutcomeError, v1.OutcomeUnknown}},
		"risks":    {schemas["Response"].Properties["risk"].Enum, []string{"Low", "Medium", "High"}},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-Go +document):\n%s", name, diff)
		}
	}
	if got := schemas["Request"].Properties["waitSeconds"].Maximum; got == nil || *got != v1.MaxWaitSeconds {
		t.Errorf("longest wait %v, want %d", got, v1.MaxWaitSeconds)
	}
	for _, event := range []string{v1.EventAsk, v1.EventDenied, v1.EventResolved} {
		if !strings.Contains(doc.Paths[v1.PathEvents]["get"].Description, "`"+event+"`") {
			t.Errorf("event %s is not described", event)
		}
	}
}

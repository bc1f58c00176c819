package server

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
)

// fill sets every field of a value, so that a new one cannot be forgotten.
func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case json.RawMessage:
		v.SetBytes([]byte(`{"a":[1.0,"<&>"]}`))
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field)
		}
	case reflect.String:
		v.SetString("é\"\\\n<\u2028 " + v.Type().Name())
	case reflect.Int64:
		v.SetInt(1 << 60)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]any{"confirm_destructive": true}))
	}
}

func TestAnAnswerIsWrittenAsEncodingJSONWould(t *testing.T) {
	full := &decisionv1.Response{}
	fill(reflect.ValueOf(full).Elem())
	for name, want := range map[string]*decisionv1.Response{
		"all members": full,
		"a deny":      deny("a", "b"),
		"bare":        {Decision: decisionv1.AskUser, Policy: &decisionv1.Policy{Digest: "d"}, Approval: &decisionv1.Approval{}},
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := appendResponse(nil, want)
			if err != nil {
				t.Fatal(err)
			}
			var got, std map[string]any
			if err := json.Unmarshal(doc, &got); err != nil {
				t.Fatalf("%s: %v", doc, err)
			}
			stdDoc, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(stdDoc, &std); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(std, got); diff != "" {
				t.Errorf("answer (-encoding/json +got):\n%s", diff)
			}
		})
	}
}

func BenchmarkAppendResponse(b *testing.B) {
	resp := &decisionv1.Response{
		CallID: "c1", Decision: decisionv1.Allow, Args: json.RawMessage(`{"sql":"SELECT 1"}`), Risk: "Low",
		Policy: &decisionv1.Policy{Namespace: "customer-a", Name: "customer-a", Generation: 3, Digest: "sha256:0123"},
		Audit:  &decisionv1.Receipt{Chain: "c", Seq: "17", Hash: "0123"},
	}
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = appendResponse(buf[:0], resp); err != nil {
			b.Fatal(err)
		}
	}
}

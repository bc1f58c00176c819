package strictjson_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

func TestParseKeepsEveryValueAsWritten(t *testing.T) {
	got, err := strictjson.Parse([]byte(` {"a":[1,1.0,-0,1e400,9007199254740993,true,null],"b":{"c":"\u0053é"}} `))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"a": []any{json.Number("1"), json.Number("1.0"), json.Number("-0"), json.Number("1e400"), json.Number("9007199254740993"), true, nil},
		"b": map[string]any{"c": "Sé"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parsed value (-want +got):\n%s", diff)
	}
}

func TestParseRefusesWhatReadersCouldDisagreeAbout(t *testing.T) {
	for name, tc := range map[string]struct {
		doc  string
		want strictjson.Code
	}{
		"duplicate name":                      {`{"a":1,"a":2}`, strictjson.CodeDuplicateKey},
		"duplicate name, escaped":             {`{"a":1,"\u0061":2}`, strictjson.CodeDuplicateKey},
		"duplicate name, deep":                {`{"a":[{"b":1,"b":2}]}`, strictjson.CodeDuplicateKey},
		"composed and decomposed name":        {"{\"caf\u00e9\":1,\"cafe\u0301\":2}", strictjson.CodeDuplicateKey},
		"decomposed and composed name":        {"{\"cafe\u0301\":1,\"caf\u00e9\":2}", strictjson.CodeDuplicateKey},
		"full-width and plain name":           {"{\"\uff53ql\":1,\"sql\":2}", strictjson.CodeDuplicateKey},
		"plain and full-width name":           {"{\"sql\":1,\"\uff53ql\":2}", strictjson.CodeDuplicateKey},
		"invalid UTF-8":                       {"{\"a\":\"\xff\"}", strictjson.CodeEncoding},
		"lone surrogate":                      {`{"a":"\ud800"}`, strictjson.CodeEncoding},
		"lone low surrogate":                  {`{"a":"\udc00"}`, strictjson.CodeEncoding},
		"two documents":                       {`{} {}`, strictjson.CodeSyntax},
		"garbage after the document":          {`{} x`, strictjson.CodeSyntax},
		"comment":                             {`{/**/}`, strictjson.CodeSyntax},
		"trailing comma":                      {`{"a":1,}`, strictjson.CodeSyntax},
		"NaN":                                 {`{"a":NaN}`, strictjson.CodeSyntax},
		"raw control character":               {"{\"a\":\"\x00\"}", strictjson.CodeSyntax},
		"nothing":                             {``, strictjson.CodeSyntax},
		"cut off":                             {`{"a":`, strictjson.CodeSyntax},
		"byte order mark":                     {"\ufeff{}", strictjson.CodeSyntax},
		"number of 101 digits":                {strings.Repeat("9", 101), strictjson.CodeNumber},
		"one level too deep":                  {strings.Repeat("[", 65) + strings.Repeat("]", 65), strictjson.CodeTooDeep},
		"hundreds of thousands of levels":     {strings.Repeat("[", 500_000), strictjson.CodeTooDeep},
		"one byte too large":                  {`"` + strings.Repeat("x", strictjson.MaxBytes-1) + `"`, strictjson.CodeTooLarge},
		"more than ten thousand member names": {"[" + strings.TrimSuffix(strings.Repeat(`{"a":1},`, 10_001), ",") + "]", strictjson.CodeTooManyKeys},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := strictjson.Parse([]byte(tc.doc))
			var refused *strictjson.Error
			if !errors.As(err, &refused) {
				t.Fatalf("error %v is no refusal", err)
			}
			if refused.Code != tc.want {
				t.Errorf("code %s (%v), want %s", refused.Code, err, tc.want)
			}
		})
	}
}

func TestParseTakesWhatIsJustWithinTheLimits(t *testing.T) {
	for name, doc := range map[string]string{
		"64 levels":        strings.Repeat("[", 64) + strings.Repeat("]", 64),
		"100 digits":       strings.Repeat("9", 100),
		"1 MiB":            `"` + strings.Repeat("x", strictjson.MaxBytes-2) + `"`,
		"surrogate pair":   `"\ud83d\ude00"`,
		"ten thousand":     "[" + strings.TrimSuffix(strings.Repeat(`{"a":1},`, 10_000), ",") + "]",
		"names in sibling": `[{"a":1},{"a":2}]`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := strictjson.Parse([]byte(doc)); err != nil {
				t.Error(err)
			}
		})
	}
}

// What was read, written canonically and read again is the same value, and
// writing it once more gives the same bytes.
func FuzzCanonicalFormIsAFixpoint(f *testing.F) {
	for _, seed := range []string{`{"b":1,"a":[true,null,"x\u2028"]}`, `-0`, `1e400`, `"\ud83d\ude00"`, `{"":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		v, err := strictjson.Parse(doc)
		if err != nil {
			return
		}
		if !strictjson.Equal(v, strictjson.Clone(v)) {
			t.Fatal("a clone differs")
		}
		once, err := strictjson.Append(nil, v)
		if err != nil {
			t.Fatalf("write what was read: %v", err)
		}
		again, err := strictjson.Parse(once)
		if err != nil && len(once) <= strictjson.MaxBytes {
			t.Fatalf("read what was written: %v", err)
		}
		if err == nil && !strictjson.Equal(v, again) {
			t.Fatalf("%s became %s", doc, once)
		}
	})
}

package audit_test

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"github.com/cyberphone/json-canonicalization/go/src/webpki.org/jsoncanonicalizer"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

func TestCanonicalForm(t *testing.T) {
	for name, tc := range map[string]struct{ doc, want string }{
		"members are sorted":                   {`{"b":1,"a":{"d":2,"c":3}}`, `{"a":{"c":3,"d":2},"b":1}`},
		"members are sorted by UTF-16":         {`{"\uFB33":1,"\uD83D\uDE00":2,"a":3}`, "{\"a\":3,\"\U0001F600\":2,\"\uFB33\":1}"},
		"a prefix comes first":                 {`{"aa":1,"a":2}`, `{"a":2,"aa":1}`},
		"only what must be is escaped":         {`"\u003c\/\u2028\u007f\u0000\u001f\t\b\f\n\r\"\\\u00e9"`, "\"</\u2028\u007f\\u0000\\u001f\\t\\b\\f\\n\\r\\\"\\\\é\""},
		"canonical numbers stay":               {`[0,-1,1.5,1e+21,1e-7,123456789012345680000,0.000001,9007199254740992]`, `[0,-1,1.5,1e+21,1e-7,123456789012345680000,0.000001,9007199254740992]`},
		"a number beyond 2^53 keeps its text":  {`9007199254740993`, `{"$number":"9007199254740993"}`},
		"a number written otherwise keeps its": {`[1.0,1E3,-0,1e400,1e21,0.10]`, `[{"$number":"1.0"},{"$number":"1E3"},{"$number":"-0"},{"$number":"1e400"},{"$number":"1e21"},{"$number":"0.10"}]`},
		"nothing passes for a kept number":     {`{"$number":"1"}`, `{"$object":{"$number":"1"}}`},
		"nothing passes for the escape":        {`{"$object":{"$number":"1"}}`, `{"$object":{"$object":{"$object":{"$number":"1"}}}}`},
		"a form's name among others is plain":  {`{"$number":"1","a":2}`, `{"$number":"1","a":2}`},
		"literals":                             {`[null,true,false,{},[],""]`, `[null,true,false,{},[],""]`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(audit.AppendCanonical(nil, parsed(tc.doc))); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func FuzzCanonicalFormAgreesWithTheReference(f *testing.F) {
	for _, doc := range []string{
		`{"b":[1,2.5,"x"],"a":{"é":null,"\ud83d\ude00":true,"\ufb33":0}}`, `[1e21,1E-7,-0,4.35,0.002,333333333.33333329]`,
		`"\u0000\u001f\\\/"`, `{"$number":"1"}`, `{"a":{"$object":1}}`, goldenChain,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		v, err := strictjson.Parse(doc)
		if err != nil {
			return
		}
		// The reference reads objects and lists only.
		got := audit.AppendCanonical([]byte(`{"v":`), v)
		got = append(got, '}')
		want, err := jsoncanonicalizer.Transform(got)
		if err != nil {
			t.Fatalf("reference refuses %s: %v", got, err)
		}
		if string(want) != string(got) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if !audit.IsCanonical(got) {
			t.Errorf("verifier refuses %s", got)
		}
	})
}

func FuzzTheVerifierAcceptsCanonicalFormOnly(f *testing.F) {
	for _, entry := range []string{
		`{}`, `{"a":1,"b":[{"c":"\u0000\n"}]}`, `{"a":1,"a":2}`, `{"b":1,"a":2}`, `{"a": 1}`, `{"a":1.0}`, `{"a":"\u0041"}`,
		`{"a":"\u000A"}`, `{"a":-0}`, `{"a":"\/"}`, "{\"a\":\"\xff\"}", `{"a":1e21}`, `{"a":1}x`, `{"\n":1,"\u0000":2}`, `{"a":"12345678\u001f"}`,
	} {
		f.Add([]byte(entry))
	}
	f.Fuzz(func(t *testing.T, entry []byte) {
		accepted := audit.IsCanonical(entry)
		v, err := strictjson.Parse(entry)
		if _, isObject := v.(map[string]any); err != nil || !isObject {
			// The parser's limits on numbers and depth are not the format's.
			if accepted && !json.Valid(entry) {
				t.Errorf("accepts %q: %v", entry, err)
			}
			return
		}
		want, err := jsoncanonicalizer.Transform(entry)
		if canonical := err == nil && string(want) == string(entry) && string(entry) != "{}"; accepted != canonical {
			t.Errorf("accepted %q: %t, canonical: %t (%s)", entry, accepted, canonical, want)
		}
		if accepted {
			if strict, fast := audit.FoundMembers(entry); !equalMaps(strict, fast) {
				t.Errorf("fast way finds %v, strict way %v in %s", fast, strict, entry)
			}
		}
	})
}

func equalMaps(a, b map[string]string) bool {
	for k := range a {
		if a[k] != b[k] {
			return false
		}
	}
	return true
}

func FuzzNumbersAgreeWithTheReference(f *testing.F) {
	for _, n := range []float64{0, math.Copysign(0, -1), 1, 1e21, 1e-7, 5e-324, math.MaxFloat64, 1 << 53, 0.1, 123456789.125} {
		f.Add(math.Float64bits(n))
	}
	f.Fuzz(func(t *testing.T, bits uint64) {
		n := math.Float64frombits(bits)
		want, err := jsoncanonicalizer.NumberToJSON(n)
		if err != nil {
			return // not finite
		}
		for _, text := range []string{want, strconv.FormatFloat(n, 'g', -1, 64), strconv.FormatFloat(n, 'e', 20, 64)} {
			got := string(audit.AppendCanonical(nil, json.Number(text)))
			if (got == text) != (text == want) {
				t.Errorf("%s is written %s; canonical is %s", text, got, want)
			}
		}
	})
}

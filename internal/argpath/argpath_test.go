package argpath_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/argpath"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

func mustParse(t testing.TB, text string) argpath.Path {
	t.Helper()
	p, err := argpath.Parse(text)
	if err != nil {
		t.Fatalf("parse %q: %v", text, err)
	}
	return p
}

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	v, err := strictjson.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func TestParseReadsNamesWildcardsAndEscapes(t *testing.T) {
	for text, root := range map[string]string{
		"sql": "sql", "options.query": "options", "files[*].path": "files", "a[*][*]": "a", "a[*]": "a", `a\.b`: "a.b", `\[\]`: "[]", `a\\`: `a\`,
		"caf\u00e9": "caf\u00e9", " a": " a", "*": "*", strings.Repeat("a.", 15) + "a": "a",
	} {
		p := mustParse(t, text)
		if p.Root() != root || p.String() != text {
			t.Errorf("%q: root %q, text %q", text, p.Root(), p)
		}
	}
}

func TestParseRefusesWhatIsNoPath(t *testing.T) {
	for _, text := range []string{
		"", ".", ".a", "a.", "a..b", "[*]", "[*].a", "a.[*]", "a[0]", "a[", "a[*", "a]", "a[*]b", `a\`, "a[*].", strings.Repeat("a.", 16) + "a", "a" + strings.Repeat("[*]", 16),
	} {
		if p, err := argpath.Parse(text); err == nil {
			t.Errorf("%q was read as %q", text, p)
		}
	}
}

func TestFindReturnsEveryValueWithItsPointer(t *testing.T) {
	args := object(t, `{"a":{"b":1,"b.c":2},"l":[{"p":"x"},3,{"p":null},{}],"m":[[1],[],2],"t/~":{"":4},"n":null}`)
	for text, want := range map[string][]argpath.Match{
		"a.b":      {{"/a/b", json.Number("1")}},
		`a.b\.c`:   {{"/a/b.c", json.Number("2")}},
		"l[*].p":   {{"/l/0/p", "x"}, {"/l/2/p", nil}},
		"m[*][*]":  {{"/m/0/0", json.Number("1")}},
		"t/~":      {{"/t~1~0", map[string]any{"": json.Number("4")}}},
		"n":        {{"/n", nil}},
		"n.x":      nil,
		"a[*]":     nil,
		"l.p":      nil,
		"A.b":      nil,
		"a.b.c":    nil,
		"missing":  nil,
		"l[*].p.q": nil,
	} {
		if diff := cmp.Diff(want, mustParse(t, text).Find(args)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestSetWritesAndMakesObjectsOnTheWay(t *testing.T) {
	for _, tc := range []struct {
		path, args, want string
		ok               bool
	}{
		{"a", `{}`, `{"a":"v"}`, true},
		{"a.b", `{}`, `{"a":{"b":"v"}}`, true},
		{"a.b", `{"a":{"c":1}}`, `{"a":{"b":"v","c":1}}`, true},
		{"a[*]", `{"a":[1,[2]]}`, `{"a":["v","v"]}`, true},
		{"a[*].b.c", `{"a":[{},{"b":{"d":1}}]}`, `{"a":[{"b":{"c":"v"}},{"b":{"c":"v","d":1}}]}`, true},
		{"a[*].b", `{}`, `{}`, true},
		{"x.y.a[*].b", `{}`, `{}`, true},
		{"a.b", `{"a":1}`, `{"a":1}`, false},
		{"a.b", `{"a":null}`, `{"a":null}`, false},
		{"a[*]", `{"a":{}}`, `{"a":{}}`, false},
		{"a[*].b", `{"a":[1]}`, `{"a":[1]}`, false},
	} {
		args := object(t, tc.args)
		if ok := mustParse(t, tc.path).Set(args, "v"); ok != tc.ok {
			t.Errorf("%s in %s: %t", tc.path, tc.args, ok)
		}
		if diff := cmp.Diff(object(t, tc.want), args); diff != "" {
			t.Errorf("%s in %s (-want +got):\n%s", tc.path, tc.args, diff)
		}
	}
}

func TestRemoveDeletesWhatIsThere(t *testing.T) {
	for _, tc := range []struct {
		path, args, want string
		removed          bool
	}{
		{"a", `{"a":1,"b":2}`, `{"b":2}`, true},
		{"a.b", `{"a":{"b":1}}`, `{"a":{}}`, true},
		{"a[*].b", `{"a":[{"b":1},2,{}]}`, `{"a":[{},2,{}]}`, true},
		{"a[*]", `{"a":[1,2]}`, `{"a":[]}`, true},
		{"x.a[*]", `{"x":{"a":[1]}}`, `{"x":{"a":[]}}`, true},
		{"a[*][*]", `{"a":[[1],[],2]}`, `{"a":[[],[],2]}`, true},
		{"a[*]", `{"a":[]}`, `{"a":[]}`, false},
		{"a[*]", `{"a":{"b":1}}`, `{"a":{"b":1}}`, false},
		{"a", `{"A":1}`, `{"A":1}`, false},
		{"a.b", `{"a":[1]}`, `{"a":[1]}`, false},
	} {
		args := object(t, tc.args)
		if removed := mustParse(t, tc.path).Remove(args); removed != tc.removed {
			t.Errorf("%s in %s: removed %t", tc.path, tc.args, removed)
		}
		if diff := cmp.Diff(object(t, tc.want), args); diff != "" {
			t.Errorf("%s in %s (-want +got):\n%s", tc.path, tc.args, diff)
		}
	}
}

func TestReplaceReachesExactlyWhatFindFinds(t *testing.T) {
	args := object(t, `{"a":[{"p":"x","q":"x"},1,{"p":["x"]}],"p":"x"}`)
	mustParse(t, "a[*].p").Replace(args, func(any) any { return "v" })
	if diff := cmp.Diff(object(t, `{"a":[{"p":"v","q":"x"},1,{"p":"v"}],"p":"x"}`), args); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCoversComparesStepByStep(t *testing.T) {
	for _, tc := range []struct {
		p, q string
		want bool
	}{
		{"a", "a", true}, {"a", "a.b", true}, {"a", "a[*].b", true}, {"a[*]", "a[*].b", true},
		{"a.b", "a", false}, {"a", "ab", false}, {"a[*]", "a.b", false}, {`a\.b`, "a.b", false},
	} {
		if got := mustParse(t, tc.p).Covers(mustParse(t, tc.q)); got != tc.want {
			t.Errorf("%s covers %s: %t", tc.p, tc.q, got)
		}
	}
}

func TestTheZeroPathLeadsNowhere(t *testing.T) {
	var p argpath.Path
	args := map[string]any{"a": "x"}
	p.Replace(args, func(any) any { return nil })
	if p.Find(args) != nil || p.Set(args, 1) || p.Remove(args) || p.Root() != "" || p.Covers(p) || len(args) != 1 {
		t.Errorf("arguments are now %v", args)
	}
}

func TestOutsideFindsTheFirstValueThatNoPathCovers(t *testing.T) {
	var tree argpath.Tree
	for _, text := range []string{"sql", "options.limit", "files[*].path", "deep.a[*]"} {
		tree.Add(mustParse(t, text))
	}
	for doc, want := range map[string]string{
		`{}`: "", `{"sql":"x"}`: "", `{"sql":{"any":["thing"]}}`: "", `{"options":{"limit":1}}`: "", `{"options":{}}`: "",
		`{"files":[{"path":1},{"path":{}}]}`: "", `{"files":[]}`: "", `{"files":[{}]}`: "", `{"deep":{"a":[1,{"x":2}]}}`: "",
		`{"SQL":"x"}`:                     "/SQL",
		`{"other":{}}`:                    "/other",
		`{"options":{"limit":1,"x/~":2}}`: "/options/x~1~0",
		`{"options":1}`:                   "/options",
		`{"options":null}`:                "/options",
		`{"options":[]}`:                  "/options",
		`{"files":{}}`:                    "/files",
		`{"files":"x"}`:                   "/files",
		`{"files":[{"path":1},2]}`:        "/files/1",
		`{"files":[{"path":1,"p":2}]}`:    "/files/0/p",
		`{"z":1,"b":1,"sql":1}`:           "/b",
		`{"":1}`:                          "/",
		`{"options":{"":1}}`:              "/options/",
		`{"options":{"Limit":1}}`:         "/options/Limit",
		`{"options.limit":1}`:             "/options.limit", // a name with a dot is another place
		`{"files[*].path":1}`:             "/files[*].path",
		`{"files":[[{"path":1}]]}`:        "/files/0",
		`{"files":[null]}`:                "/files/0",
		`{"files":{"0":{"path":1}}}`:      "/files",
		`{"deep":{"a":{"0":1}}}`:          "/deep/a",
		`{"deep":{"a":"x"}}`:              "/deep/a",
		`{"deep":{"a":[1],"b":[]}}`:       "/deep/b",
		`{"sql\u200b":1}`:                 "/sql\u200b",
		`{"s\u0441l":1}`:                  "/s\u0441l",
		`{" sql":1}`:                      "/ sql",
	} {
		pointer, found := tree.Outside(object(t, doc))
		if pointer != want || found != (want != "") {
			t.Errorf("%s: %q, found %t, want %q", doc, pointer, found, want)
		}
	}
}

func TestAPathBeneathAnotherAddsNothing(t *testing.T) {
	for _, order := range [][]string{{"a", "a.b"}, {"a.b", "a"}} {
		var tree argpath.Tree
		for _, text := range order {
			tree.Add(mustParse(t, text))
		}
		if pointer, found := tree.Outside(object(t, `{"a":{"c":[1]}}`)); found {
			t.Errorf("%v: %s is outside", order, pointer)
		}
	}
}

// What a tree covers does not depend on the order in which its paths came, and
// what is written into the place of a path is covered.
func TestATreeIsASet(t *testing.T) {
	texts := []string{"a", "a.b", "a.b.c", "a[*]", "a[*].b", "b[*][*].c", "b[*].c", `c\.d`, `c\.d.e`, "c"}
	docs := []map[string]any{
		object(t, `{"a":{"b":{"c":1}}}`), object(t, `{"a":[{"b":1},2]}`), object(t, `{"b":[[{"c":1}],{"c":2}]}`),
		object(t, `{"c.d":{"e":1}}`), object(t, `{"c":{"d":1}}`), object(t, `{"c.d":1}`), object(t, `{"b":[1]}`), object(t, `{"a":1}`),
	}
	for subset := range 1 << len(texts) {
		var forth, back argpath.Tree
		for i, text := range texts {
			if subset>>i&1 == 1 {
				forth.Add(mustParse(t, text))
			}
			if j := len(texts) - 1 - i; subset>>j&1 == 1 {
				back.Add(mustParse(t, texts[j]))
			}
		}
		for _, doc := range docs {
			a, outsideA := forth.Outside(doc)
			b, outsideB := back.Outside(doc)
			if a != b || outsideA != outsideB {
				t.Fatalf("subset %b of %v: %q or %q of %v is outside", subset, texts, a, b, doc)
			}
		}
	}
}

// What is set is found, beneath the path's root and inside the path's tree;
// what is removed is found no more.
func FuzzSetFindRemove(f *testing.F) {
	f.Add("a.b", `{"a":{"c":1}}`)
	f.Add("a[*].b", `{"a":[{},{"b":[]}]}`)
	f.Add("a[*][*]", `{"a":[[1],[]]}`)
	f.Add(`a\.b[*]`, `{"a.b":[null]}`)
	f.Fuzz(func(t *testing.T, text, doc string) {
		p, err := argpath.Parse(text)
		v, _ := strictjson.Parse([]byte(doc))
		args, ok := v.(map[string]any)
		if err != nil || !ok {
			return
		}
		before := strictjson.CloneObject(args)
		found := len(p.Find(args))
		if !p.Set(args, "v") {
			return
		}
		if n := len(p.Find(args)); n < found {
			t.Fatalf("%d values are found after Set, %d before", n, found)
		}
		for _, m := range p.Find(args) {
			if m.Value != "v" {
				t.Fatalf("%s holds %v", m.Pointer, m.Value)
			}
		}
		var tree argpath.Tree
		tree.Add(p)
		if pointer, outside := tree.Outside(map[string]any{p.Root(): args[p.Root()]}); outside && found == 0 && before[p.Root()] == nil && len(p.Find(args)) > 0 {
			t.Fatalf("%s, which Set made, is outside", pointer)
		}
		for name, value := range before {
			if name != p.Root() && !strictjson.Equal(value, args[name]) {
				t.Fatalf("member %q was changed", name)
			}
		}
		once := strictjson.CloneObject(args)
		if p.Set(args, "v"); !strictjson.Equal(once, args) {
			t.Fatal("setting twice is not setting once")
		}
		had := len(p.Find(args)) > 0
		if removed := p.Remove(args); removed != had || len(p.Find(args)) != 0 {
			t.Fatalf("removed %t, and %d values are left", removed, len(p.Find(args)))
		}
	})
}

func BenchmarkFind(b *testing.B) {
	p, args := mustParse(b, "files[*].path"), object(b, `{"files":[{"path":"a"},{"path":"b"}]}`)
	b.ReportAllocs()
	for b.Loop() {
		p.Find(args)
	}
}

package rewrite_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/hooks/rewrite"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

func hookFor(r plan.Rewrite) *plan.Hook {
	return &plan.Hook{Name: "bounded", Kind: plan.KindRewrite, Tools: []string{"db_query_sql"}, Rewrite: &r}
}

// settings reads "path=value" assignments and "-path" removals.
func settings(texts ...string) plan.Rewrite {
	var r plan.Rewrite
	for _, s := range texts {
		if path, ok := strings.CutPrefix(s, "-"); ok {
			r.Remove = append(r.Remove, path)
			continue
		}
		path, value, _ := strings.Cut(s, "=")
		r.Set = append(r.Set, plan.Assignment{Path: path, Value: value})
	}
	return r
}

func newHook(t testing.TB, texts ...string) chain.Hook {
	t.Helper()
	h, err := rewrite.New(nil)(nil, hookFor(settings(texts...)))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	v, err := strictjson.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func decide(t testing.TB, h chain.Hook, args map[string]any) chain.Decision {
	t.Helper()
	before := strictjson.CloneObject(args)
	d, err := h.Decide(t.Context(), &chain.Call{Tool: "db_query_sql", Args: args})
	if err != nil {
		t.Fatal(err)
	}
	if !strictjson.Equal(before, args) {
		t.Fatal("the hook changed the call that it was given")
	}
	return d
}

func TestDecideSetsAndRemovesWhatThePolicySays(t *testing.T) {
	for name, tc := range map[string]struct {
		settings []string
		args     string
		want     string // empty: Allow, nothing changes
	}{
		"a value that is missing":               {[]string{"read_only=true"}, `{"sql":"x"}`, `{"sql":"x","read_only":true}`},
		"a value that differs":                  {[]string{"read_only=true"}, `{"read_only":false}`, `{"read_only":true}`},
		"a value that is there":                 {[]string{"read_only=true"}, `{"read_only":true}`, ""},
		"a number of another spelling":          {[]string{"limit=1.0"}, `{"limit":1}`, `{"limit":1.0}`},
		"an exact number":                       {[]string{"id=9007199254740993"}, `{}`, `{"id":9007199254740993}`},
		"objects on the way":                    {[]string{"o.p=null"}, `{}`, `{"o":{"p":null}}`},
		"a member beside others":                {[]string{"o.p=1"}, `{"o":{"q":2}}`, `{"o":{"p":1,"q":2}}`},
		"every element":                         {[]string{"a[*].p=1"}, `{"a":[{"q":2},{"p":3}]}`, `{"a":[{"q":2,"p":1},{"p":1}]}`},
		"no element":                            {[]string{"a[*].p=1"}, `{"a":[]}`, ""},
		"no array":                              {[]string{"o.a[*].p=1"}, `{}`, ""},
		"an argument removed":                   {[]string{"-debug"}, `{"debug":1,"sql":"x"}`, `{"sql":"x"}`},
		"nothing to remove":                     {[]string{"-debug"}, `{"sql":"x"}`, ""},
		"removed first, then set":               {[]string{"o.p=1", "-o"}, `{"o":{"q":2}}`, `{"o":{"p":1}}`},
		"removed and set to what it was":        {[]string{"o.p=1", "-o"}, `{"o":{"p":1}}`, ""},
		"later assignments beneath earlier":     {[]string{`o={"p":1}`, "o.q=2"}, `{"o":3}`, `{"o":{"p":1,"q":2}}`},
		"another value in the way of a removal": {[]string{"-o.p"}, `{"o":1}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(t, newHook(t, tc.settings...), parse(t, tc.args))
			if tc.want == "" {
				if d.Effect() != chain.EffectAllow {
					t.Errorf("decided %#v", d)
				}
				return
			}
			r, ok := d.(chain.Rewrite)
			if !ok {
				t.Fatalf("decided %#v", d)
			}
			if diff := cmp.Diff(parse(t, tc.want), r.Args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecideDeniesWhatLeavesNoPlaceForAnAssignment(t *testing.T) {
	for name, tc := range map[string][2]string{
		"a text for an object":   {"o.p=1", `{"o":"text"}`},
		"an array for an object": {"o.p=1", `{"o":[]}`},
		"null for an object":     {"o.p=1", `{"o":null}`},
		"an object for an array": {"a[*]=1", `{"a":{}}`},
		"a number in an array":   {"a[*].p=1", `{"a":[{},2]}`},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(t, newHook(t, tc[0]), parse(t, tc[1]))
			if deny, ok := d.(chain.Deny); !ok || deny.Code != rewrite.CodeImpossible || deny.Message == "" {
				t.Errorf("decided %#v", d)
			}
		})
	}
}

func TestFactsNameWhatWasRemovedAndSet(t *testing.T) {
	d := decide(t, newHook(t, "a.b=1", "-c", "-d"), parse(t, `{"d":"secret"}`))
	want := map[string]any{"set": []any{"a.b"}, "removed": []any{"d"}}
	if diff := cmp.Diff(want, d.(chain.Rewrite).Facts); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

// A later hook may change the arguments that it was given.
func TestWhatACallIsGivenIsNoPartOfTheHook(t *testing.T) {
	h := newHook(t, `o={"p":[1]}`)
	first := decide(t, h, nil).(chain.Rewrite)
	first.Args["o"].(map[string]any)["p"] = "changed"
	second := decide(t, h, nil).(chain.Rewrite)
	if diff := cmp.Diff(parse(t, `{"o":{"p":[1]}}`), second.Args); diff != "" {
		t.Errorf("arguments of the next call (-want +got):\n%s", diff)
	}
}

func TestNewReportsEverySettingThatCannotWork(t *testing.T) {
	_, err := rewrite.New(nil)(nil, hookFor(settings("a..b=1", "ok={", "dup=1", "dup=2", "deep.x=1", "deep=2", "-[*]")))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`set "a..b"`, `set "ok"`, `set "dup"`, `set "deep"`, `remove "[*]"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not mention %s", err, want)
		}
	}
	for name, h := range map[string]*plan.Hook{
		"no settings": {}, "an object needed where a number is put": hookFor(settings("a=1", "a.b=2")),
		"a duplicate name in a value": hookFor(settings(`a={"b":1,"b":2}`)),
	} {
		if _, err := rewrite.New(nil)(nil, h); err == nil {
			t.Errorf("%s: a hook was made", name)
		}
	}
}

// Rewriting twice is rewriting once, and what no setting names stays.
func FuzzRewritingIsIdempotentAndTouchesNothingElse(f *testing.F) {
	f.Add("a.b", "1", "a", `{"a":{"c":1},"z":[1]}`)
	f.Add("a[*].b", `{"x":[]}`, "a[*].c", `{"a":[{"c":1},{}],"y":{}}`)
	f.Add("a[*]", "null", "a", `{"a":[[1],2]}`)
	f.Add("o", "{}", "o.p", `{"o":{"p":1}}`)
	f.Fuzz(func(t *testing.T, set, value, remove, doc string) {
		h, err := rewrite.New(nil)(nil, hookFor(plan.Rewrite{
			Set: []plan.Assignment{{Path: set, Value: value}, {Path: "z.last", Value: "true"}}, Remove: []string{remove},
		}))
		if err != nil {
			return
		}
		v, _ := strictjson.Parse([]byte(doc))
		args, ok := v.(map[string]any)
		if !ok {
			return
		}
		r, ok := decide(t, h, args).(chain.Rewrite)
		if !ok {
			return
		}
		if again := decide(t, h, r.Args); again.Effect() != chain.EffectAllow {
			t.Fatalf("%s: the rewritten call is decided %#v", doc, again)
		}
		for name, before := range args {
			named := name == "z" || startsWith(set, name) || startsWith(remove, name)
			if after, ok := r.Args[name]; !named && (!ok || !strictjson.Equal(before, after)) {
				t.Fatalf("argument %q was changed", name)
			}
		}
	})
}

// startsWith is generous: escapes in a path make any name possible.
func startsWith(path, name string) bool {
	return strings.HasPrefix(path, name) || strings.Contains(path, `\`)
}

func BenchmarkDecide(b *testing.B) {
	h := newHook(b, "read_only=true", "options.limit=1000", "-debug")
	for name, doc := range map[string]string{
		"unchanged": `{"sql":"SELECT 1","read_only":true,"options":{"limit":1000}}`,
		"changed":   `{"sql":"SELECT 1","debug":true}`,
	} {
		b.Run(name, func(b *testing.B) {
			call := &chain.Call{Args: parse(b, doc)}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h.Decide(b.Context(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package approval_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

var testKey = []byte(strings.Repeat("k", approval.MinKeyBytes))

func parseArgs(t testing.TB, text string) map[string]any {
	t.Helper()
	v, err := strictjson.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func digest(t testing.TB, b approval.Binding) string {
	t.Helper()
	d, err := b.Digest(testKey)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func someBinding(t testing.TB) approval.Binding {
	return approval.Binding{
		Tool:        "db_query_sql",
		Args:        parseArgs(t, `{"sql":"DELETE FROM orders WHERE id = 7","params":[1,{"a":true,"b":null}]}`),
		Caller:      chain.Caller{Namespace: "customer-a", ServiceAccount: "etl"},
		Session:     "s1",
		PolicyUID:   "uid",
		ChainDigest: "chain",
		Hooks:       []string{"b", "a"},
	}
}

func TestAnyChangeOfACallChangesItsDigest(t *testing.T) {
	seen := map[string]string{digest(t, someBinding(t)): "as it was"}
	for name, change := range map[string]func(b *approval.Binding){
		"tool":                            func(b *approval.Binding) { b.Tool = "db_exec_sql" },
		"one argument's value":            func(b *approval.Binding) { b.Args["sql"] = "DELETE FROM orders WHERE id = 8" },
		"an argument more":                func(b *approval.Binding) { b.Args["timeout_ms"] = json.Number("5") },
		"an argument less":                func(b *approval.Binding) { delete(b.Args, "params") },
		"order within an array":           func(b *approval.Binding) { slices.Reverse(b.Args["params"].([]any)) },
		"number for its text":             func(b *approval.Binding) { b.Args["params"].([]any)[0] = "1" },
		"1.0 for 1":                       func(b *approval.Binding) { b.Args["params"].([]any)[0] = json.Number("1.0") },
		"9007199254740992":                func(b *approval.Binding) { b.Args["params"].([]any)[0] = json.Number("9007199254740992") },
		"9007199254740993":                func(b *approval.Binding) { b.Args["params"].([]any)[0] = json.Number("9007199254740993") },
		"null for nothing":                func(b *approval.Binding) { b.Args["x"] = nil },
		"no arguments":                    func(b *approval.Binding) { b.Args = nil },
		"namespace":                       func(b *approval.Binding) { b.Caller.Namespace = "customer-b" },
		"service account":                 func(b *approval.Binding) { b.Caller.ServiceAccount = "etl2" },
		"a slash moved within the caller": func(b *approval.Binding) { b.Caller = chain.Caller{Namespace: "customer", ServiceAccount: "a/etl"} },
		"session":                         func(b *approval.Binding) { b.Session = "s2" },
		"no session":                      func(b *approval.Binding) { b.Session = "" },
		"policy":                          func(b *approval.Binding) { b.PolicyUID = "uid2" },
		"chain":                           func(b *approval.Binding) { b.ChainDigest = "chain2" },
		"session and policy swapped":      func(b *approval.Binding) { b.Session, b.PolicyUID = b.PolicyUID, b.Session },
		"session glued to policy":         func(b *approval.Binding) { b.Session, b.PolicyUID = "s1uid", "" },
		"quotes that end a part":          func(b *approval.Binding) { b.Session, b.PolicyUID = `s1","uid`, "" },
		"a hook more":                     func(b *approval.Binding) { b.Hooks = append(b.Hooks, "c") },
		"a hook less":                     func(b *approval.Binding) { b.Hooks = b.Hooks[:1] },
		"hooks glued":                     func(b *approval.Binding) { b.Hooks = []string{"ab"} },
		"hooks glued by a comma":          func(b *approval.Binding) { b.Hooks = []string{`a","b`} },
	} {
		b := someBinding(t)
		change(&b)
		d := digest(t, b)
		if as, dup := seen[d]; dup {
			t.Errorf("%q has the digest of %q", name, as)
		}
		seen[d] = name
	}
}

func TestOrderOfKeysAndHooksMeansNothing(t *testing.T) {
	want := digest(t, someBinding(t))
	b := someBinding(t)
	b.Args = parseArgs(t, `{"params":[1,{"b":null,"a":true}], "sql":"DELETE FROM orders WHERE id = 7"}`)
	b.Hooks = []string{"a", "b", "a"}
	if got := digest(t, b); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	if !slices.Equal(b.Hooks, []string{"a", "b", "a"}) {
		t.Error("the hooks were sorted in place")
	}
}

func TestDigestNeedsAKeyAndDependsOnIt(t *testing.T) {
	b := someBinding(t)
	if _, err := b.Digest(testKey[:31]); err == nil {
		t.Error("a short key was taken")
	}
	other, err := b.Digest([]byte(strings.Repeat("x", 32)))
	if err != nil || other == digest(t, b) {
		t.Errorf("another key gives %q, %v", other, err)
	}
	b.Session = "\xff"
	if _, err := b.Digest(testKey); err == nil {
		t.Error("text that is not UTF-8 was taken")
	}
}

// Two random bindings have the same digest exactly if they are the same.
func TestDigestsAreEqualExactlyForEqualBindings(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func() string { return []string{"", "a", "b", "ab", `"`, `","`, "[", "a\x00"}[rng.IntN(8)] }
	seen := make(map[string]approval.Binding)
	for range 20_000 {
		b := approval.Binding{
			Tool: word(), Caller: chain.Caller{Namespace: word(), ServiceAccount: word()}, Session: word(),
			PolicyUID: word(), ChainDigest: word(), Args: map[string]any{}, Hooks: []string{word(), word()},
		}
		for range rng.IntN(3) {
			b.Args[word()] = word()
		}
		d := digest(t, b)
		if old, ok := seen[d]; ok && !sameBinding(old, b) {
			t.Fatalf("%+v and %+v have one digest", old, b)
		}
		seen[d] = b
	}
}

func sameBinding(a, b approval.Binding) bool {
	set := func(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
	return a.Tool == b.Tool && a.Caller == b.Caller && a.Session == b.Session && a.PolicyUID == b.PolicyUID &&
		a.ChainDigest == b.ChainDigest && maps.Equal(a.Args, b.Args) && slices.Equal(set(a.Hooks), set(b.Hooks))
}

func TestTakeConsent(t *testing.T) {
	for name, tc := range map[string]struct {
		args, rest string
		want       approval.Consent
	}{
		"nothing reserved":               {`{"sql":"x"}`, `{"sql":"x"}`, approval.Consent{}},
		"both":                           {`{"sql":"x","confirm_destructive":true,"hook_approval":"ap-1"}`, `{"sql":"x"}`, approval.Consent{Confirmed: true, ID: "ap-1"}},
		"false confirms nothing":         {`{"confirm_destructive":false}`, `{}`, approval.Consent{}},
		"a text confirms nothing":        {`{"confirm_destructive":"true"}`, `{}`, approval.Consent{}},
		"a number confirms nothing":      {`{"confirm_destructive":1}`, `{}`, approval.Consent{}},
		"a list confirms nothing":        {`{"confirm_destructive":[true]}`, `{}`, approval.Consent{}},
		"an object confirms nothing":     {`{"confirm_destructive":{"a":true}}`, `{}`, approval.Consent{}},
		"null confirms nothing":          {`{"confirm_destructive":null}`, `{}`, approval.Consent{}},
		"an id that is no text":          {`{"hook_approval":7}`, `{}`, approval.Consent{}},
		"deeper ones are the tool's":     {`{"a":{"confirm_destructive":true}}`, `{"a":{"confirm_destructive":true}}`, approval.Consent{}},
		"other spellings are the tool's": {`{"Confirm_Destructive":true}`, `{"Confirm_Destructive":true}`, approval.Consent{}},
	} {
		t.Run(name, func(t *testing.T) {
			args, before := parseArgs(t, tc.args), parseArgs(t, tc.args)
			rest, got := approval.TakeConsent(args)
			if got != tc.want {
				t.Errorf("consent %+v, want %+v", got, tc.want)
			}
			if !strictjson.Equal(rest, parseArgs(t, tc.rest)) {
				t.Errorf("rest %v, want %s", rest, tc.rest)
			}
			if !strictjson.Equal(args, before) {
				t.Error("the arguments given were changed")
			}
		})
	}
	rest, got := approval.TakeConsent(approval.ConfirmArgs("ap-1"))
	if len(rest) != 0 || got != (approval.Consent{Confirmed: true, ID: "ap-1"}) {
		t.Errorf("ConfirmArgs is taken as %+v, leaving %v", got, rest)
	}
}

func BenchmarkBindingDigest(b *testing.B) {
	binding := someBinding(b)
	b.ReportAllocs()
	for b.Loop() {
		digest(b, binding)
	}
}

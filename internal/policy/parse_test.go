package policy_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/policy"
)

const head = "apiVersion: hookpolicy.dev/v1alpha1\nkind: HookPolicy\n"

func TestParseReadsEveryDocumentOfAFile(t *testing.T) {
	objects, err := policy.Parse(t.Context(), "f.yaml", []byte("---\n# nothing\n---\n"+
		document("HookPolicy", "{}")+"--- # and\n"+document("ClusterHookPolicy", "{hooks: [{name: a, destructiveSQL: {}}]}")+
		"...\n---\n"+head+"metadata: {name: q}\nspec: {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		got = append(got, o.Segment.Source.Tenant())
	}
	if want := []string{"customer-a/p", "p", "default/q"}; !cmp.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if objects[1].Cluster == nil || objects[1].Policy != nil || objects[0].Policy == nil {
		t.Error("objects are not of their kinds")
	}
}

func TestParseFillsInTheDefaultsOfTheSchema(t *testing.T) {
	objects, err := policy.Parse(t.Context(), "f.yaml", []byte(document("HookPolicy", "{hooks: [{name: a, destructiveSQL: {}}]}")))
	if err != nil {
		t.Fatal(err)
	}
	spec := objects[0].Policy.Spec
	if spec.Enforcement != v1alpha1.EnforcementEnforce || spec.UnlistedTools != v1alpha1.UnlistedToolsAllow ||
		spec.Hooks[0].TimeoutMilliseconds != 1000 || spec.Hooks[0].DestructiveSQL.MaxBytes != 16384 {
		t.Errorf("got %+v", spec)
	}
}

// TestWhatIsWrongWithAFile compares whole messages: they are what a tenant has.
func TestWhatIsWrongWithAFile(t *testing.T) {
	named := head + "metadata: {name: p, namespace: a}\n"
	for name, tc := range map[string]struct{ file, want string }{
		"nothing":                          {"", "f.yaml: holds no policy"},
		"comments only":                    {"# soon\n---\n", "f.yaml: holds no policy"},
		"no YAML":                          {"a: [\n", "f.yaml: document 1: cannot be read as YAML: line 1: did not find expected node content"},
		"a text":                           {"policy\n", "f.yaml: document 1: must be an object with apiVersion, kind, metadata and spec"},
		"a list":                           {"- a\n", "f.yaml: document 1: must be an object with apiVersion, kind, metadata and spec"},
		"a key that stands twice":          {named + "spec: {}\nspec: {}\n", `f.yaml: document 1: line 5: key "spec" already set in map`},
		"a key within that stands twice":   {named + "spec:\n  enforcement: Enforce\n  enforcement: DryRun\n", `f.yaml: document 1: line 6: key "enforcement" already set in map`},
		"a key that is no string":          {named + "spec: {on: 1}\n", "f.yaml: document 1: the key true is no string: put it in quotation marks"},
		"a number without end":             {named + "spec: {context: {branch: .inf}}\n", "f.yaml: document 1: a number is infinite or none"},
		"a number that is too large":       {named + "spec: {context: {branch: 18446744073709551615}}\n", "f.yaml: document 1: the number 18446744073709551615 is too large: put it in quotation marks, or make it smaller"},
		"another kind":                     {"apiVersion: hookpolicy.dev/v1alpha1\nkind: Policy\n", `f.yaml: Policy in document 1: kind: Unsupported value: "Policy": supported values: "HookPolicy", "ClusterHookPolicy"`},
		"another version":                  {"apiVersion: hookpolicy.dev/v1\nkind: HookPolicy\nmetadata: {name: p}\n", `f.yaml: HookPolicy p: apiVersion: Unsupported value: "hookpolicy.dev/v1": supported values: "hookpolicy.dev/v1alpha1"`},
		"no metadata":                      {head + "spec: {}\n", "f.yaml: HookPolicy in document 1: metadata: Invalid value: must be an object with the policy's name"},
		"no name":                          {head + "metadata: {}\nspec: {}\n", "f.yaml: HookPolicy in document 1: metadata.name: Required value: name or generateName is required"},
		"a name that is no string":         {head + "metadata: {name: yes}\nspec: {}\n", "f.yaml: HookPolicy in document 1: metadata.name: Invalid value: must be a string: put it in quotation marks"},
		"a misspelt field of the metadata": {head + "metadata: {name: p, namespac: a}\nspec: {}\n", "f.yaml: HookPolicy default/p: metadata.namespac: Forbidden: there is no such field, did you mean namespace?"},
		"no spec":                          {named, "f.yaml: HookPolicy a/p: spec: Required value"},
		"a misspelt field":                 {named + "spec: {enforcment: Off}\n", "f.yaml: HookPolicy a/p: spec.enforcment: Forbidden: there is no such field, did you mean enforcement?"},
		"a field in another case":          {named + "spec: {unlistedtools: Deny}\n", "f.yaml: HookPolicy a/p: spec.unlistedtools: Forbidden: there is no such field, did you mean unlistedTools?"},
		"a misspelt field deep within":     {named + "spec: {hooks: [{name: a, timeout: 5, destructiveSQL: {}}]}\n", "f.yaml: HookPolicy a/p: spec.hooks[0].timeout: Forbidden: there is no such field, did you mean timeoutMilliseconds?"},
		"a field that is like no other":    {named + "spec: {quota: 5}\n", "f.yaml: HookPolicy a/p: spec.quota: Forbidden: there is no such field"},
		"a field beside the spec":          {named + "spec: {}\nhooks: []\n", "f.yaml: HookPolicy a/p: hooks: Forbidden: there is no such field"},
		"a word that YAML reads as no":     {named + "spec: {enforcement: Off}\n", "f.yaml: HookPolicy a/p: spec.enforcement: Invalid value: must be a string, not a boolean: put it in quotation marks"},
		"an object for a list":             {named + "spec: {hooks: {name: a}}\n", "f.yaml: HookPolicy a/p: spec.hooks: Invalid value: must be a list, not an object"},
		"a text for a number":              {named + `spec: {approvals: {maxPending: "5"}}` + "\n", "f.yaml: HookPolicy a/p: spec.approvals.maxPending: Invalid value: must be an integer, not a string"},
		"a number of more than 32 bits":    {named + "spec: {approvals: {maxPending: 4294967297}}\n", "f.yaml: HookPolicy a/p: spec.approvals.maxPending: Invalid value: must be a number that fits into 32 bits"},
		"a rule of the schema":             {named + "spec: {hooks: [{name: a, rewrite: {tools: [t]}}]}\n", "f.yaml: HookPolicy a/p: spec.hooks[0].rewrite: Required value: a rewrite needs set, remove or sqlLimit"},
		"a bound of the schema":            {named + `spec: {audit: {redact: {keys: ["` + strings.Repeat("k", 257) + `"]}}}` + "\n", "f.yaml: HookPolicy a/p: spec.audit.redact.keys[0]: Too long: may not be more than 256 bytes"},
		"a field of tenants in a baseline": {"apiVersion: hookpolicy.dev/v1alpha1\nkind: ClusterHookPolicy\nmetadata: {name: b}\nspec: {enforcement: DryRun, hooks: [{name: a, destructiveSQL: {}}]}\n", "f.yaml: ClusterHookPolicy b: spec.enforcement: Forbidden: there is no such field"},
		"a baseline in a namespace":        {"apiVersion: hookpolicy.dev/v1alpha1\nkind: ClusterHookPolicy\nmetadata: {name: b, namespace: c}\nspec: {hooks: [{name: a, destructiveSQL: {}}]}\n", "f.yaml: ClusterHookPolicy c/b: metadata.namespace: Forbidden: not allowed on this type"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := policy.Parse(t.Context(), "f.yaml", []byte(tc.file))
			if len(objects) > 0 || err == nil {
				t.Fatalf("taken: %v", objects)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAWrongTypeHidesNoOtherProblem(t *testing.T) {
	_, err := policy.Parse(t.Context(), "f.yaml", []byte(document("HookPolicy", `
  unlistedTools: 3
  hooks:
  - {name: a, rewrite: {tools: [1], remove: ["c["]}}
  - {name: B, destructiveSQL: {maxBytes: many}}`)))
	invalid, ok := errors.AsType[*policy.InvalidError](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	var got []string
	for _, p := range invalid.Problems {
		fieldErr, ok := errors.AsType[*field.Error](&p)
		if !ok || p.File != "f.yaml" || p.Object != "HookPolicy customer-a/p" {
			t.Errorf("problem %+v", p)
			continue
		}
		got = append(got, fieldErr.Field)
	}
	want := []string{
		"spec.hooks[0].rewrite.tools[0]", "spec.hooks[1].destructiveSQL.maxBytes", "spec.unlistedTools",
		"spec.hooks[0].rewrite.remove[0]", "spec.hooks[1].name",
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestASyntaxErrorDoesNotHideWhatStandsBeforeIt(t *testing.T) {
	_, err := policy.Parse(t.Context(), "f.yaml", []byte(document("HookPolicy", "{quota: 1}")+"---\na: 1\na: 2\n---\na: [\n"))
	for _, want := range []string{"spec.quota", "document 2: line 7", "document 3"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestNoDocumentIsLeftOutWithoutAWord(t *testing.T) {
	a, b := document("HookPolicy", "{}"), strings.Replace(document("HookPolicy", "{}"), "name: p", "name: q", 1)
	for name, separator := range map[string]string{
		"a line of dashes": "---\n", "with a comment": "--- # next\n", "with carriage return": "---\r\n",
		"after an end mark": "...\n---\n", "with content behind it": "--- !!map\n",
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := policy.Parse(t.Context(), "f.yaml", []byte(a+separator+b))
			if err != nil || len(objects) != 2 {
				t.Errorf("got %d objects, %v", len(objects), err)
			}
		})
	}
	for name, separator := range map[string]string{"an end mark alone": "...\n", "a separator that is none": " ---\n"} {
		t.Run(name, func(t *testing.T) {
			objects, err := policy.Parse(t.Context(), "f.yaml", []byte(a+separator+b))
			if err == nil && len(objects) != 2 {
				t.Errorf("got %d objects and no error", len(objects))
			}
		})
	}
}

func TestAFileThatIsTooLongIsRefused(t *testing.T) {
	_, err := policy.Parse(t.Context(), "f.yaml", make([]byte, 64<<20+1))
	if err == nil || err.Error() != "f.yaml: is longer than 64 MiB" {
		t.Errorf("got %v", err)
	}
}

func TestAFileThatGrowsWhenItIsReadIsRefused(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 8), i)
	}
	for name, file := range map[string]string{
		"aliases of aliases":  bomb.String(),
		"an alias of itself":  "a: &a [*a]\n",
		"lists within a list": strings.Repeat("[", 100_000),
	} {
		if _, err := policy.Parse(t.Context(), "f.yaml", []byte(file)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestParseEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fmt.Errorf("stop"))
	_, err := policy.Parse(ctx, "f.yaml", []byte(document("HookPolicy", "{}")))
	if err == nil || err.Error() != "read f.yaml: stop" {
		t.Errorf("got %v", err)
	}
}

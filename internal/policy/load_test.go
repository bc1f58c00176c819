package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/policy"
)

const policies = "../../test/policies"

// policyFiles are the policies that the project shows to its users.
func policyFiles(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(policies + "/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no policies in %s: %v", policies, err)
	}
	files := make(map[string][]byte)
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = data
	}
	return files
}

func TestEveryPolicyThatIsShownLoads(t *testing.T) {
	for name, data := range policyFiles(t) {
		set, warnings, err := policy.Load(t.Context(), map[string][]byte{name: data})
		if err != nil || set.Len() == 0 || len(warnings) > 0 {
			t.Errorf("%s: %v, warnings %v", name, err, warnings)
		}
	}
	if set, _, err := policy.Load(t.Context(), policyFiles(t)); err != nil || set.Lookup("customer-a", "etl-agent") == nil {
		t.Errorf("all together: %v", err)
	}
}

func TestLoadMakesOneSetOfAllFiles(t *testing.T) {
	set, warnings, err := policy.Load(t.Context(), map[string][]byte{
		"b.yaml": []byte(document("HookPolicy", "{approvals: {consent: Agent}}")),
		"a.yaml": []byte(document("ClusterHookPolicy", "{priority: 2, hooks: [{name: a, destructiveSQL: {}}]}") + "---\n" +
			strings.Replace(document("ClusterHookPolicy", "{priority: 1, hooks: [{name: a, destructiveSQL: {}}]}"), "name: p", "name: z", 1)),
	})
	if err != nil {
		t.Fatal(err)
	}
	var baseline []string
	for _, s := range set.Baseline() {
		baseline = append(baseline, s.Source.Name)
	}
	if !cmp.Equal(baseline, []string{"z", "p"}) || len(set.Tenants()) != 1 {
		t.Errorf("baseline %v, %d tenants", baseline, len(set.Tenants()))
	}
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "b.yaml: HookPolicy customer-a/p: spec.approvals.consent: ") {
		t.Errorf("warnings %q", warnings)
	}
}

func TestLoadAppliesNothingWhenAnythingIsWrong(t *testing.T) {
	set, _, err := policy.Load(t.Context(), map[string][]byte{
		"good.yaml": []byte(document("HookPolicy", "{}")),
		"one.yaml":  []byte(strings.Replace(document("HookPolicy", "{quota: 1}"), "name: p", "name: q", 1)),
		"two.yaml":  []byte("kind: Pod\n"),
	})
	if set != nil || err == nil {
		t.Fatalf("got a set, %v", err)
	}
	for _, want := range []string{"one.yaml: HookPolicy customer-a/q: spec.quota: ", "two.yaml: Pod in document 1: kind: "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestAnObjectThatStandsTwiceIsRefused(t *testing.T) {
	file := []byte(document("HookPolicy", "{}"))
	_, _, err := policy.Load(t.Context(), map[string][]byte{"b.yaml": file, "a.yaml": file})
	if err == nil || err.Error() != "b.yaml: HookPolicy customer-a/p: stands twice, first in a.yaml" {
		t.Errorf("got %v", err)
	}
	long := strings.Repeat("a", 100)
	twins := strings.Replace(string(file), "name: p", "name: "+long+"a", 1) + "---\n" + strings.Replace(string(file), "name: p", "name: "+long+"b", 1)
	if set, _, err := policy.Load(t.Context(), map[string][]byte{"a.yaml": []byte(twins)}); err != nil || set.Len() != 2 {
		t.Errorf("two objects whose long names start alike: %v", err)
	}
}

func TestLoadWithoutFilesIsAnError(t *testing.T) {
	if set, _, err := policy.Load(t.Context(), nil); set != nil || err == nil {
		t.Error("no files made a set")
	}
}

// TestFilesAndClusterMeanTheSame holds the defaults of the compiler and of the
// schema equal: an object means the same with the schema's defaults and without.
func TestFilesAndClusterMeanTheSame(t *testing.T) {
	for _, spec := range []string{
		"{}", "{approvals: {}, audit: {}, agents: {}, context: {}}", "{approvals: {timeoutSeconds: {}, approvers: {}}}",
		hook("pathAllowlist", ""), hook("pathAllowlist", "workingDirectory: /w"), hook("destructiveSQL", ""),
		hook("destructiveSQL", "arguments: [{tool: t, path: a}], data: [{tool: t, path: b}]"),
		hook("rewrite", `tools: [t], set: {a: {b: [1, "<&>", 1.5]}}`),
		`{enforcement: "Off", hooks: [{name: a, failurePolicy: Ignore, destructiveSQL: {}}]}`,
	} {
		objects, err := policy.Parse(t.Context(), "f.yaml", []byte(document("HookPolicy", spec)))
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		if diff := cmp.Diff(compiled(t, spec), objects[0].Segment); diff != "" {
			t.Errorf("%s (-without the defaults +with them):\n%s", spec, diff)
		}
	}
	for _, spec := range []string{hook("destructiveSQL", ""), "{approvals: {}, " + hook("pathAllowlist", "roots: [/a]")[1:]} {
		objects, err := policy.Parse(t.Context(), "f.yaml", []byte(document("ClusterHookPolicy", spec)))
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		want, _, _ := policy.CompileCluster(cluster(t, spec))
		if diff := cmp.Diff(want, objects[0].Segment); diff != "" {
			t.Errorf("%s (-without the defaults +with them):\n%s", spec, diff)
		}
	}
}

func TestAPlanDecidesWhatThePolicySays(t *testing.T) {
	set, _, err := policy.Load(t.Context(), policyFiles(t))
	if err != nil {
		t.Fatal(err)
	}
	got := set.Lookup("customer-a", "etl-agent")
	if got.Source.Name != "customer-a" || len(got.Hooks) != 3 || got.Hooks[2].Rewrite.Set[0] != (plan.Assignment{Path: "read_only", Value: "true"}) {
		t.Errorf("etl-agent is governed by %+v", got)
	}
	if other := set.Lookup("customer-a", "someone"); other == nil || other.Source.Name != "quickstart" {
		t.Errorf("another caller is governed by %+v", other)
	}
}

func TestAFileCannotMakeItsPolicyOlder(t *testing.T) {
	file := func(name, metadata string) string {
		return "apiVersion: hookpolicy.dev/v1alpha1\nkind: HookPolicy\nmetadata: {namespace: team, name: " + name + metadata + "}\nspec: {agents: {serviceAccounts: [etl]}}\n"
	}
	old := `, creationTimestamp: "2020-01-01T00:00:00Z"`
	set, warnings, err := policy.Load(t.Context(), map[string][]byte{
		"policies.yaml": []byte(file("b", old) + "---\n" + file("c", old)),
		"a.yaml":        []byte(file("a", ", creationTimestamp: null")),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Lookup("team", "etl").Source.Name; got != "a" {
		t.Errorf("%s governs the caller", got)
	}
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "policies.yaml: HookPolicy team/b: metadata.creationTimestamp: is ignored") {
		t.Errorf("warnings %q", warnings)
	}
}

package chart

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/hookpolicy/hookpolicy/config/crd"
)

var update = flag.Bool("update", false, "write the golden files")

const definition = "CustomResourceDefinition"

func TestWhatEachValuesFileRenders(t *testing.T) {
	for _, values := range valuesFiles(t) {
		name := strings.TrimSuffix(filepath.Base(values), "-values.yaml")
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, m := range manifests(t, render(t, values)) {
				if m.kind() == definition { // see TestTheDefinitionsAreTheGeneratedOnes
					continue
				}
				b.WriteString("---\n" + strings.TrimSpace(m.text) + "\n")
			}
			golden(t, filepath.Join("testdata", name+".golden.yaml"), b.String())
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-golden +rendered), go test ./test/chart -update if it is meant:\n%s", path, diff)
	}
}

func TestTheDefinitionsAreTheGeneratedOnesAndAreKept(t *testing.T) {
	rendered := make(map[string]map[string]any)
	for _, m := range manifests(t, render(t, filepath.Join(chartDir, "ci", "default-values.yaml"))) {
		if m.kind() == definition {
			rendered[m.metadata()["name"].(string)] = m.object
		}
	}
	files, err := crd.Bases.ReadDir("bases")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(rendered) {
		t.Errorf("%d definitions are rendered, %d are generated", len(rendered), len(files))
	}
	for _, f := range files {
		doc, err := crd.Bases.ReadFile("bases/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := yaml.Unmarshal(doc, &want); err != nil {
			t.Fatal(err)
		}
		name := want["metadata"].(map[string]any)["name"].(string)
		got := rendered[name]
		if got == nil {
			t.Errorf("%s is not rendered", name)
			continue
		}
		if diff := cmp.Diff(want["spec"], got["spec"]); diff != "" {
			t.Errorf("%s is not the generated one, run make generate (-generated +rendered):\n%s", name, diff)
		}
		annotations := got["metadata"].(map[string]any)["annotations"].(map[string]any)
		if annotations["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s would be deleted with the release, and every object of its kind with it", name)
		}
	}
}

func TestTheDefaultServiceIsAnOrdinaryObjectOnceItsKindIsKnown(t *testing.T) {
	values := filepath.Join(chartDir, "ci", "default-values.yaml")
	for name, tc := range map[string]struct {
		args []string
		hook bool
	}{
		"first installation":            {nil, true},
		"upgrade":                       {[]string{"--is-upgrade"}, false},
		"definitions are there already": {[]string{"--api-versions", "hookpolicy.dev/v1alpha1/DecisionService"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, m := range manifests(t, render(t, values, tc.args...)) {
				if m.kind() != "DecisionService" {
					continue
				}
				annotations := m.metadata()["annotations"].(map[string]any)
				if _, hook := annotations["helm.sh/hook"]; hook != tc.hook {
					t.Errorf("a hook: %v, want %v", hook, tc.hook)
				}
				return
			}
			t.Error("no DecisionService is rendered")
		})
	}
}

func TestTheTestTakesTheTrustBundleWhereThereIsOne(t *testing.T) {
	values := filepath.Join(chartDir, "ci", "default-values.yaml")
	if out := render(t, values); strings.Contains(out, "clusterTrustBundle:") || !strings.Contains(out, "name: hookpolicy-ca") {
		t.Error("without ClusterTrustBundles the ConfigMap must be taken")
	}
	out := render(t, values, "--api-versions", "certificates.k8s.io/v1/ClusterTrustBundle")
	if !strings.Contains(out, "clusterTrustBundle:") || strings.Contains(out, "name: hookpolicy-ca") {
		t.Error("with ClusterTrustBundles the bundle must be taken")
	}
}

func TestLintFindsNothing(t *testing.T) {
	for _, values := range valuesFiles(t) {
		if out, errs, err := helm(t, "", "lint", "--strict", chartDir, "-f", values, "-n", namespace); err != nil {
			t.Errorf("%s: %v\n%s%s", values, err, out, errs)
		}
	}
}

func TestWrongValuesAreRefused(t *testing.T) {
	for name, tc := range map[string]struct{ set, says string }{
		"a value that does not exist":     {"manager.replica=2", "replica"},
		"a value at the top that is not":  {"managers=2", "managers"},
		"no managers":                     {"manager.replicas=0", "replicas"},
		"too many deciding replicas":      {"decisionService.replicas=17", "replicas"},
		"an unknown answer":               {"decisionService.unmatched=Ask", "unmatched"},
		"a digest that is none":           {"image.digest=latest", "digest"},
		"a name that is no name":          {"decisionService.name=Default", "name"},
		"a volume with an unknown field":  {"decisionService.dataVolumes[0].path=/data", "dataVolumes"},
		"a pull policy that is not one":   {"image.pullPolicy=Sometimes", "pullPolicy"},
		"a service without a name at all": {"decisionService.name=", "name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs, err := helm(t, "", "template", release, chartDir, "--set", tc.set)
			if err == nil || !strings.Contains(errs, tc.says) {
				t.Errorf("error %v says %q, want it to name %q", err, errs, tc.says)
			}
		})
	}
}

func TestEveryValueIsCommented(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(chartDir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(doc), "\n")
	if len(lines) >= 300 {
		t.Errorf("values.yaml has %d lines; keep it below 300", len(lines))
	}
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "#") || !strings.Contains(trimmed, ":") || i == 0 {
			continue
		}
		above := strings.TrimSpace(lines[i-1])
		parent := strings.HasSuffix(above, ":") && len(lines[i-1])-len(strings.TrimLeft(lines[i-1], " ")) < len(line)-len(strings.TrimLeft(line, " "))
		if strings.HasPrefix(above, "#") || parent || within(lines, i, "resources:") {
			continue
		}
		t.Errorf("line %d has no comment above it: %s", i+1, line)
	}
}

// within says whether a line belongs to a section, which explains it as a whole.
func within(lines []string, i int, section string) bool {
	indent := func(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }
	for j, depth := i-1, indent(lines[i]); j >= 0 && depth > 0; j-- {
		if strings.TrimSpace(lines[j]) == "" || indent(lines[j]) >= depth {
			continue
		}
		depth = indent(lines[j])
		if strings.TrimSpace(lines[j]) == section {
			return true
		}
	}
	return false
}

func TestTheChartsCopiesAreCurrent(t *testing.T) {
	for chart, source := range map[string]string{"files/crds": "../../config/crd/bases", "files/rbac": "../../config/rbac"} {
		want, got := files(t, source), files(t, filepath.Join(chartDir, chart))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s is no copy of %s, run make generate (-source +chart):\n%s", chart, source, diff)
		}
	}
}

// files returns the YAML files of a directory by their names.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	all := make(map[string]string)
	for _, path := range paths {
		doc, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(path)] = string(doc)
	}
	return all
}

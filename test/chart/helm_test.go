// Package chart holds the Helm chart to what it promises: what it renders, what
// it refuses, and that a real API server takes all of it.
package chart

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/hookpolicy/hookpolicy/internal/kubetest"
)

const (
	chartDir  = "../../charts/hookpolicy"
	namespace = "hookpolicy-system"
	release   = "hookpolicy"
)

var kube = kubetest.Shared{Bare: true}

func TestMain(m *testing.M) { os.Exit(kube.Run(m)) }

// helm runs Helm with an empty home of its own. "make test" says where it is.
func helm(t *testing.T, kubeconfig string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	program := os.Getenv("HOOKPOLICY_HELM")
	if program == "" {
		const how = "HOOKPOLICY_HELM is not set: run the tests with \"make test\", or export " +
			"HOOKPOLICY_HELM=$(go tool -n -modfile=hack/tools/helm/go.mod helm) first"
		if os.Getenv("CI") == "true" || os.Getenv("HOOKPOLICY_KUBE") == "required" {
			t.Fatal(how)
		}
		t.Skip(how)
	}
	kubetest.DependsOn(t, chartDir)
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig,
		"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// valuesFiles are the charts' own variations, a file each.
func valuesFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chartDir, "ci", "*-values.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no values files: %v", err)
	}
	return files
}

// render renders the chart as for its first installation.
func render(t *testing.T, values string, more ...string) string {
	t.Helper()
	args := append([]string{"template", release, chartDir, "-n", namespace, "-f", values, "--kube-version", "1.37.2"}, more...)
	out, errs, err := helm(t, "", args...)
	if err != nil {
		t.Fatalf("helm template: %v\n%s", err, errs)
	}
	return out
}

// A manifest is one rendered document.
type manifest struct {
	text   string
	object map[string]any
}

func (m manifest) kind() string { return m.object["kind"].(string) }

func (m manifest) metadata() map[string]any { return m.object["metadata"].(map[string]any) }

func manifests(t *testing.T, rendered string) []manifest {
	t.Helper()
	var all []manifest
	for text := range strings.SplitSeq("\n"+rendered, "\n---\n") {
		var object map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
			t.Fatalf("a manifest is no YAML: %v\n%s", err, text)
		}
		if len(object) > 0 {
			all = append(all, manifest{text, object})
		}
	}
	return all
}

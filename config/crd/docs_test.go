package crd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// block is a fenced block of YAML.
var block = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

func TestTheAPIServerTakesEveryExampleOfTheDocs(t *testing.T) {
	s := kube.Server(t)
	ns := s.Namespace(t, "docs")
	pages, err := filepath.Glob("../../docs/spec/*.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for _, page := range append(pages, "../../docs/policy.md", "../../docs/sql-guard.md", "../../README.md") {
		doc, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllStringSubmatch(string(doc), -1) {
			if !strings.Contains(m[1], "apiVersion: hookpolicy.dev/") {
				continue // a part of something else
			}
			examples++
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(m[1]), &u.Object); err != nil {
				t.Fatalf("%s: %v", page, err)
			}
			if u.GetNamespace() != "" {
				u.SetNamespace(ns)
			}
			if err := s.Client().Create(t.Context(), u, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
	if examples < 5 {
		t.Errorf("%d examples found", examples)
	}
}

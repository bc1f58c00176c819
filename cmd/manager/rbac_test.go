package main

import (
	"bytes"
	"os"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/hookpolicy/hookpolicy/internal/contract"
)

func TestTheManagersRightsAreListedOneByOne(t *testing.T) {
	doc, err := os.ReadFile("../../config/rbac/manager.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rules := 0
	for part := range bytes.SplitSeq(doc, []byte("\n---\n")) {
		var role struct {
			metav1.TypeMeta   `json:",inline"`
			metav1.ObjectMeta `json:"metadata"`
			Rules             []rbacv1.PolicyRule `json:"rules"`
		}
		if err := yaml.Unmarshal(part, &role); err != nil {
			t.Fatal(err)
		}
		for _, r := range role.Rules {
			rules++
			if slices.Equal(r.Verbs, []string{"bind"}) && slices.Equal(r.ResourceNames, []string{contract.RoleApprovals}) {
				continue // granted without being held, and no other
			}
			for _, word := range slices.Concat(r.Verbs, r.APIGroups, r.Resources) {
				if slices.Contains([]string{"*", "bind", "escalate", "impersonate", "deletecollection"}, word) {
					t.Errorf("%s %s grants %s on %v", role.Kind, role.Name, word, r.Resources)
				}
			}
		}
	}
	if rules < 20 {
		t.Errorf("only %d rules were read", rules)
	}
}

package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/policy"
)

// document is a policy file with one object.
func document(kind, spec string) string {
	metadata := "{name: p, namespace: customer-a}"
	if kind == v1alpha1.KindClusterHookPolicy {
		metadata = "{name: p}"
	}
	return fmt.Sprintf("apiVersion: hookpolicy.dev/v1alpha1\nkind: %s\nmetadata: %s\nspec: %s\n", kind, metadata, spec)
}

// tenant is the object that a client of the cluster would get, without the
// schema's defaults.
func tenant(t testing.TB, spec string) *v1alpha1.HookPolicy {
	t.Helper()
	hp := &v1alpha1.HookPolicy{}
	if err := yaml.UnmarshalStrict([]byte(document(v1alpha1.KindHookPolicy, spec)), hp); err != nil {
		t.Fatal(err)
	}
	return hp
}

func cluster(t testing.TB, spec string) *v1alpha1.ClusterHookPolicy {
	t.Helper()
	chp := &v1alpha1.ClusterHookPolicy{}
	if err := yaml.UnmarshalStrict([]byte(document(v1alpha1.KindClusterHookPolicy, spec)), chp); err != nil {
		t.Fatal(err)
	}
	return chp
}

// compiled is the segment of a sound spec.
func compiled(t testing.TB, spec string) *plan.Segment {
	t.Helper()
	seg, _, errs := policy.Compile(tenant(t, spec))
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return seg
}

// hook is a spec with one hook of a kind.
func hook(kind, fields string) string {
	return fmt.Sprintf("{hooks: [{name: h, %s: {%s}}]}", kind, fields)
}

// problems are the fields and words of errors, one a line.
func problems(errs field.ErrorList) string {
	var lines []string
	for _, err := range errs {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}

// A refusal is a spec that must not compile, the field that is to blame and
// words of the message.
type refusal struct{ spec, field, want string }

func checkRefusals(t *testing.T, cases map[string]refusal) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			seg, _, errs := policy.Compile(tenant(t, tc.spec))
			if seg != nil {
				t.Fatal("a policy with a problem got a segment")
			}
			if len(errs) != 1 || errs[0].Field != tc.field || !strings.Contains(errs[0].Error(), tc.want) {
				t.Errorf("got\n%s\nwant one error at %s with %q", problems(errs), tc.field, tc.want)
			}
		})
	}
}

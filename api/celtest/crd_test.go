package celtest_test

import (
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/hookpolicy/hookpolicy/config/crd"
)

// definitions are the generated definitions by kind.
func definitions(t *testing.T) map[string]*apiextensions.CustomResourceDefinition {
	t.Helper()
	byKind := make(map[string]*apiextensions.CustomResourceDefinition)
	for _, text := range [][]byte{crd.HookPolicies, crd.ClusterHookPolicies} {
		var v1 apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &v1); err != nil {
			t.Fatal(err)
		}
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&v1.Spec)
		var in apiextensions.CustomResourceDefinition
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&v1, &in, nil); err != nil {
			t.Fatal(err)
		}
		byKind[v1.Spec.Names.Kind] = &in
	}
	return byKind
}

// TestDefinitionsInstall runs the API server's own checks, among them the
// compilation of the rules and the budget of their cost.
func TestDefinitionsInstall(t *testing.T) {
	for kind, in := range definitions(t) {
		in.Status.StoredVersions = []string{"v1alpha1"}
		if errs := crdvalidation.ValidateCustomResourceDefinition(t.Context(), in); len(errs) > 0 {
			t.Errorf("%s: %v", kind, errs.ToAggregate())
		}
	}
}

func TestNamesScopesAndColumns(t *testing.T) {
	for kind, want := range map[string]struct {
		short string
		scope apiextensions.ResourceScope
		first string
	}{
		"HookPolicy":        {"hp", apiextensions.NamespaceScoped, "Enforcement"},
		"ClusterHookPolicy": {"chp", apiextensions.ClusterScoped, "Priority"},
	} {
		spec := definitions(t)[kind].Spec
		if spec.Group != "hookpolicy.dev" || spec.Names.ShortNames[0] != want.short || spec.Scope != want.scope {
			t.Errorf("%s: group %s, short names %v, scope %s", kind, spec.Group, spec.Names.ShortNames, spec.Scope)
		}
		columns := spec.AdditionalPrinterColumns
		if len(columns) != 4 || columns[0].Name != want.first {
			t.Errorf("%s: columns %v", kind, columns)
		}
	}
}

// a checker admits objects of one kind as the API server does.
type checker struct {
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

func newChecker(t *testing.T, in *apiextensions.CustomResourceDefinition) *checker {
	t.Helper()
	props := in.Spec.Validation.OpenAPIV3Schema
	s, err := schema.NewStructural(props)
	if err != nil {
		t.Fatal(err)
	}
	v, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		t.Fatal(err)
	}
	return &checker{structural: s, schema: v, rules: cel.NewValidator(s, true, celconfig.PerCallLimit)}
}

func (c *checker) admit(t *testing.T, kind, spec string) field.ErrorList {
	t.Helper()
	object := map[string]any{}
	text := "apiVersion: hookpolicy.dev/v1alpha1\nkind: " + kind + "\nmetadata: {name: x}\nspec: " + spec
	if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	normalize(object)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, c.structural)
	defaulting.Default(object, c.structural)
	errs := validation.ValidateCustomResource(nil, object, c.schema)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, c.structural, object)...)
	if len(errs) == 0 {
		errs, _ = c.rules.Validate(t.Context(), nil, c.structural, object, nil, celconfig.RuntimeCELCostBudget)
	}
	return errs
}

// normalize turns whole numbers into integers, as the API server reads them.
func normalize(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = normalize(v[k])
		}
	case []any:
		for i := range v {
			v[i] = normalize(v[i])
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}

func TestSchemaTakesAndRefuses(t *testing.T) {
	checkers := make(map[string]*checker)
	for kind, in := range definitions(t) {
		checkers[kind] = newChecker(t, in)
	}
	for name, tc := range cases() {
		t.Run(name, func(t *testing.T) {
			kinds := []string{"HookPolicy", "ClusterHookPolicy"}
			if tc.kind != "" {
				kinds = []string{tc.kind}
			}
			for _, kind := range kinds {
				errs := checkers[kind].admit(t, kind, tc.spec)
				switch {
				case tc.want == "" && len(errs) > 0:
					t.Errorf("%s: refused: %v", kind, errs.ToAggregate())
				case tc.want != "" && len(errs) == 0:
					t.Errorf("%s: taken, want an error with %q", kind, tc.want)
				case tc.want != "" && !strings.Contains(errs.ToAggregate().Error(), tc.want):
					t.Errorf("%s: got %v, want %q", kind, errs.ToAggregate(), tc.want)
				}
			}
		})
	}
}

// TestEveryRuleHasACaseThatItRefuses finds the messages of all rules in the
// definitions and looks for each among the cases.
func TestEveryRuleHasACaseThatItRefuses(t *testing.T) {
	for kind, in := range definitions(t) {
		rules(in.Spec.Validation.OpenAPIV3Schema, func(message string) {
			for _, tc := range cases() {
				if (tc.kind == "" || tc.kind == kind) && tc.want != "" && strings.Contains(message, tc.want) {
					return
				}
			}
			t.Errorf("%s: no case is refused with %q", kind, message)
		})
	}
}

func rules(s *apiextensions.JSONSchemaProps, visit func(message string)) {
	for _, rule := range s.XValidations {
		visit(rule.Message)
	}
	for _, property := range s.Properties {
		rules(&property, visit)
	}
	if s.Items != nil && s.Items.Schema != nil {
		rules(s.Items.Schema, visit)
	}
}

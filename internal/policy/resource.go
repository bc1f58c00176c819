package policy

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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

// A resource checks objects of one kind as the API server does, by the same
// definition and the same code.
type resource struct {
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// resources returns the checks of every kind that a policy file may hold.
// Compiling the rules takes tens of milliseconds, so it is done once, and only
// by those who read files.
var resources = sync.OnceValues(func() (map[string]*resource, error) {
	byKind := make(map[string]*resource)
	for _, definition := range [][]byte{crd.HookPolicies, crd.ClusterHookPolicies} {
		kind, r, err := newResource(definition)
		if err != nil {
			return nil, fmt.Errorf("read the definition of a policy kind: %w", err)
		}
		byKind[kind] = r
	}
	return byKind, nil
})

func newResource(definition []byte) (kind string, r *resource, err error) {
	var v1 apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(definition, &v1); err != nil {
		return "", nil, err
	}
	if n := len(v1.Spec.Versions); n != 1 {
		return "", nil, fmt.Errorf("%s has %d versions, expected one", v1.Name, n)
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1.Spec.Versions[0].Schema.OpenAPIV3Schema, &internal, nil); err != nil {
		return "", nil, err
	}
	structural, err := schema.NewStructural(&internal)
	if err != nil {
		return "", nil, err
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return "", nil, err
	}
	return v1.Spec.Names.Kind, &resource{
		structural: structural,
		schema:     validator,
		rules:      cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}, nil
}

// admit fills in the defaults, in place, and reports what the schema and its
// rules refuse. The rules run on objects that the schema takes.
func (r *resource) admit(ctx context.Context, object map[string]any) field.ErrorList {
	defaulting.PruneNonNullableNullsWithoutDefaults(object, r.structural)
	defaulting.Default(object, r.structural)
	errs := validation.ValidateCustomResource(nil, object, r.schema)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, r.structural, object)...)
	if len(errs) == 0 {
		errs, _ = r.rules.Validate(ctx, nil, r.structural, object, nil, celconfig.RuntimeCELCostBudget)
	}
	for _, err := range errs {
		plainWords(err)
	}
	return errs
}

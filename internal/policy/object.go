package policy

import (
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
)

// objectName returns the kind and name of an object, or its place where it has
// none, for messages.
func objectName(object map[string]any, place string) string {
	kind, _ := object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)
	switch {
	case kind == "":
		return place
	case name == "":
		return clip(kind) + " in " + place
	case namespace == "":
		return clip(kind) + " " + clip(name)
	default:
		return clip(kind) + " " + clip(namespace) + "/" + clip(name)
	}
}

// resourceOf finds the checks for the object's kind, nil if a policy file must
// not hold it.
func resourceOf(kinds map[string]*resource, object map[string]any) (*resource, field.ErrorList) {
	var errs field.ErrorList
	version, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	if want := v1alpha1.SchemeGroupVersion.String(); version != want {
		errs = append(errs, field.NotSupported(field.NewPath("apiVersion"), clip(version), []string{want}))
	}
	r := kinds[kind]
	if r == nil {
		errs = append(errs, field.NotSupported(field.NewPath("kind"), clip(kind), []string{v1alpha1.KindHookPolicy, v1alpha1.KindClusterHookPolicy}))
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return r, nil
}

// metadata reports what standard object metadata does not have. In place, it
// takes away what cannot be read, so that the rest of the object can be looked
// at, and fills in the namespace of a HookPolicy that names none.
func metadata(object map[string]any) field.ErrorList {
	at := field.NewPath("metadata")
	m, ok := object["metadata"].(map[string]any)
	if !ok {
		object["metadata"] = map[string]any{}
		return field.ErrorList{field.TypeInvalid(at, field.OmitValueType{}, "must be an object with the policy's name")}
	}
	if object["kind"] == v1alpha1.KindHookPolicy && (m["namespace"] == nil || m["namespace"] == "") {
		m["namespace"] = metav1.NamespaceDefault
	}
	var errs field.ErrorList
	for _, name := range []string{"name", "namespace"} {
		if _, ok := m[name].(string); !ok && m[name] != nil {
			errs = append(errs, field.TypeInvalid(at.Child(name), field.OmitValueType{}, "must be a string: put it in quotation marks"))
			delete(m, name)
		}
	}
	_, _, unknownPaths, err := objectmeta.GetObjectMetaWithOptions(object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		errs = append(errs, field.TypeInvalid(at, field.OmitValueType{}, "cannot be read: "+strings.TrimPrefix(err.Error(), "json: ")))
		object["metadata"] = map[string]any{"name": m["name"], "namespace": m["namespace"]}
	}
	for _, path := range unknownPaths {
		name := strings.TrimPrefix(path, at.String()+".")
		errs = append(errs, unknownField(at.Child(clip(name)), name, []string{"name", "namespace", "labels", "annotations"}))
	}
	return errs
}

// dropAge takes away when the object was created and reports whether it said so.
// In a cluster the API server vouches for it, and the older of two policies wins
// a caller; in a file anybody can write any time.
func dropAge(object map[string]any) bool {
	m, _ := object["metadata"].(map[string]any)
	said := m["creationTimestamp"] != nil
	delete(m, "creationTimestamp")
	return said
}

// compileObject compiles an object, or what there is of it beside the values of
// wrong types; about those the schema has spoken.
func compileObject(object map[string]any, r *resource) (Object, field.ErrorList) {
	var o Object
	var errs field.ErrorList
	fit, _ := fitting(object, r.structural)
	fields, _ := fit.(map[string]any)
	if object["kind"] == v1alpha1.KindClusterHookPolicy {
		o.Cluster = &v1alpha1.ClusterHookPolicy{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, o.Cluster); err != nil {
			return o, unreadable(err)
		}
		o.Segment, o.Warnings, errs = CompileCluster(o.Cluster)
		return o, errs
	}
	o.Policy = &v1alpha1.HookPolicy{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, o.Policy); err != nil {
		return o, unreadable(err)
	}
	o.Segment, o.Warnings, errs = Compile(o.Policy)
	return o, errs
}

// unreadable is a safeguard: what fits the schema fits the types.
func unreadable(err error) field.ErrorList {
	return field.ErrorList{field.InternalError(field.NewPath("spec"), fmt.Errorf("cannot be read: %w", err))}
}

// merge joins what the schema and the compiler report. They overlap, for each
// checks all that it can: of two reports about one field the compiler's stays,
// which says more. But about a field of the wrong type, and what depends on
// it, only that is worth saying.
func merge(schema, compiler field.ErrorList) field.ErrorList {
	wrongType := make(map[string]bool)
	for _, err := range schema {
		if err.Type == field.ErrorTypeTypeInvalid {
			wrongType[err.Field] = true
		}
	}
	told := make(map[string]bool)
	var all field.ErrorList
	for _, err := range compiler {
		if !followsFrom(err, wrongType) {
			told[err.Field] = true
			all = append(all, err)
		}
	}
	var own field.ErrorList
	for _, err := range schema {
		if wrongType[err.Field] == (err.Type == field.ErrorTypeTypeInvalid) && !told[err.Field] {
			own = append(own, err)
		}
	}
	return append(own, all...)
}

// followsFrom reports whether an error is about a field of the wrong type or
// one beneath it, or misses what was left out because of it.
func followsFrom(err *field.Error, wrongType map[string]bool) bool {
	for name := range wrongType {
		if within(err.Field, name) || err.Type == field.ErrorTypeRequired && within(name, err.Field) {
			return true
		}
	}
	return false
}

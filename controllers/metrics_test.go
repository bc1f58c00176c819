package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/controllers"
)

func TestObjectsAreCountedByTheirConditions(t *testing.T) {
	policy := func(name, accepted string) *v1alpha1.HookPolicy {
		hp := &v1alpha1.HookPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
		if accepted != "" {
			hp.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionStatus(accepted)}}
		}
		return hp
	}
	got := counts(t, interceptor.Funcs{}, policy("a", "True"), policy("b", "True"), policy("c", "False"), policy("new", ""))
	want := map[string]float64{
		"HookPolicy Accepted True": 2, "HookPolicy Accepted False": 1, "HookPolicy Accepted Unknown": 1,
		"HookPolicy Programmed Unknown": 4, "HookPolicy Conflicted Unknown": 4,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts that are not zero (-want +got):\n%s", diff)
	}
}

func TestWhatCannotBeListedIsNotCountedAsNone(t *testing.T) {
	funcs := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, o ...client.ListOption) error {
		if _, ok := l.(*v1alpha1.HookPolicyList); ok {
			return errors.New("the cache has ended")
		}
		return c.List(ctx, l, o...)
	}}
	for series := range counts(t, funcs, &v1alpha1.HookPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "a"}}) {
		t.Errorf("there is a series %s", series)
	}
}

// counts collects and returns what is not zero.
func counts(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) map[string]float64 {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(funcs).Build()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(controllers.NewCollector(t.Context(), reader, "v1"))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	for _, f := range families {
		if f.GetName() != "hookpolicy_manager_objects" {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := make(map[string]string)
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if v := m.GetGauge().GetValue(); v != 0 {
				got[fmt.Sprintf("%s %s %s", labels["kind"], labels["condition"], labels["status"])] = v
			}
		}
	}
	return got
}

package v1alpha1_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
)

func TestASchemeKnowsTheKinds(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{
		v1alpha1.KindHookPolicy, v1alpha1.KindHookPolicy + "List",
		v1alpha1.KindClusterHookPolicy, v1alpha1.KindClusterHookPolicy + "List",
	} {
		if !scheme.Recognizes(v1alpha1.SchemeGroupVersion.WithKind(kind)) {
			t.Errorf("%s is unknown", kind)
		}
	}
}

// TestAnEmptySpecStays: the schema requires a spec, and an empty one means the
// built-in hooks, so it must not vanish on the way to the API server.
func TestAnEmptySpecStays(t *testing.T) {
	text, err := json.Marshal(&v1alpha1.HookPolicy{})
	if err != nil || string(text) != `{"spec":{}}` {
		t.Errorf("got %s, %v", text, err)
	}
}

func TestWhatARewriteSetsIsKeptAsItIs(t *testing.T) {
	const text = `{"name":"h","rewrite":{"tools":["t"],"set":{"a.b":[1.50,null,{"c":12345678901234567890}],"read_only":true}}}`
	var h v1alpha1.Hook
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(h.DeepCopy())
	if err != nil || string(again) != text {
		t.Errorf("got %s, %v", again, err)
	}
}

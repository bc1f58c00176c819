package policy_test

import (
	"errors"
	"path"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/argpath"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/policy"
	"github.com/hookpolicy/hookpolicy/internal/toolname"
)

// FuzzParse: any file is either refused as a whole, with reasons, or gives
// segments whose plans can be run.
func FuzzParse(f *testing.F) {
	for _, data := range policyFiles(f) {
		f.Add(data)
	}
	f.Add([]byte(document("HookPolicy", "{hooks: [{name: a, rewrite: {tools: [t], set: {a: &x [1], b: *x}}}]}")))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("--- {}\n--- []\n...\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		objects, err := policy.Parse(t.Context(), "f", data)
		if err != nil {
			if invalid, ok := errors.AsType[*policy.InvalidError](err); !ok || len(invalid.Problems) == 0 || len(objects) > 0 {
				t.Fatalf("%d objects and %v", len(objects), err)
			}
			return
		}
		for _, o := range objects {
			if (o.Policy == nil) == (o.Cluster == nil) {
				t.Fatal("an object that is not one policy")
			}
			checkSegment(t, o.Segment)
		}
	})
}

// FuzzCompile: what reaches the compiler without a schema before it is held to
// the same rules.
func FuzzCompile(f *testing.F) {
	f.Add("t", "sql", "a", "[a-z]+", "/data/a", "InsertStmt", "Deny", `{"x": 1}`, int32(5))
	f.Add("", `a\`, "x[*]", "(", "/", "DropdbStmt", "Allow", "null", int32(-1))
	f.Add("mcp__a__b", `\x.y`, "confirm_destructive", "a)|(b", "/proc/1/root", "", "", "{", int32(1<<30))
	f.Fuzz(func(t *testing.T, tool, judged, data, pattern, root, statement, decision, set string, number int32) {
		d := v1alpha1.Declarations{
			Arguments: []v1alpha1.Argument{{Tool: tool, Path: judged}},
			Data:      []v1alpha1.Datum{{Argument: v1alpha1.Argument{Tool: tool, Path: data}, Type: v1alpha1.DataTypeString, Pattern: pattern}},
		}
		hp := &v1alpha1.HookPolicy{}
		hp.Name, hp.Namespace = "p", "n"
		hp.Spec.Approvals.MaxPending = number
		hp.Spec.Hooks = []v1alpha1.Hook{
			{Name: "a", TimeoutMilliseconds: number, PathAllowlist: &v1alpha1.PathAllowlist{Declarations: d, Roots: []string{root}}},
			{Name: "b", DestructiveSQL: &v1alpha1.DestructiveSQL{
				Declarations: d, MaxBytes: number,
				Overrides: []v1alpha1.Override{{Statement: statement, Decision: v1alpha1.Decision(decision)}},
			}},
			{Name: "c", Rewrite: &v1alpha1.Rewrite{Tools: []string{tool}, Set: &runtime.RawExtension{Raw: []byte(set)}}},
		}
		seg, _, errs := policy.Compile(hp)
		if (seg == nil) == (len(errs) == 0) {
			t.Fatalf("segment %v with errors %v", seg, errs)
		}
		if seg != nil {
			checkSegment(t, seg)
		}
	})
}

// checkSegment holds a segment to what chain and hooks rely on.
func checkSegment(t *testing.T, seg *plan.Segment) {
	t.Helper()
	if a := seg.Approvals; min(a.TimeoutHighSeconds, a.TimeoutMediumSeconds, a.UseWithinSeconds, a.MinimumApprovers, a.MaxPending) < 1 {
		t.Errorf("approvals %+v", a)
	}
	for _, h := range seg.Hooks {
		if h.TimeoutMilliseconds < 1 || h.TimeoutMilliseconds > 30_000 || len(h.Tools) == 0 && !h.AllTools {
			t.Errorf("hook %+v", h)
		}
		for _, tool := range h.Tools {
			if !toolname.Valid(tool) {
				t.Errorf("tool %q can never be called", tool)
			}
		}
		paths := append([]string(nil), h.Sets...)
		for _, g := range h.Guards {
			if len(g.Judged) == 0 {
				t.Errorf("tool %q is guarded and not judged", g.Tool)
			}
			paths = append(paths, g.Judged...)
			for _, d := range g.Data {
				paths = append(paths, d.Path)
			}
		}
		for _, p := range paths {
			parsed, err := argpath.Parse(p)
			if err != nil || parsed.Root() == "confirm_destructive" || parsed.Root() == "hook_approval" {
				t.Errorf("argument %q: %v", p, err)
			}
		}
		if h.PathAllowlist == nil {
			continue
		}
		for _, root := range h.PathAllowlist.Roots {
			if !path.IsAbs(root) || path.Clean(root) != root || root == "/" || strings.ContainsRune(root, 0) {
				t.Errorf("root %q", root)
			}
		}
	}
}

package paths_test

import (
	"path/filepath"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/hooks/paths"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

func TestAClassIsANameOnlyWhereTheFileSystemIsSeen(t *testing.T) {
	t.Parallel()
	dir := realTempDir(t)
	path := filepath.Join(dir, "report[1].csv")
	if err := writeFile(path, ""); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[plan.Resolve]chain.Effect{
		plan.ResolveService: chain.EffectAllow, plan.ResolveAgent: chain.EffectDeny, plan.ResolveLexical: chain.EffectDeny,
	} {
		h, err := paths.New(nil, hookFor(plan.PathAllowlist{Roots: []string{dir}, Resolve: mode}))
		if err != nil {
			t.Fatal(err)
		}
		call := &chain.Call{Tool: "kb_add_file", Args: map[string]any{"path": path}, Resolved: map[string]string{path: path}}
		if d, err := h.Decide(t.Context(), call); err != nil || d.Effect() != want {
			t.Errorf("%s: %v, %v", mode, d, err)
		}
	}
}

func TestAClassInARootIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := paths.New(nil, hookFor(plan.PathAllowlist{Roots: []string{"/data/[a]"}, Resolve: plan.ResolveLexical})); err == nil {
		t.Error("a root may be a pattern")
	}
}

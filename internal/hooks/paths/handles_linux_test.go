package paths_test

import (
	"os"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

func TestEveryHandleIsClosedHoweverAWalkEnds(t *testing.T) {
	dir := tree(t, "in/sub/a.txt", "in/leave -> ../out", "out/x", "in/loop -> loop", "in/null -> /dev/null", "in/abs -> $T/in/sub", "alias -> in")
	in := dir + "/in"
	h := newHook(t, plan.ResolveService, "", dir+"/alias", dir+"/none")
	before := openHandles(t)
	for _, path := range []string{
		"/sub/a.txt", "/sub/a.txt/", "/sub/a.txt/x", "/leave/x", "/loop", "/null", "/abs/../sub", "/sub/../../../..", "/new/x", "/new/..",
		"/" + strings.Repeat("sub/../", 500) + "sub",
	} {
		decide(t, h, tool, map[string]any{"path": in + path})
	}
	if after := openHandles(t); after != before {
		t.Errorf("%d handles are open, %d were before", after, before)
	}
}

func openHandles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("count open handles: %v", err)
	}
	return len(entries)
}

func TestDirectoriesBeyondTheDepthLimitAreDenied(t *testing.T) {
	dir := realTempDir(t)
	deep := dir + strings.Repeat("/d", 300)
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	h := newHook(t, plan.ResolveService, "", dir)
	wantPath(t, h, dir+strings.Repeat("/d", 200), dir+strings.Repeat("/d", 200))
	d := decide(t, h, tool, map[string]any{"path": deep})
	if deny, ok := d.(chain.Deny); !ok || deny.Rule != "path.unresolved.depth" {
		t.Errorf("decided %#v", d)
	}
}

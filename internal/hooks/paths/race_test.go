package paths_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/hooks/paths"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// While a directory is swapped for a link and back as fast as possible, a call
// is either denied or given a path that lies inside and holds no link.
func TestASwapDuringTheWalkNeverLeadsOutside(t *testing.T) {
	dir := tree(t, "in/docs/sub/a.txt", "in/link -> ../out", "out/sub/a.txt", "out/docs/sub/a.txt")
	in := dir + "/in"
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.Rename(in+"/docs", in+"/aside")
				_ = os.Rename(in+"/link", in+"/docs")
				_ = os.Rename(in+"/docs", in+"/link")
				_ = os.Rename(in+"/aside", in+"/docs")
			}
		}
	}()
	defer func() { close(stop); <-stopped }()

	h := newHook(t, plan.ResolveService, "", in)
	seen := make(map[string]int)
	for i := range 5_000 {
		args := map[string]any{"path": in + [...]string{"/docs/sub/a.txt", "/docs/sub/../../docs/sub/a.txt", "/docs/../in/docs/sub/a.txt"}[i%3]}
		d := decide(t, h, tool, args)
		if deny, ok := d.(chain.Deny); ok {
			seen[deny.Code]++
			continue
		}
		seen["passed"]++
		got, _ := effective(d, args)["path"].(string)
		if !strings.HasPrefix(got, in+"/") || got != filepath.Clean(got) || strings.HasPrefix(got, in+"/link") {
			t.Fatalf("the call passes with %q", got)
		}
	}
	if seen["passed"] == 0 || seen[paths.CodeOutside] == 0 {
		t.Logf("the swap was never met: %v", seen)
	}
}

// No text makes the hook pass a path that the kernel, asked afterwards in a
// tree that nobody changes, finds outside.
func FuzzNothingOutsidePasses(f *testing.F) {
	for _, seed := range []string{
		"/a.txt", "/leave/secret.txt", "/deep/../secret.txt", "/../out/secret.txt", "/sub/../new/x", "/top/etc/passwd", "/loop",
		"/back/a.txt", "x", "../out", "/\u2025/x", "/%2e%2e/x", "/top/proc/self/root", "//etc", "/gone/x",
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	dir := tree(f, "in/a.txt", "in/sub/b.txt", "in/secret.txt", "out/secret.txt", "out/deep/",
		"in/leave -> ../out", "in/deep -> $T/out/deep", "in/top -> /", "in/loop -> loop", "in/back -> ../in", "in/gone -> ../out/gone")
	in := dir + "/in"
	service := newHook(f, plan.ResolveService, in, in)
	lexical := newHook(f, plan.ResolveLexical, dir+"/out", dir+"/out") // holds no links
	f.Fuzz(func(t *testing.T, text string, relative bool) {
		for root, h := range map[string]chain.Hook{in: service, dir + "/out": lexical} {
			path := text
			if !relative {
				path = root + text
			}
			args := map[string]any{"path": path}
			d := decide(t, h, tool, args)
			if d.Effect() == chain.EffectDeny {
				continue
			}
			checkStable(t, h, tool, d)
			got, _ := effective(d, args)["path"].(string)
			if got != filepath.Clean(got) || got != root && !strings.HasPrefix(got, root+"/") {
				t.Fatalf("%q passes as %q", path, got)
			}
			if real, err := filepath.EvalSymlinks(got); err == nil && real != got {
				t.Fatalf("%q passes as %q, which is %q", path, got, real)
			} else if err != nil && !os.IsNotExist(err) && h == service {
				t.Fatalf("%q passes as %q: %v", path, got, err)
			}
			kernel, err := filepath.EvalSymlinks(path)
			if err == nil && h == service && strings.HasPrefix(path, "/") && kernel != got {
				t.Fatalf("%q passes as %q, but is %q", path, got, kernel)
			}
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	dir := tree(b, "in/docs/sub/a.txt", "in/link -> docs", "out/")
	in := dir + "/in"
	for _, bm := range []struct {
		name string
		mode plan.Resolve
		path string
	}{
		{"lexical", plan.ResolveLexical, in + "/docs/sub/a.txt"},
		{"agent", plan.ResolveAgent, in + "/docs/sub/a.txt"},
		{"service", plan.ResolveService, in + "/docs/sub/a.txt"},
		{"service through a link", plan.ResolveService, in + "/link/sub/a.txt"},
		{"service outside", plan.ResolveService, dir + "/out/x"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			h := newHook(b, bm.mode, "", in)
			call := &chain.Call{Tool: tool, Args: map[string]any{"path": bm.path}, Resolved: map[string]string{bm.path: bm.path}}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h.Decide(b.Context(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

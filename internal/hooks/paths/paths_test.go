package paths_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/hooks/paths"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

const tool = "kb_add_path"

func newHook(t testing.TB, mode plan.Resolve, workingDirectory string, roots ...string) chain.Hook {
	t.Helper()
	h, err := paths.New(nil, hookFor(plan.PathAllowlist{Roots: roots, WorkingDirectory: workingDirectory, Resolve: mode}))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// wantDeny checks a decision's code.
func wantDeny(t *testing.T, d chain.Decision, code string) {
	t.Helper()
	if deny, ok := d.(chain.Deny); !ok || deny.Code != code || deny.Message == "" || !strings.HasPrefix(deny.Rule, code) {
		t.Errorf("decided %#v, want Deny %s", d, code)
	}
}

// wantPath checks that the call passes with one path for its "path" argument.
func wantPath(t *testing.T, h chain.Hook, path, want string) {
	t.Helper()
	args := map[string]any{"path": path}
	d := decide(t, h, tool, args)
	if e := d.Effect(); e != chain.EffectAllow && e != chain.EffectRewrite {
		t.Fatalf("%q: decided %#v", path, d)
	}
	if got := effective(d, args)["path"]; got != want {
		t.Errorf("%q becomes %q, want %q", path, got, want)
	}
	checkStable(t, h, tool, d)
}

// tree makes files (names with a slash at the end are directories) and links
// ("name -> target") beneath a new directory.
func tree(t testing.TB, entries ...string) string {
	t.Helper()
	dir := realTempDir(t)
	for _, e := range entries {
		name, target, isLink := strings.Cut(e, " -> ")
		at := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		switch {
		case err != nil:
		case isLink:
			err = os.Symlink(strings.ReplaceAll(target, "$T", dir), at)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(at, 0o755)
		default:
			err = os.WriteFile(at, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestServiceWalksAsTheKernelDoes(t *testing.T) {
	dir := tree(t, "in/a.txt", "in/sub/b.txt", "out/secret.txt", "out/deep/", "in/secret.txt",
		"in/leave -> ../out", "in/deep -> ../out/deep", "in/abs -> $T/in/sub", "in/up -> sub/..", "in/home -> ../in", "back -> $T/in",
		"in/loop1 -> loop2", "in/loop2 -> loop1", "in/gone -> sub/later.txt", "in/slash -> a.txt/", "in/dirslash -> sub/",
		"in/odd -> sub/a*b", "in/proc -> /proc/self/root$T/in", "in/fd -> /dev/fd/0", "in/top -> /")
	in := dir + "/in"
	h := newHook(t, plan.ResolveService, in, in)
	for path, want := range map[string]string{
		"/a.txt": "/a.txt", "//a.txt": "/a.txt", "/./sub/.././a.txt": "/a.txt", "/sub/": "/sub", "": "", "/": "", "/sub/..": "",
		"/abs/b.txt": "/sub/b.txt", "/abs/../a.txt": "/a.txt", "/up/a.txt": "/a.txt", "/home/home/home/a.txt": "/a.txt",
		"/leave/../in/a.txt": "/a.txt", "/dirslash/b.txt": "/sub/b.txt", "/dirslash": "/sub",
		"/new.txt": "/new.txt", "/new/deeper/x": "/new/deeper/x", "/new/./x/": "/new/x", "/abs/new": "/sub/new", "/gone": "/sub/later.txt",
		"/../../" + filepath.Base(dir) + "/in/a.txt": "/a.txt",
	} {
		wantPath(t, h, in+path, in+want)
	}
	wantPath(t, h, dir+"/back/sub/b.txt", in+"/sub/b.txt")
	wantPath(t, h, "sub/b.txt", in+"/sub/b.txt")
	wantPath(t, h, ".", in)
	for path, code := range map[string]string{
		"/leave": paths.CodeOutside, "/leave/secret.txt": paths.CodeOutside, "/leave/new/x": paths.CodeOutside, "/..": paths.CodeOutside,
		"/deep/../secret.txt": paths.CodeOutside, // cleaned it would be in/secret.txt
		"/top/etc/passwd":     paths.CodeOutside,
		"/top":                paths.CodeOutside,
		"/loop1":              paths.CodeUnresolved, "/loop1/x": paths.CodeUnresolved,
		"/a.txt/": paths.CodeUnresolved, "/a.txt/.": paths.CodeUnresolved, "/a.txt/..": paths.CodeUnresolved, "/a.txt/x": paths.CodeUnresolved,
		"/slash": paths.CodeUnresolved, "/new/..": paths.CodeUnresolved, "/new/../a.txt": paths.CodeUnresolved, "/gone/../x": paths.CodeUnresolved,
		"/proc/a.txt": paths.CodeSpecial, "/fd": paths.CodeSpecial, "/top/proc/1/environ": paths.CodeSpecial, "/top/dev/null": paths.CodeSpecial,
		"/odd": paths.CodeForm,
	} {
		t.Run(path, func(t *testing.T) { wantDeny(t, decide(t, h, tool, map[string]any{"path": in + path}), code) })
	}
}

func TestLinksAreFollowedAsFarAsTheKernelWould(t *testing.T) {
	entries := []string{"l0"}
	for i := range 41 {
		entries = append(entries, fmt.Sprintf("l%d -> l%d", i+1, i))
	}
	dir := tree(t, entries...)
	h := newHook(t, plan.ResolveService, "", dir)
	wantPath(t, h, dir+"/l40", dir+"/l0")
	wantDeny(t, decide(t, h, tool, map[string]any{"path": dir + "/l41"}), paths.CodeUnresolved)
	if _, err := os.Stat(dir + "/l41"); err == nil {
		t.Error("the kernel follows 41 links")
	}
}

func TestADirectoryThatMayNotBeSearchedIsDenied(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may search every directory")
	}
	dir := tree(t, "closed/a.txt")
	if err := os.Chmod(dir+"/closed", 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir+"/closed", 0o700) })
	h := newHook(t, plan.ResolveService, "", dir)
	wantDeny(t, decide(t, h, tool, map[string]any{"path": dir + "/closed/a.txt"}), paths.CodeUnresolved)
}

func TestARootThatIsALinkHoldsWhatItLeadsTo(t *testing.T) {
	dir := tree(t, "real/a.txt", "real/sub/", "other/sub/", "alias -> real", "x -> other/sub")
	h := newHook(t, plan.ResolveService, "", dir+"/alias")
	wantPath(t, h, dir+"/alias/a.txt", dir+"/real/a.txt")
	wantPath(t, h, dir+"/real/a.txt", dir+"/real/a.txt")
	wantDeny(t, decide(t, h, tool, map[string]any{"path": dir + "/other"}), paths.CodeOutside)

	climbs := newHook(t, plan.ResolveService, "", dir+"/x/..") // other, not dir
	wantPath(t, climbs, dir+"/other/sub", dir+"/other/sub")
	wantDeny(t, decide(t, climbs, tool, map[string]any{"path": dir + "/real/a.txt"}), paths.CodeOutside)
}

func TestARootThatCannotBeSeenHoldsNothingUntilItAppears(t *testing.T) {
	dir := tree(t, "seen/a.txt")
	h := newHook(t, plan.ResolveService, "", dir+"/late", dir+"/seen")
	late := map[string]any{"path": dir + "/late/a.txt"}
	wantDeny(t, decide(t, h, tool, late), paths.CodeRootNotVisible)
	wantPath(t, h, dir+"/seen/a.txt", dir+"/seen/a.txt")
	if err := writeFile(dir+"/late/a.txt", ""); err != nil {
		t.Fatal(err)
	}
	if d := decide(t, h, tool, late); d.Effect() != chain.EffectAllow {
		t.Errorf("decided %#v once the root is there", d)
	}
}

func TestNoRootHoldsWhereProcessesAndDevicesAreShown(t *testing.T) {
	for _, mode := range []plan.Resolve{plan.ResolveService, plan.ResolveLexical, plan.ResolveAgent} {
		h := newHook(t, mode, "", "/")
		for _, path := range []string{
			"/proc/self/environ", "/proc", "/sys/kernel", "/dev/fd/3", "/dev/stdin", "/run/secrets/kubernetes.io/serviceaccount/token",
		} {
			call := &chain.Call{Tool: tool, Args: map[string]any{"path": path}, Resolved: map[string]string{path: path}}
			d, err := h.Decide(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			wantDeny(t, d, paths.CodeSpecial)
		}
	}
	lexical := newHook(t, plan.ResolveLexical, "", "/")
	wantDeny(t, decide(t, lexical, tool, map[string]any{"path": "/var/run/secrets/kubernetes.io/x"}), paths.CodeSpecial)
	wantPath(t, lexical, "/var/running", "/var/running")
}

func TestLexicalOnlyCleans(t *testing.T) {
	h := newHook(t, plan.ResolveLexical, "/data/a/in", "/data/a/", "/srv//up")
	for path, want := range map[string]string{
		"/data/a": "/data/a", "/data/a/": "/data/a", "/data/a/x/../y": "/data/a/y", "/data/b/../a/x": "/data/a/x",
		"x": "/data/a/in/x", "../x": "/data/a/x", ".": "/data/a/in", "/srv/up/x": "/srv/up/x",
	} {
		wantPath(t, h, path, want)
	}
	for _, path := range []string{"/", "/data", "/data/ab", "/data/a/../b", "/data/a/../../etc", "../..", "/srv/upper"} {
		wantDeny(t, decide(t, h, tool, map[string]any{"path": path}), paths.CodeOutside)
	}
}

func TestARelativePathNeedsAWorkingDirectory(t *testing.T) {
	for _, mode := range []plan.Resolve{plan.ResolveService, plan.ResolveLexical} {
		h := newHook(t, mode, "", t.TempDir())
		wantDeny(t, decide(t, h, tool, map[string]any{"path": "a.txt"}), paths.CodeRelative)
	}
}

func TestAgentIsHeldToWhatItResolved(t *testing.T) {
	h := newHook(t, plan.ResolveAgent, "", "/data/a")
	for name, tc := range map[string]struct {
		path     string
		resolved map[string]string
		want     string // the path, or the code of a Deny
	}{
		"resolved to itself":                {"/data/a/x", map[string]string{"/data/a/x": "/data/a/x"}, "/data/a/x"},
		"resolved to something else inside": {"/data/a/l", map[string]string{"/data/a/l": "/data/a/x"}, "/data/a/x"},
		"relative, resolved inside":         {"x", map[string]string{"x": "/data/a/x"}, "/data/a/x"},
		"from outside to inside":            {"/alias/x", map[string]string{"/alias/x": "/data/a/x"}, "/data/a/x"},
		"a result counts as resolved":       {"/data/a/x", map[string]string{"l": "/data/a/x"}, "/data/a/x"},
		"to outside":                        {"/data/a/l", map[string]string{"/data/a/l": "/etc/passwd"}, paths.CodeOutside},
		"not resolved":                      {"/data/a/x", nil, paths.CodeUnresolved},
		"another path resolved":             {"/data/a/x", map[string]string{"/data/a/y": "/data/a/y"}, paths.CodeUnresolved},
		"to a relative path":                {"x", map[string]string{"x": "x"}, paths.CodeUnresolved},
		"to nothing":                        {"/data/a/x", map[string]string{"/data/a/x": ""}, paths.CodeUnresolved},
		"to an unclean path":                {"x", map[string]string{"x": "/data/a/../a/x"}, paths.CodeUnresolved},
		"to a path with a slash at its end": {"x", map[string]string{"x": "/data/a/"}, paths.CodeUnresolved},
		"to a result that resolves further": {"x", map[string]string{"x": "/data/a/y", "/data/a/y": "/data/a/z"}, paths.CodeUnresolved},
		"to a path of odd form":             {"x", map[string]string{"x": "/data/a/*"}, paths.CodeForm},
		"of odd form, resolved inside":      {"~/x", map[string]string{"~/x": "/data/a/x"}, paths.CodeForm},
	} {
		t.Run(name, func(t *testing.T) {
			call := &chain.Call{Tool: tool, Args: map[string]any{"path": tc.path}, Resolved: tc.resolved}
			d, err := h.Decide(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(tc.want, "/") {
				wantDeny(t, d, tc.want)
				return
			}
			if got := effective(d, call.Args)["path"]; d.Effect() == chain.EffectDeny || got != tc.want {
				t.Fatalf("decided %#v", d)
			}
			call.Args = effective(d, call.Args)
			if again, err := h.Decide(t.Context(), call); err != nil || again.Effect() != chain.EffectAllow {
				t.Errorf("the rewritten call is decided %#v, error %v", again, err)
			}
		})
	}
}

func TestEveryPathOfACallIsJudged(t *testing.T) {
	h := newHook(t, plan.ResolveLexical, "", "/data")
	many := make([]any, paths.MaxPaths+1)
	for i := range many {
		many[i] = "/data/x"
	}
	for name, tc := range map[string]struct {
		args map[string]any
		code string // empty: it passes
		want map[string]any
	}{
		"nested arrays":           {args: map[string]any{"path": []any{"/data/./x", []any{"/data/y", []any{}}}}, want: map[string]any{"path": []any{"/data/x", []any{"/data/y", []any{}}}}},
		"members of objects":      {args: map[string]any{"files": []any{map[string]any{"path": "/data/x/", "n": nil}}}, want: map[string]any{"files": []any{map[string]any{"path": "/data/x", "n": nil}}}},
		"other arguments are not": {args: map[string]any{"path": "/data/x", "table": "/data/./y"}, want: map[string]any{"path": "/data/x", "table": "/data/./y"}},
		"as many as are allowed":  {args: map[string]any{"paths": many[1:]}, want: map[string]any{"paths": many[1:]}},
		"one too many":            {args: map[string]any{"paths": many}, code: paths.CodeTooMany},
		"one of two arguments":    {args: map[string]any{"path": "/data/x", "paths": []any{"/etc"}}, code: paths.CodeOutside},
		"the last of an array":    {args: map[string]any{"path": []any{"/data/x", []any{"/etc"}}}, code: paths.CodeOutside},
		"the form before the way": {args: map[string]any{"path": []any{"/etc", "/data/\x00"}}, code: paths.CodeForm},
		"none":                    {args: map[string]any{"table": "t"}, code: paths.CodeMissing},
		"no arguments":            {args: nil, code: paths.CodeMissing},
		"an empty array":          {args: map[string]any{"paths": []any{}}, code: paths.CodeMissing},
		"null":                    {args: map[string]any{"path": nil}, code: paths.CodeNotText},
		"a number in an array":    {args: map[string]any{"path": []any{"/data/x", true}}, code: paths.CodeNotText},
		"an object":               {args: map[string]any{"path": map[string]any{"path": "/data/x"}}, code: paths.CodeNotText},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(t, h, tool, tc.args)
			if tc.code != "" {
				wantDeny(t, d, tc.code)
				return
			}
			if diff := cmp.Diff(tc.want, effective(d, tc.args)); d.Effect() == chain.EffectDeny || diff != "" {
				t.Errorf("decided %#v (-want +got):\n%s", d, diff)
			}
			checkStable(t, h, tool, d)
		})
	}
}

func TestAToolWithoutDeclarationsIsDenied(t *testing.T) {
	h := newHook(t, plan.ResolveLexical, "", "/data")
	wantDeny(t, decide(t, h, "other", map[string]any{"path": "/data/x"}), paths.CodeMissing)
}

func TestFactsNameTheRootAndNoPath(t *testing.T) {
	dir := tree(t, "in/private-name.txt")
	h := newHook(t, plan.ResolveService, "", dir+"/in/")
	for _, path := range []string{dir + "/in/private-name.txt", dir + "/private-name.txt", "/private-name\x00"} {
		d := decide(t, h, tool, map[string]any{"path": path})
		if text := fmt.Sprintf("%#v", d); strings.Contains(text, "private-name") {
			t.Errorf("a decision holds the path: %s", text)
		}
		if allow, ok := d.(chain.Allow); ok {
			if diff := cmp.Diff([]any{dir + "/in/"}, allow.Facts["roots"]); diff != "" {
				t.Errorf("roots (-want +got):\n%s", diff)
			}
		}
	}
}

func TestACallThatWasGivenUpIsAnErrorAndNoDecision(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := newHook(t, plan.ResolveService, "", "/data")
	d, err := h.Decide(ctx, &chain.Call{Tool: tool, Args: map[string]any{"path": "/data/x"}})
	if d != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("decision %v, error %v", d, err)
	}
}

func TestNewReportsEverySettingThatCannotWork(t *testing.T) {
	h := hookFor(plan.PathAllowlist{Roots: []string{"data", "/proc/1", "/data/*"}, WorkingDirectory: "work", Resolve: "Guess"})
	h.Tools = append(h.Tools, "unguarded")
	h.Guards = append(h.Guards, plan.Guard{Tool: "odd", Judged: []string{"a..b"}}, plan.Guard{Tool: "idle"})
	_, err := paths.New(nil, h)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`root "data"`, `root "/proc/1"`, `root "/data/*"`, `workingDirectory "work"`, `mode "Guess"`, `"unguarded"`, `"a..b"`, `"idle"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not mention %s", err, want)
		}
	}
	for _, h := range []*plan.Hook{{}, hookFor(plan.PathAllowlist{Resolve: plan.ResolveLexical})} {
		if _, err := paths.New(nil, h); err == nil {
			t.Error("a hook without settings or roots was made")
		}
	}
}

package paths_test

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/hooks/paths"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// A row is one line of test/cases/paths*.jsonl.
type row struct {
	ID   string
	Call struct {
		Tool string
		Args map[string]any
	}
	Setup struct {
		Roots    []string
		CWD      string
		FS       []map[string]any
		ExpectAt string `json:"expect_at"`
	}
	Expect         string
	AlsoDefensible []string `json:"also_defensible"`
	Resolved       string
	Reason         string
}

// elsewhere are the rows that this hook cannot decide alone.
var elsewhere = map[string]string{
	"path-arg-shape-011":      "the chain refuses arguments that nobody declared",
	"path-arg-shape-012":      "the chain checks the type of data arguments",
	"path-hardlink-mount-003": "a bind mount needs privileges; to the hook it is a directory",
}

func TestEveryCaseIsDecidedAsExpected(t *testing.T) {
	for _, name := range []string{"paths.jsonl", "paths-more.jsonl"} {
		t.Run(name, func(t *testing.T) { decideCases(t, name) })
	}
}

func decideCases(t *testing.T, name string) {
	f, err := os.Open("../../../test/cases/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, rows := bufio.NewScanner(f), 0
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		dir := realTempDir(t)
		line := strings.ReplaceAll(lines.Text(), "$T", dir)
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		rows++
		t.Run(r.ID, func(t *testing.T) {
			switch {
			case elsewhere[r.ID] != "":
				t.Skip(elsewhere[r.ID])
			case r.Setup.ExpectAt == "tool-open":
				t.Skip("the tool's own open decides")
			}
			for _, entry := range r.Setup.FS {
				build(t, entry)
			}
			r.check(t)
		})
	}
	if err := lines.Err(); err != nil || rows == 0 {
		t.Fatalf("%d rows read: %v", rows, err)
	}
}

func (r *row) check(t *testing.T) {
	h, err := paths.New(nil, hookFor(plan.PathAllowlist{
		Roots: r.Setup.Roots, WorkingDirectory: r.Setup.CWD, Resolve: plan.ResolveService,
	}))
	if err != nil {
		if r.Expect != "Deny" {
			t.Fatalf("policy refused: %v", err)
		}
		return
	}
	d := decide(t, h, r.Call.Tool, r.Call.Args)
	got := string(d.Effect())
	if got == "Rewrite" && !slices.Contains(r.AlsoDefensible, "Rewrite") {
		got = "Allow" // to other arguments that mean the same
	}
	if got != r.Expect && !slices.Contains(r.AlsoDefensible, got) {
		t.Fatalf("%s (%s): decided %#v", r.Reason, r.Expect, d)
	}
	if args := effective(d, r.Call.Args); got == "Allow" && r.Resolved != "" && args["path"] != r.Resolved {
		t.Errorf("path becomes %q, want %q", args["path"], r.Resolved)
	}
	checkStable(t, h, r.Call.Tool, d)
}

// checkStable states the law that a rewritten call is allowed unchanged.
func checkStable(t *testing.T, h chain.Hook, tool string, d chain.Decision) {
	t.Helper()
	if rewrite, ok := d.(chain.Rewrite); ok {
		if again := decide(t, h, tool, rewrite.Args); again.Effect() != chain.EffectAllow {
			t.Errorf("the rewritten call is decided %#v", again)
		}
	}
}

// effective returns the arguments that the tool would run with.
func effective(d chain.Decision, args map[string]any) map[string]any {
	if rewrite, ok := d.(chain.Rewrite); ok {
		return rewrite.Args
	}
	return args
}

func decide(t testing.TB, h chain.Hook, tool string, args map[string]any) chain.Decision {
	t.Helper()
	before := strictjson.CloneObject(args)
	d, err := h.Decide(t.Context(), &chain.Call{Tool: tool, Args: args})
	if err != nil || d == nil {
		t.Fatalf("decision %v, error %v", d, err)
	}
	if !strictjson.Equal(before, args) {
		t.Fatal("the hook changed the call that it was given")
	}
	return d
}

// hookFor guards the tools of the cases.
func hookFor(s plan.PathAllowlist) *plan.Hook {
	h := &plan.Hook{Name: "paths", Kind: plan.KindPathAllowlist, PathAllowlist: &s}
	for _, tool := range []string{"db_export_csv", "db_import_csv", "kb_add_file", "kb_add_path"} {
		h.Tools = append(h.Tools, tool)
		h.Guards = append(h.Guards, plan.Guard{Tool: tool, Judged: []string{"path", "paths", "files[*].path"}, Undeclared: plan.VerdictDeny})
	}
	return h
}

// realTempDir is a new directory, named without links.
func realTempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// build makes one entry of a case's file system.
func build(t *testing.T, entry map[string]any) {
	t.Helper()
	text := func(key string) string { s, _ := entry[key].(string); return s }
	var err error
	switch {
	case text("dir") != "":
		err = os.MkdirAll(text("dir"), 0o755)
	case text("file") != "":
		err = writeFile(text("file"), text("text"))
	case text("zip") != "":
		err = writeFile(text("zip"), "PK")
	case text("symlink") != "":
		err = os.Symlink(text("to"), text("symlink"))
	case text("hardlink") != "":
		err = os.Link(text("to"), text("hardlink"))
	case text("fifo") != "":
		err = syscall.Mkfifo(text("fifo"), 0o600)
	case text("socket") != "":
		t.Chdir(filepath.Dir(text("socket"))) // a socket's own name must be short
		var l net.Listener
		if l, err = net.Listen("unix", filepath.Base(text("socket"))); err == nil {
			t.Cleanup(func() { l.Close() })
		}
	default:
		t.Fatalf("unknown entry %v", entry)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func writeFile(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o600)
}

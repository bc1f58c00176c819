package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// block is a fenced block of the README.
var block = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

func readme(t *testing.T, language string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range block.FindAllStringSubmatch(string(b), -1) {
		if m[1] == language {
			found = append(found, m[2])
		}
	}
	if len(found) == 0 {
		t.Fatalf("the README has no %s block", language)
	}
	return found
}

func TestThePolicyInTheReadmeIsTheOneThatIsTestedAndShown(t *testing.T) {
	var shown, tested, demo any
	quickstart, err := os.ReadFile(filepath.Join("..", "..", "test", "policies", "quickstart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []struct {
		text string
		into *any
	}{{readme(t, "yaml")[0], &shown}, {string(quickstart), &tested}, {demoPolicy, &demo}} {
		if err := yaml.Unmarshal([]byte(doc.text), doc.into); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(tested, shown); diff != "" {
		t.Errorf("README (-tested +shown):\n%s", diff)
	}
	if diff := cmp.Diff(tested, demo); diff != "" {
		t.Errorf("demo (-tested +demo):\n%s", diff)
	}
}

// TestTheCommandsOfTheReadmeWork runs them, in order, as a reader would. What
// make does, CI runs.
func TestTheCommandsOfTheReadmeWork(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "hookpolicy.yaml", readme(t, "yaml")[0])
	write(t, dir, "cases.jsonl", `{"id":"drop","call":{"tool":"db_query_sql","args":{"sql":"DROP TABLE t"}},"expect":"AskUser"}`)
	socket := socketPath(t)

	var p *process
	var id string
	for line := range strings.SplitSeq(strings.Join(readme(t, "console"), ""), "\n") {
		command, isCommand := strings.CutPrefix(line, "$ ")
		if command, _, _ = strings.Cut(command, "  #"); !isCommand || strings.HasPrefix(command, "make ") {
			continue
		}
		switch {
		case strings.HasPrefix(command, "bin/hookpolicy serve "):
			cmd := program(t, append(strings.Fields(command)[1:], "--listen", "127.0.0.1:0", "--admin-socket", socket)...)
			cmd.Dir = dir
			p = startProcess(t, cmd, filepath.Join(dir, "audit"))
		case strings.HasPrefix(command, "curl "):
			out := shell(t, dir, strings.ReplaceAll(command, "http://127.0.0.1:8181", p.url))
			m := regexp.MustCompile(`"id":"(ap-[a-z2-7]+)"`).FindStringSubmatch(out)
			if m == nil || !strings.Contains(out, `"decision":"AskUser"`) {
				t.Fatalf("%s\nprinted %s", command, out)
			}
			id = m[1]
		default:
			command = strings.ReplaceAll(command, "ap-…", id)
			if strings.Contains(command, "pending") || strings.Contains(command, "approve") {
				command += " --admin-socket " + socket
			}
			if out := shell(t, dir, strings.Replace(command, "bin/hookpolicy", `"$SELF"`, 1)); out == "" {
				t.Errorf("%s\nprinted nothing", command)
			}
		}
	}
	if id == "" {
		t.Fatal("the README asks about no call")
	}
	if err := p.stop(t); err != nil {
		t.Error(err)
	}
}

// shell runs a command line and returns what it printed; it must succeed.
func shell(t *testing.T, dir, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asProgram+"=1", "SELF="+self)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%v: %s", line, err, out)
	}
	return string(out)
}

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/kubetest"
)

// asProgram makes the test binary be the program: tests start real processes
// of what was compiled for them.
const asProgram = "HOOKPOLICY_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(cluster.Run(m))
}

// cluster is the API server of the tests that need one.
var cluster kubetest.Shared

// program is a command that runs the program as a process of its own.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// hookpolicy runs the program in this process and returns what it printed.
func hookpolicy(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return status, out.String(), errs.String()
}

// write puts a file into a directory of the test and returns its path.
func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// policyYAML is a HookPolicy of namespace customer-a with the given spec, each
// line of which is indented by two blanks.
func policyYAML(spec string) string {
	return "apiVersion: hookpolicy.dev/v1alpha1\nkind: HookPolicy\nmetadata: {name: p, namespace: customer-a}\nspec:\n" + spec
}

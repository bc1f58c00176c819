package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the pages that are generated from the program")

// TestReferencePage holds docs/reference/cli.md to the commands that exist.
func TestReferencePage(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reference", "cli.md")
	want := referencePage(newRootCommand())
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("the page is not what make docs writes (-program +page):\n%s", diff)
	}
}

func referencePage(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Command line\n\nWritten by `make docs` from the program itself.\n\n" + root.Long + "\n\n" +
		"Exit status: 0 if all is well; 1 if the answer is no or something went wrong; 2 if the command line makes no sense.\n")
	for _, cmd := range root.Commands() {
		describe(&b, cmd)
	}
	return b.String()
}

func describe(b *strings.Builder, cmd *cobra.Command) {
	if cmd.Hidden || cmd.Name() == "help" {
		return
	}
	if cmd.HasSubCommands() {
		for _, sub := range cmd.Commands() {
			describe(b, sub)
		}
		return
	}
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	path := strings.TrimSuffix(cmd.CommandPath(), " "+cmd.Name())
	fmt.Fprintf(b, "\n## %s\n\n```\n%s %s\n```\n\n%s\n", cmd.CommandPath(), path, cmd.Use, text)
	if cmd.Example != "" {
		fmt.Fprintf(b, "\n```console\n%s\n```\n", strings.TrimRight(cmd.Example, "\n"))
	}
	if !cmd.HasLocalFlags() {
		return
	}
	b.WriteString("\n| flag | meaning |\n| --- | --- |\n")
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value != "" {
			name += " " + value
		}
		if f.DefValue != "" && f.DefValue != "[]" && f.DefValue != "0" && f.DefValue != "0s" && f.Name != "replica" {
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(b, "| `%s` | %s |\n", name, strings.ReplaceAll(usage, "|", "\\|"))
	})
}

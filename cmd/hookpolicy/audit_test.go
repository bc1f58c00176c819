package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/audit/auditor"
)

// anchored runs a service with an anchor file, has it decide calls, and stops
// it.
func anchored(t *testing.T, dir string, calls int) (audit, file string) {
	t.Helper()
	audit, file = filepath.Join(dir, "audit"), filepath.Join(dir, "anchors.jsonl")
	p := serve(t, audit, write(t, dir, "p.yaml", readme(t, "yaml")[0]), "--anchor-file", file)
	for range calls {
		p.decide(t, `{"tool":"db_query_sql","args":{"sql":"DROP DATABASE x"}}`)
	}
	if err := p.stop(t); err != nil {
		t.Fatal(err)
	}
	return audit, file
}

func TestACutTailIsFoundWithTheAnchorFileAndKeepsTheServiceFromStarting(t *testing.T) {
	dir := t.TempDir()
	audit, _ := anchored(t, dir, 1)
	old := filepath.Join(t.TempDir(), "old")
	if err := os.CopyFS(old, os.DirFS(audit)); err != nil {
		t.Fatal(err)
	}
	audit, file := anchored(t, dir, 3)
	for _, anchor := range [][]string{nil, {"--anchor", file}} {
		if status, out, errs := hookpolicy(t, "", append([]string{"audit", "verify", audit}, anchor...)...); status != exitOK {
			t.Errorf("%s%s", out, errs)
		}
	}
	if status, _, _ := hookpolicy(t, "", "audit", "verify", old); status != exitOK {
		t.Error("an older copy contradicts itself") // which only the anchor file can
	}
	status, out, _ := hookpolicy(t, "", "audit", "verify", "--anchor", file, old)
	if status != exitFailed || !strings.Contains(out, "TRUNCATED anchored=") {
		t.Errorf("status %d: %s", status, out)
	}
	policy := filepath.Join(dir, "p.yaml")
	status, _, errs := hookpolicy(t, "", "serve", "--policy", policy, "--audit-dir", old, "--anchor-file", file, "--listen", "127.0.0.1:0", "--admin-socket", socketPath(t))
	if status != exitFailed || !strings.Contains(errs, "TRUNCATED anchored=") {
		t.Errorf("status %d: %s", status, errs)
	}
}

func TestVerifyTellsByItsStatus(t *testing.T) {
	dir := t.TempDir()
	audit, file := anchored(t, dir, 2)
	chain := filepath.Join(audit, "t", auditor.TenantID("customer-a/quickstart"), "log", "00000000000000000000.jsonl")
	text, err := os.ReadFile(chain)
	if err != nil {
		t.Fatal(err)
	}
	bad := bytes.Replace(text, []byte("Deny"), []byte("Duny"), 1)
	for name, tc := range map[string]struct {
		stdin  string
		args   []string
		status int
		says   string
	}{
		"one chain":                      {"", []string{chain}, exitOK, "good  customer-a/quickstart"},
		"standard input":                 {string(text), []string{"-"}, exitOK, "good  customer-a/quickstart"},
		"a changed one":                  {string(bad), []string{"-"}, exitFailed, "BAD   customer-a/quickstart: record_hash: -:3: record 2"},
		"as JSON":                        {string(bad), []string{"-", "-o", "json"}, exitFailed, `"reason":"record_hash"`},
		"nothing":                        {"", []string{"-"}, exitFailed, "empty"},
		"what is not there":              {"", []string{filepath.Join(dir, "none")}, exitUnreadable, "no such file"},
		"an anchor file that is missing": {"", []string{audit, "--anchor", filepath.Join(dir, "none")}, exitUnreadable, "no such file"},
		"an anchor file for a chain":     {"", []string{chain, "--anchor", file}, exitUnreadable, "whole log"},
		"an anchor file for input":       {"", []string{"-", "--anchor", file}, exitUsage, "whole log"},
		"another format":                 {"", []string{audit, "-o", "xml"}, exitUsage, "json"},
	} {
		status, out, errs := hookpolicy(t, tc.stdin, append([]string{"audit", "verify"}, tc.args...)...)
		if status != tc.status || !strings.Contains(out+errs, tc.says) {
			t.Errorf("%s: status %d\n%s%s", name, status, out, errs)
		}
	}
}

func TestShowFiltersRecords(t *testing.T) {
	audit, _ := anchored(t, t.TempDir(), 2)
	for name, tc := range map[string]struct {
		args   []string
		status int
		lines  int
		says   string
	}{
		"all":            {nil, exitOK, 5, "genesis"},
		"denials":        {[]string{"--decision", "Deny"}, exitOK, 2, "sql.forbidden"},
		"a tool":         {[]string{"--tool", "db_*", "--tenant", "customer-a/quickstart"}, exitOK, 2, "db_query_sql"},
		"a kind":         {[]string{"--kind", "policy", "-o", "json"}, exitOK, 1, `"record_hash"`},
		"the anchors":    {[]string{"--tenant", "_anchor", "--kind", "key"}, exitOK, 1, "_anchor"},
		"the last hour":  {[]string{"--since", "1h"}, exitOK, 5, ""},
		"the far future": {[]string{"--since", "2999-01-01T00:00:00Z"}, exitOK, 0, ""},
		"no time":        {[]string{"--since", "yesterday"}, exitUsage, 0, "--since"},
	} {
		status, out, errs := hookpolicy(t, "", append([]string{"audit", "show", audit}, tc.args...)...)
		if status != tc.status || strings.Count(out, "\n") != tc.lines || !strings.Contains(out+errs, tc.says) {
			t.Errorf("%s: status %d\n%s%s", name, status, out, errs)
		}
	}
}

// TestTheCommandsOfTheAuditPageWork runs them, in order, as a reader would.
func TestTheCommandsOfTheAuditPageWork(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil && os.Getenv("HOOKPOLICY_PYTHON") != "required" {
		t.Skip("there is no python3")
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "audit.md"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := filepath.Abs(filepath.Join("..", "..", "hack"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, file := anchored(t, dir, 2)
	var hashes string
	for _, m := range block.FindAllStringSubmatch(string(page), -1) {
		hashes = ""
		var setup string
		for line := range strings.SplitSeq(m[2], "\n") {
			command, isCommand := strings.CutPrefix(line, "$ ")
			if m[1] != "console" || !isCommand || strings.Contains(command, " serve ") {
				continue // anchored has run it
			}
			for from, to := range map[string]string{"bin/hookpolicy": `"$SELF"`, "/mnt/elsewhere/anchors.jsonl": file, "hack/verify": second + "/verify"} {
				command = strings.ReplaceAll(command, from, to)
			}
			if strings.HasPrefix(command, "line=") {
				setup = command + "; "
				continue
			}
			out := shell(t, dir, setup+command)
			if out == "" {
				t.Errorf("%s\nprinted nothing", command)
			}
			if setup != "" {
				if hashes != "" && hashes != out {
					t.Errorf("%s\nprinted %s, the command before %s", command, out, hashes)
				}
				hashes = out
			}
		}
	}
}

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestAskSaysWhetherTheToolMayRun(t *testing.T) {
	dir := t.TempDir()
	p := serve(t, filepath.Join(dir, "audit"), write(t, dir, "p.yaml", policyYAML(strict)))
	const harmless, destructive = `{"sql":"SELECT 1"}`, `{"sql":"DROP DATABASE customers"}`
	for name, c := range map[string]struct {
		args   []string
		status int
		says   string
	}{
		"an allowed call exits with 0":                   {[]string{"db_query_sql", harmless}, exitOK, `"Allow"`},
		"a denied call exits with 1":                     {[]string{"db_query_sql", destructive}, exitFailed, `"Deny"`},
		"an expected denial exits with 0":                {[]string{"--expect", "Deny", "db_query_sql", destructive}, exitOK, `"Deny"`},
		"an unexpected permission exits with 1":          {[]string{"--expect", "Deny", "db_query_sql", harmless}, exitFailed, `"Allow"`},
		"a held call may not run":                        {[]string{"db_query_sql", `{"sql":"DELETE FROM orders"}`}, exitFailed, `"AskUser"`},
		"arguments that are no JSON are a usage error":   {[]string{"db_query_sql", "SELECT 1"}, exitUsage, "ARGS"},
		"an unknown expectation is a usage error":        {[]string{"--expect", "allow", "db_query_sql"}, exitUsage, "--expect"},
		"a missing tool is a usage error":                {nil, exitUsage, "TOOL"},
		"arguments that are no object are refused there": {[]string{"db_query_sql", "[]"}, exitFailed, `"Deny"`},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := hookpolicy(t, "", append([]string{"ask", "--url", p.url}, c.args...)...)
			if status != c.status || !strings.Contains(out+errs, c.says) {
				t.Errorf("status %d, want %d and %s\n%s%s", status, c.status, c.says, out, errs)
			}
		})
	}
}

func TestAskNeverTakesSilenceForTheExpectedDenial(t *testing.T) {
	status, out, errs := hookpolicy(t, "", "ask", "--url", "http://127.0.0.1:1", "--expect", "Deny", "db_query_sql")
	if status != exitFailed || !strings.Contains(out, "client.unreachable") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
}

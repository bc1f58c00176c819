package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
)

const strict = "  unlistedTools: Deny\n"

func TestCheckSaysWhetherCasesAreDecidedAsExpected(t *testing.T) {
	const read, drop = `{"tool":"db_query_sql","args":{"sql":"SELECT 1"}}`, `{"tool":"db_query_sql","args":{"sql":"DROP TABLE t"}}`
	for name, tc := range map[string]struct {
		cases  string
		status int
		says   string
	}{
		"all as expected": {
			`{"id":"a","call":` + read + `,"expect":"Allow"}` + "\n" + `{"id":"b","call":` + drop + `,"expect":"AskUser"}`,
			exitOK, "2 cases: 2 as expected, 0 missed",
		},
		"one missed":                           {`{"id":"a","call":` + drop + `,"expect":"Allow"}`, exitFailed, "AskUser   Allow  <-- missed"},
		"another answer that will do":          {`{"id":"a","call":` + drop + `,"expect":"Deny","also_defensible":["AskUser"]}`, exitOK, "0 missed"},
		"nothing expected":                     {`{"id":"a","call":` + drop + `}`, exitOK, "0 missed, 1 only shown"},
		"blank lines and notes do no harm":     {"\n" + `{"id":"a","note":{"x":1},"call":` + read + `,"expect":"Allow"}` + "\n\n", exitOK, "1 cases: 1 as expected"},
		"a call that cannot be read is denied": {`{"id":"a","call":{"tool":"db_query_sql","args":{"sql":"SELECT 1","sql":"DROP TABLE t"}},"expect":"Deny"}`, exitOK, "request.duplicate_key"},
		"no case at all":                       {"\n", exitFailed, ""},
		"each case is decided as if it were the first": {
			strings.Repeat(`{"call":`+drop+`,"expect":"AskUser"}`+"\n", 50), exitOK, "50 as expected",
		},
	} {
		t.Run(name, func(t *testing.T) {
			policy := write(t, t.TempDir(), "p.yaml", policyYAML(strict))
			status, out, errs := hookpolicy(t, tc.cases, "check", "--policy", policy, "--cases", "-")
			if status != tc.status || !strings.Contains(out, tc.says) {
				t.Errorf("status %d, want %d and %q in:\n%s%s", status, tc.status, tc.says, out, errs)
			}
		})
	}
}

func TestCheckRefusesWhatItCannotUse(t *testing.T) {
	dir := t.TempDir()
	policy := write(t, dir, "p.yaml", policyYAML(strict))
	bad := write(t, dir, "bad.yaml", policyYAML("  enforcement: Sometimes\n  hooks: [{name: Bad Name}]\n"))
	cases := write(t, dir, "c.jsonl", "{\"id\":\"a\",\"call\":{}}\n{not json}\n")
	for name, tc := range map[string]struct {
		args   []string
		status int
		says   []string
	}{
		"no policy":              {[]string{"--cases", cases}, exitUsage, []string{"--policy"}},
		"no cases":               {[]string{"--policy", policy}, exitUsage, []string{"--cases"}},
		"unknown output":         {[]string{"--policy", policy, "--cases", cases, "-o", "xml"}, exitUsage, []string{"table or json"}},
		"unknown flag":           {[]string{"--polcy", policy}, exitUsage, []string{"polcy"}},
		"a line that is no JSON": {[]string{"--policy", policy, "--cases", cases}, exitFailed, []string{"line 2"}},
		"a missing file":         {[]string{"--policy", policy, "--cases", filepath.Join(dir, "none")}, exitFailed, []string{"none"}},
		"a bad policy, with every problem at once": {
			[]string{"--policy", bad, "--cases", cases}, exitFailed, []string{"spec.enforcement", "spec.hooks[0]", "bad.yaml"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, errs := hookpolicy(t, "", append([]string{"check"}, tc.args...)...)
			if status != tc.status {
				t.Errorf("status %d, want %d", status, tc.status)
			}
			for _, s := range tc.says {
				if !strings.Contains(errs, s) {
					t.Errorf("%q does not say %q", errs, s)
				}
			}
		})
	}
}

func TestCheckPrintsTheRecordThatTheAuditWouldHold(t *testing.T) {
	policy := write(t, t.TempDir(), "p.yaml", policyYAML(strict))
	in := `{"id":"a","call":{"tool":"db_query_sql","args":{"sql":"DELETE FROM t","params":{"password":"hunter2hunter2"}}}}`
	status, out, errs := hookpolicy(t, in, "check", "-p", policy, "-c", "-", "-o", "json")
	if status != exitOK {
		t.Fatal(errs)
	}
	var got checked
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.ID != "a" || got.Decision != decisionv1.AskUser || got.Code != "sql.destructive" || got.Hook != "destructive-sql" {
		t.Errorf("printed %+v", got)
	}
	var record struct{ Kind, Decision, Tool, Tenant, RecordHash string }
	if err := json.Unmarshal(got.Record, &record); err != nil {
		t.Fatal(err)
	}
	if record.Kind != "decision" || record.Decision != "AskUser" || record.Tool != "db_query_sql" || record.Tenant != "customer-a/p" {
		t.Errorf("record %s", got.Record)
	}
	if strings.Contains(out, "hunter2") {
		t.Error("a password is in what check prints as the record")
	}
}

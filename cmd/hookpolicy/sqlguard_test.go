package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

// sqlRow is a row of a table in docs/sql-guard.md: SQL, answer and code.
var sqlRow = regexp.MustCompile("(?m)^\\| `(.+?)` \\| (Allow|AskUser|Deny|Rewrite) \\| (?:`([a-z_.]+)` )?\\|$")

func TestThePageOnSQLSaysWhatIsDecided(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "sql-guard.md"))
	if err != nil {
		t.Fatal(err)
	}
	var policy string
	for _, m := range block.FindAllStringSubmatch(string(b), -1) {
		if m[1] == "yaml" {
			policy = m[2]
		}
		if m[1] == "sql" {
			checkSQL(t, m[2])
		}
	}
	var cases strings.Builder
	rows := sqlRow.FindAllStringSubmatch(string(b), -1)
	if len(rows) < 25 {
		t.Fatalf("%d rows found", len(rows))
	}
	for _, row := range rows {
		line, err := json.Marshal(map[string]any{
			"id": row[1], "expect": row[2], "call": map[string]any{"tool": "db_query_sql", "args": map[string]any{"sql": row[1]}},
		})
		if err != nil {
			t.Fatal(err)
		}
		cases.Write(append(line, '\n'))
	}
	status, out, errs := hookpolicy(t, cases.String(), "check", "--policy", write(t, t.TempDir(), "p.yaml", policy), "--cases", "-", "-o", "json")
	if status != exitOK {
		t.Errorf("status %d:\n%s%s", status, out, errs)
	}
	for i, line := range strings.Split(strings.TrimSpace(out), "\n") {
		var got checked
		if i >= len(rows) || json.Unmarshal([]byte(line), &got) != nil {
			break
		}
		if string(got.Decision) != rows[i][2] || rows[i][3] != "" && got.Code != rows[i][3] {
			t.Errorf("%s: %s %s, the page says %s %s", rows[i][1], got.Decision, got.Code, rows[i][2], rows[i][3])
		}
	}
}

// checkSQL holds the SQL of the page to the grammar.
func checkSQL(t *testing.T, text string) {
	t.Helper()
	c, err := sqlclass.New(sqlclass.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.Classify(t.Context(), text, 0); err != nil || r.Code != "" {
		t.Errorf("the SQL of the page is %+v, %v", r, err)
	}
}

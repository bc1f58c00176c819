package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/plan"
)

func TestWhatAToolIsGuardedBy(t *testing.T) {
	any := func(path string) plan.Datum { return plan.Datum{Path: path, Type: plan.TypeAny} }
	for name, tc := range map[string]struct {
		spec string
		want []plan.Guard
	}{
		"no arguments: the founding tools": {
			hook("destructiveSQL", ""), foundingSQLGuards(),
		},
		"roots alone: the founding tools": {
			hook("pathAllowlist", "roots: [/a]"), foundingPathGuards(),
		},
		"a founding tool without data gets its usual data": {
			hook("destructiveSQL", "arguments: [{tool: db_query_sql, path: sql}]"), foundingSQLGuards(),
		},
		"a founding path tool without data has its paths judged too": {
			hook("pathAllowlist", "arguments: [{tool: kb_add_file, path: path}]"),
			[]plan.Guard{{
				Tool: "kb_add_file", Judged: []string{"path", "paths"}, Undeclared: plan.VerdictDeny,
				Data: []plan.Datum{{Path: "table", Type: plan.TypeIdentifier}},
			}},
		},
		"data that the policy gives replaces all of the usual": {
			hook("pathAllowlist", "arguments: [{tool: kb_add_file, path: path}], data: [{tool: kb_add_file, path: note}]"),
			[]plan.Guard{{Tool: "kb_add_file", Judged: []string{"path"}, Data: []plan.Datum{any("note")}, Undeclared: plan.VerdictDeny}},
		},
		"data replaces the usual for its own tool only": {
			hook("pathAllowlist", "arguments: [{tool: kb_add_file, path: path}, {tool: kb_add_path, path: path}], data: [{tool: kb_add_file, path: note}]"),
			[]plan.Guard{
				{Tool: "kb_add_file", Judged: []string{"path"}, Data: []plan.Datum{any("note")}, Undeclared: plan.VerdictDeny},
				{
					Tool: "kb_add_path", Judged: []string{"path", "paths"}, Undeclared: plan.VerdictDeny,
					Data: []plan.Datum{{Path: "table", Type: plan.TypeIdentifier}},
				},
			},
		},
		"what the policy judges is not data": {
			hook("destructiveSQL", "arguments: [{tool: db_query_sql, path: params}]"),
			[]plan.Guard{{
				Tool: "db_query_sql", Judged: []string{"params", "sql"}, Undeclared: plan.VerdictDeny,
				Data: []plan.Datum{{Path: "dry_run", Type: plan.TypeBoolean}, {Path: "read_only", Type: plan.TypeBoolean}, {Path: "table", Type: plan.TypeIdentifier}},
			}},
		},
		"a kind of hook knows its own tools only": {
			hook("pathAllowlist", "arguments: [{tool: db_query_sql, path: file}]"),
			[]plan.Guard{{Tool: "db_query_sql", Judged: []string{"file"}, Undeclared: plan.VerdictDeny}},
		},
		"another tool has what is declared": {
			hook("destructiveSQL", `undeclaredArguments: Allow, arguments: [{tool: run, path: "batch[*].sql"}], data: [{tool: run, path: id, type: string, pattern: "[a-z]+"}]`),
			[]plan.Guard{{
				Tool: "run", Judged: []string{"batch[*].sql"}, Undeclared: plan.VerdictAllow,
				Data: []plan.Datum{{Path: "id", Type: plan.TypeString, Pattern: "[a-z]+"}},
			}},
		},
		"a path is kept without needless backslashes": {
			hook("destructiveSQL", `arguments: [{tool: run, path: '\a\.b.c\[d\\'}]`),
			[]plan.Guard{{Tool: "run", Judged: []string{`a\.b.c\[d\\`}, Undeclared: plan.VerdictDeny}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := compiled(t, tc.spec).Hooks[0]
			if diff := cmp.Diff(tc.want, h.Guards); diff != "" {
				t.Errorf("guards (-want +got):\n%s", diff)
			}
			var tools []string
			for _, g := range h.Guards {
				tools = append(tools, g.Tool)
			}
			if !cmp.Equal(h.Tools, tools) {
				t.Errorf("tools %v, guarded %v", h.Tools, tools)
			}
		})
	}
}

func TestDeclarationsThatAreRefused(t *testing.T) {
	const at = "spec.hooks[0].destructiveSQL."
	sql := func(fields string) string { return hook("destructiveSQL", fields) }
	arg := func(tool, path string) string {
		return sql(fmt.Sprintf("arguments: [{tool: %q, path: %q}]", tool, path))
	}
	checkRefusals(t, map[string]refusal{
		"no tool":                       {arg("", "a"), at + "arguments[0].tool", "Required"},
		"a pattern of tools":            {arg("db_*", "a"), at + "arguments[0].tool", "wildcards are not supported"},
		"a tool with white space":       {arg("a b", "a"), at + "arguments[0].tool", "without white space"},
		"a tool with a control":         {arg("a\x01", "a"), at + "arguments[0].tool", "without white space"},
		"a tool with a zero-width":      {arg("a\u200b", "a"), at + "arguments[0].tool", "without white space"},
		"a tool with a filler":          {arg("a\u3164", "a"), at + "arguments[0].tool", "without white space"},
		"a tool that is too long":       {arg(strings.Repeat("é", 65), "a"), at + "arguments[0].tool", "Too long"},
		"no path":                       {arg("t", ""), at + "arguments[0].path", "Required"},
		"a path that ends in a dot":     {arg("t", "a."), at + "arguments[0].path", "missing after the last dot"},
		"a path with an index":          {arg("t", "a[0]"), at + "arguments[0].path", "only [*]"},
		"a path with a control":         {arg("t", "a\x00"), at + "arguments[0].path", "control"},
		"a path of too many steps":      {arg("t", strings.Repeat("a.", 16)+"a"), at + "arguments[0].path", "more than 16 steps"},
		"a path that is too long":       {arg("t", strings.Repeat("a", 257)), at + "arguments[0].path", "Too long"},
		"a reserved argument":           {arg("t", "confirm_destructive"), at + "arguments[0].path", "reserved"},
		"beneath a reserved argument":   {arg("t", "hook_approval.id"), at + "arguments[0].path", "reserved"},
		"a reserved name in disguise":   {arg("t", `hook\_approval`), at + "arguments[0].path", "reserved"},
		"judged twice":                  {sql("arguments: [{tool: t, path: a}, {tool: t, path: a}]"), at + "arguments[1]", "Duplicate"},
		"judged twice, otherwise spelt": {sql(`arguments: [{tool: t, path: a}, {tool: t, path: '\a'}]`), at + "arguments[1]", "Duplicate"},
		"judged and data":               {sql("arguments: [{tool: t, path: a}], data: [{tool: t, path: a}]"), at + "data[0]", "Duplicate"},
		"data of a tool not judged":     {sql("arguments: [{tool: t, path: a}], data: [{tool: u, path: b}]"), at + "data[0].tool", "judges no argument of this tool"},
		"data of an unknown type":       {sql("arguments: [{tool: t, path: a}], data: [{tool: t, path: b, type: date}]"), at + "data[0].type", "Unsupported"},
		"a pattern on a number":         {sql("arguments: [{tool: t, path: a}], data: [{tool: t, path: b, type: number, pattern: a}]"), at + "data[0].pattern", "needs type string"},
		"a pattern on anything":         {sql("arguments: [{tool: t, path: a}], data: [{tool: t, path: b, pattern: a}]"), at + "data[0].pattern", "needs type string"},
		"a pattern that is broken":      {sql(`arguments: [{tool: t, path: a}], data: [{tool: t, path: b, type: string, pattern: "("}]`), at + "data[0].pattern", "RE2 syntax: missing closing )"},
		"a pattern that looks ahead":    {sql(`arguments: [{tool: t, path: a}], data: [{tool: t, path: b, type: string, pattern: "(?=a)"}]`), at + "data[0].pattern", "RE2 syntax"},
		"a pattern that escapes":        {sql(`arguments: [{tool: t, path: a}], data: [{tool: t, path: b, type: string, pattern: "a)|(b"}]`), at + "data[0].pattern", "RE2 syntax"},
		"an answer that does not exist": {sql("undeclaredArguments: Ask"), at + "undeclaredArguments", `"Deny", "Allow"`},
	})
}

package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/plan"
)

func TestWhatSQLMayNameReachesThePlan(t *testing.T) {
	got := compiled(t, hook("destructiveSQL", `dialect: postgres, functions: [{name: st_*, class: read}, {name: app.purge, class: destructive}],
    tables: {allow: [sales.*, orders], deny: ['"Secrets"']}, requireWhere: [Update, Delete]`)).Hooks[0].DestructiveSQL
	want := &plan.DestructiveSQL{
		Dialect: plan.DialectPostgres, MaxBytes: 16384, UnknownFunctions: plan.VerdictAsk,
		Functions:    []plan.SQLFunction{{Name: "app.purge", Class: "destructive"}, {Name: "st_*", Class: "read"}},
		Tables:       &plan.SQLTables{Allow: []string{"orders", "sales.*"}, Deny: []string{`"Secrets"`}, SearchPath: []string{"public"}},
		RequireWhere: []string{plan.WhereDelete, plan.WhereUpdate},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = compiled(t, hook("destructiveSQL", "tables: {deny: [a], searchPath: [b, a]}")).Hooks[0].DestructiveSQL
	if want := []string{"b", "a"}; !cmp.Equal(got.Tables.SearchPath, want) {
		t.Errorf("search path %q, want %q in this order", got.Tables.SearchPath, want)
	}
}

func TestWhatSQLMayNameThatIsRefused(t *testing.T) {
	const at = "spec.hooks[0].destructiveSQL."
	with := func(fields string) string { return hook("destructiveSQL", fields) }
	checkRefusals(t, map[string]refusal{
		"another dialect":              {with("dialect: mysql"), at + "dialect", `"postgres"`},
		"a function without a class":   {with("functions: [{name: f}]"), at + "functions[0].class", "one of"},
		"a class that there is not":    {with("functions: [{name: f, class: pure}]"), at + "functions[0].class", `"read"`},
		"a function of three parts":    {with("functions: [{name: a.b.c, class: read}]"), at + "functions[0].name", "more parts"},
		"a function with brackets":     {with(`functions: [{name: "f (x)", class: read}]`), at + "functions[0].name", "no dot"},
		"tables that are not bounded":  {with("tables: {}"), at + "tables", "allow, deny or both"},
		"a table without a name":       {with(`tables: {allow: ["a."]}`), at + "tables.allow[0]", "empty"},
		"a quotation mark left open":   {with(`tables: {deny: ['"a']}`), at + "tables.deny[0]", "not closed"},
		"an invisible character":       {with(`tables: {deny: ["a\u200b"]}`), at + "tables.deny[0]", "invisible"},
		"a table twice":                {with("tables: {deny: [a, a]}"), at + "tables.deny[1]", "Duplicate"},
		"a name that is too long":      {with("tables: {deny: [" + strings.Repeat("a", 257) + "]}"), at + "tables.deny[0]", "Too long"},
		"a search path with wildcards": {with(`tables: {deny: [a], searchPath: ["*"]}`), at + "tables.searchPath[0]", "one schema"},
		"the user's own schema":        {with(`tables: {deny: [a], searchPath: ["$user"]}`), at + "tables.searchPath[0]", "one schema"},
		"another statement":            {with("requireWhere: [Truncate]"), at + "requireWhere[0]", `"Update"`},
	})
}

func TestALimitOfRowsReachesThePlan(t *testing.T) {
	got := compiled(t, hook("rewrite", "tools: [db_query_sql], set: {read_only: true}, sqlLimit: {path: sql, max: 1000}")).Hooks[0]
	if want := (&plan.SQLLimit{Path: "sql", Max: 1000}); !cmp.Equal(got.Rewrite.SQLLimit, want) {
		t.Errorf("%+v, want %+v", got.Rewrite.SQLLimit, want)
	}
	if want := []string{"read_only"}; !cmp.Equal(got.Sets, want) {
		t.Errorf("sets %q, want %q: what is limited is not declared by that", got.Sets, want)
	}
}

func TestLimitsOfRowsThatAreRefused(t *testing.T) {
	const at = "spec.hooks[0].rewrite.sqlLimit."
	with := func(fields string) string { return hook("rewrite", "tools: [db_query_sql], "+fields) }
	checkRefusals(t, map[string]refusal{
		"no number":            {with("sqlLimit: {path: sql}"), at + "max", "how many rows"},
		"a negative number":    {with("sqlLimit: {path: sql, max: -1}"), at + "max", "between 1 and"},
		"too many":             {with("sqlLimit: {path: sql, max: 1000001}"), at + "max", "between 1 and"},
		"no path":              {with("sqlLimit: {max: 5}"), at + "path", "the name of an argument"},
		"what it sets, too":    {with(`set: {sql: "x"}, sqlLimit: {path: sql, max: 5}`), at + "path", "written by"},
		"what it removes, too": {with(`remove: [sql], sqlLimit: {path: sql, max: 5}`), at + "path", "written by"},
	})
}

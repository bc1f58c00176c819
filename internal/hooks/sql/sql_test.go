package sql_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/hooks/sql"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

func TestEveryJudgedArgumentMustBeTextAndEveryTextIsJudged(t *testing.T) {
	for name, tc := range map[string]struct {
		judged []string
		args   map[string]any
		want   chain.Effect
		code   string
	}{
		"missing":                         {nil, map[string]any{"query": "SELECT 1"}, chain.EffectDeny, sql.CodeMissing},
		"null":                            {nil, map[string]any{"sql": nil}, chain.EffectDeny, sql.CodeNotText},
		"a number":                        {nil, map[string]any{"sql": json.Number("1")}, chain.EffectDeny, sql.CodeNotText},
		"an object":                       {nil, map[string]any{"sql": map[string]any{"text": "SELECT 1"}}, chain.EffectDeny, sql.CodeNotText},
		"an empty list":                   {nil, map[string]any{"sql": []any{}}, chain.EffectDeny, sql.CodeMissing},
		"a list with something else":      {nil, map[string]any{"sql": []any{"SELECT 1", json.Number("1")}}, chain.EffectDeny, sql.CodeNotText},
		"a list within a list":            {nil, map[string]any{"sql": []any{[]any{"SELECT 1"}}}, chain.EffectDeny, sql.CodeNotText},
		"a list of reads":                 {nil, map[string]any{"sql": []any{"SELECT 1", "SELECT 2"}}, chain.EffectAllow, ""},
		"a list with a delete":            {nil, map[string]any{"sql": []any{"SELECT 1", "DELETE FROM t"}}, chain.EffectAskUser, sql.CodeDestructive},
		"a list whose last text is empty": {nil, map[string]any{"sql": []any{"DELETE FROM t", ""}}, chain.EffectDeny, "sql.empty"},
		"deep within":                     {[]string{"a.b[*].sql"}, map[string]any{"a": map[string]any{"b": []any{map[string]any{"sql": "SELECT 1"}, map[string]any{"sql": "DROP SCHEMA s"}}}}, chain.EffectDeny, "sql.forbidden"},
		"one of two arguments is missing": {[]string{"sql", "init"}, map[string]any{"sql": "SELECT 1"}, chain.EffectDeny, sql.CodeMissing},
		"the second argument is worse":    {[]string{"sql", "init"}, map[string]any{"sql": "SELECT 1", "init": "GRANT a TO b"}, chain.EffectAskUser, sql.CodeAdmin},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(t, newHook(t, plan.DestructiveSQL{}, tc.judged...), tc.args)
			if d.Effect() != tc.want || codeOf(d) != tc.code {
				t.Errorf("%s %q, want %s %q", d.Effect(), codeOf(d), tc.want, tc.code)
			}
		})
	}
}

func codeOf(d chain.Decision) string {
	switch d := d.(type) {
	case chain.Deny:
		return d.Code
	case chain.AskUser:
		return d.Code
	default:
		return ""
	}
}

func TestOverridesLoosenAskAndTightenAnythingButNeverLoosenDeny(t *testing.T) {
	class := func(c string, v plan.Verdict) plan.Override { return plan.Override{Class: c, Decision: v} }
	node := func(n string, v plan.Verdict) plan.Override { return plan.Override{Statement: n, Decision: v} }
	for name, tc := range map[string]struct {
		overrides []plan.Override
		text      string
		want      chain.Effect
	}{
		"a class is loosened":                          {[]plan.Override{class("destructive", plan.VerdictAllow)}, "DELETE FROM t", chain.EffectAllow},
		"another class is not":                         {[]plan.Override{class("destructive", plan.VerdictAllow)}, "GRANT a TO b", chain.EffectAskUser},
		"a statement is loosened":                      {[]plan.Override{node("UpdateStmt", plan.VerdictAllow)}, "UPDATE t SET a = 1", chain.EffectAllow},
		"what it holds is not":                         {[]plan.Override{node("UpdateStmt", plan.VerdictAllow)}, "WITH d AS (DELETE FROM t) UPDATE t SET a = 1", chain.EffectAskUser},
		"reading is tightened":                         {[]plan.Override{class("read", plan.VerdictAsk)}, "SELECT 1", chain.EffectAskUser},
		"an insert is tightened":                       {[]plan.Override{node("InsertStmt", plan.VerdictAsk)}, "INSERT INTO t VALUES (1)", chain.EffectAskUser},
		"an insert within a CTE is tightened too":      {[]plan.Override{node("InsertStmt", plan.VerdictDeny)}, "WITH i AS (INSERT INTO t VALUES (1)) SELECT 1", chain.EffectDeny},
		"a statement counts before its class":          {[]plan.Override{class("destructive", plan.VerdictAllow), node("DropStmt", plan.VerdictAsk)}, "DROP TABLE t", chain.EffectAskUser},
		"a class that is denied stays denied":          {[]plan.Override{class("destructive", plan.VerdictDeny), node("DropStmt", plan.VerdictAllow)}, "DROP TABLE t", chain.EffectDeny},
		"DROP SCHEMA stays denied":                     {[]plan.Override{node("DropStmt", plan.VerdictAllow), class("destructive", plan.VerdictAllow)}, "DROP SCHEMA s", chain.EffectDeny},
		"DROP DATABASE stays denied":                   {[]plan.Override{node("DropdbStmt", plan.VerdictAllow)}, "DROP DATABASE d", chain.EffectDeny},
		"COPY with a program stays denied":             {[]plan.Override{node("CopyStmt", plan.VerdictAllow)}, "COPY t TO PROGRAM 'x'", chain.EffectDeny},
		"a forbidden function stays denied":            {[]plan.Override{node("SelectStmt", plan.VerdictAllow), class("admin", plan.VerdictAllow)}, "SELECT pg_read_file('x')", chain.EffectDeny},
		"functions that act on the server are a class": {[]plan.Override{class("admin", plan.VerdictAllow)}, "SELECT setval('s', 1)", chain.EffectAllow},
		"a loosened statement does not loosen them":    {[]plan.Override{node("SelectStmt", plan.VerdictAllow)}, "SELECT setval('s', 1)", chain.EffectAskUser},
		"nor what holds credentials":                   {[]plan.Override{node("SelectStmt", plan.VerdictAllow)}, "SELECT * FROM pg_shadow", chain.EffectAskUser},
		"the stricter of two overrides of one thing":   {[]plan.Override{class("write", plan.VerdictDeny), class("write", plan.VerdictAllow)}, "INSERT INTO t VALUES (1)", chain.EffectDeny},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(t, newHook(t, plan.DestructiveSQL{Overrides: tc.overrides}), map[string]any{"sql": tc.text})
			if d.Effect() != tc.want {
				t.Errorf("%s, want %s: %+v", d.Effect(), tc.want, d)
			}
		})
	}
}

func TestUnknownFunctionsGetThePolicysAnswer(t *testing.T) {
	for verdict, want := range map[plan.Verdict]chain.Effect{
		plan.VerdictAllow: chain.EffectAllow, plan.VerdictAsk: chain.EffectAskUser, plan.VerdictDeny: chain.EffectDeny,
	} {
		h := newHook(t, plan.DestructiveSQL{UnknownFunctions: verdict})
		for _, text := range []string{"SELECT f()", "SELECT public.lower('x')", "SELECT 1 OPERATOR(s.+) 1", "CREATE TABLE t (a int DEFAULT f())"} {
			if d := decide(t, h, map[string]any{"sql": text}); d.Effect() != want {
				t.Errorf("%s under %s: %s, want %s", text, verdict, d.Effect(), want)
			}
		}
		if d := decide(t, h, map[string]any{"sql": "SELECT f(), pg_read_file('x')"}); d.Effect() != chain.EffectDeny {
			t.Errorf("a forbidden function beside an unknown one under %s: %s", verdict, d.Effect())
		}
	}
}

func TestAQuestionShowsTheWorstFirstAndEverything(t *testing.T) {
	d := decide(t, newHook(t, plan.DestructiveSQL{}), map[string]any{"sql": "DELETE FROM a WHERE id = 1; SELECT f(); DELETE FROM orders; GRANT x TO y"})
	q, ok := d.(chain.AskUser)
	if !ok {
		t.Fatalf("%s, want AskUser", d.Effect())
	}
	want := chain.AskUser{
		Code:   sql.CodeDestructive,
		Prompt: "The agent wants to run SQL: DELETE on orders WITHOUT WHERE: all rows, and 3 more",
		Details: []string{
			"DELETE on a with WHERE", "call of f, which is in no catalogue", "DELETE on orders WITHOUT WHERE: all rows", "change of who is a member of a role",
			"4 statements in all", "changes a, orders",
		},
		Risk: chain.RiskHigh,
	}
	q.Basis = chain.Basis{}
	if diff := cmp.Diff(want, q, cmp.AllowUnexported(chain.AskUser{})); diff != "" {
		t.Errorf("question (-want +got):\n%s", diff)
	}
}

func TestRiskFollowsWhatIsReached(t *testing.T) {
	h := newHook(t, plan.DestructiveSQL{})
	for text, want := range map[string]chain.Risk{
		"DELETE FROM t WHERE id = 1": chain.RiskMedium,
		"DELETE FROM t":              chain.RiskHigh,
		"DELETE FROM t WHERE true":   chain.RiskHigh,
		"TRUNCATE t":                 chain.RiskHigh,
		"ALTER TABLE t ADD a int":    chain.RiskMedium,
		"GRANT SELECT ON t TO bob":   chain.RiskHigh,
		"SELECT pg_reload_conf()":    chain.RiskHigh,
		"SELECT f()":                 chain.RiskMedium,
	} {
		q, ok := decide(t, h, map[string]any{"sql": text}).(chain.AskUser)
		if !ok || q.Risk != want {
			t.Errorf("%s: risk %q, want %q", text, q.Risk, want)
		}
	}
}

func TestFactsHoldNamesAndNoLiterals(t *testing.T) {
	d := decide(t, newHook(t, plan.DestructiveSQL{}), map[string]any{"sql": "UPDATE s.users SET token = 'canary' WHERE name = lower('canary')"})
	q := d.(chain.AskUser)
	want := map[string]any{
		"class":      "destructive",
		"statements": []any{map[string]any{"kind": "UpdateStmt", "class": "destructive"}},
		"findings":   []any{map[string]any{"node": "UpdateStmt", "class": "destructive", "text": "UPDATE of s.users with WHERE", "where": "present"}},
		"tables":     []any{map[string]any{"schema": "s", "name": "users", "access": "write"}},
		"functions":  []any{map[string]any{"name": "lower", "effect": "pure"}},
	}
	if diff := cmp.Diff(want, q.Facts); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	if q.Rule != "sql.class.destructive" {
		t.Errorf("rule %q", q.Rule)
	}
}

func TestRefusalsHelpTheAgentToSayItBetter(t *testing.T) {
	h := newHook(t, plan.DestructiveSQL{})
	for text, want := range map[string]string{
		"SELECT * FROM t WHERE id = :id": "$1",
		`\copy t from 'x'`:               "SQL statements only",
		"SELECT 1\x00":                   "NUL",
		"":                               "no statement",
		"DROP SCHEMA sales":              "DROP SCHEMA sales",
		"SELECT pg_read_file('canary')":  "pg_read_file",
	} {
		d, ok := decide(t, h, map[string]any{"sql": text}).(chain.Deny)
		if !ok || !strings.Contains(d.Message, want) || strings.Contains(d.Message, "canary") {
			t.Errorf("%q: message %q, want one with %q", text, d.Message, want)
		}
	}
}

func TestPolicyLimitsBoundTheText(t *testing.T) {
	h := newHook(t, plan.DestructiveSQL{MaxBytes: 100})
	if d := decide(t, h, map[string]any{"sql": "SELECT 1 -- " + strings.Repeat("x", 100)}); codeOf(d) != "sql.too_large" {
		t.Errorf("%s %q, want a refusal", d.Effect(), codeOf(d))
	}
}

func TestATextThatCouldNotBeJudgedIsAnErrorAndNoDecision(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d, err := newHook(t, plan.DestructiveSQL{}).Decide(ctx, &chain.Call{Tool: "db_query_sql", Args: map[string]any{"sql": "SELECT 1"}})
	if d != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("decision %v and error %v, want the context's", d, err)
	}
}

func TestAToolThatIsNotGuardedPasses(t *testing.T) {
	d, err := newHook(t, plan.DestructiveSQL{}).Decide(t.Context(), &chain.Call{Tool: "search", Args: map[string]any{"sql": "DROP TABLE t"}})
	if err != nil || d.Effect() != chain.EffectAllow {
		t.Errorf("%v, %v", d, err)
	}
}

func TestSettingsThatMeanNothingAreRefused(t *testing.T) {
	construct := sql.New(sql.Classifiers{plan.DialectPostgres: newClassifier(t)})
	good := plan.DestructiveSQL{Dialect: plan.DialectPostgres, MaxBytes: 100, UnknownFunctions: plan.VerdictAsk}
	with := func(o plan.Override) *plan.DestructiveSQL {
		s := good
		s.Overrides = []plan.Override{o}
		return &s
	}
	guard := []plan.Guard{{Tool: "t", Judged: []string{"sql"}}}
	for name, h := range map[string]plan.Hook{
		"no settings":                    {Guards: guard},
		"no answer to unknown functions": {Guards: guard, DestructiveSQL: &plan.DestructiveSQL{Dialect: plan.DialectPostgres, MaxBytes: 100}},
		"another dialect":                {Guards: guard, DestructiveSQL: &plan.DestructiveSQL{Dialect: "mysql", UnknownFunctions: plan.VerdictAsk}},
		"an override without a decision": {Guards: guard, DestructiveSQL: with(plan.Override{Class: "write"})},
		"an override of nothing":         {Guards: guard, DestructiveSQL: with(plan.Override{Decision: plan.VerdictAsk})},
		"an override of two things":      {Guards: guard, DestructiveSQL: with(plan.Override{Class: "write", Statement: "DropStmt", Decision: plan.VerdictAsk})},
		"an override of forbidden":       {Guards: guard, DestructiveSQL: with(plan.Override{Class: "forbidden", Decision: plan.VerdictAllow})},
		"an override of no statement":    {Guards: guard, DestructiveSQL: with(plan.Override{Statement: "Drop", Decision: plan.VerdictAsk})},
		"a tool without arguments":       {Guards: []plan.Guard{{Tool: "t"}}, DestructiveSQL: &good},
		"a path that is none":            {Guards: []plan.Guard{{Tool: "t", Judged: []string{"a..b"}}}, DestructiveSQL: &good},
	} {
		if _, err := construct(&plan.Segment{}, &h); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

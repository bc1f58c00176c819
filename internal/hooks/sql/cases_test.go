package sql_test

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/hooks/sql"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

type sqlCase struct {
	ID       string
	Category string
	Call     struct {
		Tool string
		Args map[string]any
	}
	Expect         string
	AlsoDefensible []string `json:"also_defensible"`
}

func (c *sqlCase) accepts(e chain.Effect) bool {
	return c.Expect == string(e) || slices.Contains(c.AlsoDefensible, string(e))
}

func readCases(t *testing.T, file string) []sqlCase {
	t.Helper()
	f, err := os.Open("../../../test/cases/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []sqlCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var c sqlCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		for name, v := range c.Call.Args {
			c.Call.Args[name] = generate(t, v)
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

// generate writes out the long texts that cases describe.
func generate(t *testing.T, v any) any {
	t.Helper()
	obj, ok := v.(map[string]any)
	if !ok || obj["$gen"] == nil {
		return v
	}
	gen := obj["$gen"].(map[string]any)
	if r, ok := gen["repeat"].([]any); ok {
		return r[0].(string) + strings.Repeat(r[1].(string), int(r[2].(float64))) + r[3].(string)
	}
	n := gen["nest"].([]any)
	levels := int(n[4].(float64))
	return n[0].(string) + strings.Repeat(n[1].(string), levels) + n[2].(string) + strings.Repeat(n[3].(string), levels)
}

func newClassifier(tb testing.TB) *sqlclass.Classifier {
	tb.Helper()
	c, err := sqlclass.New(sqlclass.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// newHook makes the hook with the founding tool's declarations.
func newHook(tb testing.TB, settings plan.DestructiveSQL, judged ...string) chain.Hook {
	tb.Helper()
	if judged == nil {
		judged = []string{"sql"}
	}
	if settings.MaxBytes == 0 {
		settings.MaxBytes = sqlclass.DefaultMaxBytes
	}
	if settings.UnknownFunctions == "" {
		settings.UnknownFunctions = plan.VerdictAsk
	}
	if settings.Dialect == "" {
		settings.Dialect = plan.DialectPostgres
	}
	h, err := sql.New(sql.Classifiers{plan.DialectPostgres: newClassifier(tb)})(&plan.Segment{}, &plan.Hook{
		Name: "no-accidents", Kind: plan.KindDestructiveSQL, Tools: []string{"db_query_sql"},
		Guards:         []plan.Guard{{Tool: "db_query_sql", Judged: judged, Undeclared: plan.VerdictDeny}},
		DestructiveSQL: &settings,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

func decide(tb testing.TB, h chain.Hook, args map[string]any) chain.Decision {
	tb.Helper()
	d, err := h.Decide(tb.Context(), &chain.Call{Tool: "db_query_sql", ToolAsCalled: "db_query_sql", Args: args})
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// Cases with other arguments than sql are about what the chain does with
// undeclared arguments and with consent: it has the tests.
func TestGivenCasesAreDecidedAsExpected(t *testing.T) {
	for _, file := range []string{"sql.jsonl", "sql-more.jsonl"} {
		t.Run(file, func(t *testing.T) { checkCases(t, file) })
	}
}

func checkCases(t *testing.T, file string) {
	h := newHook(t, plan.DestructiveSQL{})
	var unsafe, alarms, others, right int
	for _, c := range readCases(t, file) {
		if !slices.Equal(slices.Sorted(maps.Keys(c.Call.Args)), []string{"sql"}) {
			continue
		}
		d := decide(t, h, c.Call.Args)
		switch got := d.Effect(); {
		case c.accepts(got):
			right++
		case got == chain.EffectAllow:
			unsafe++
			t.Errorf("%s: unsafe Allow, want %s", c.ID, c.Expect)
		case c.Expect == string(chain.EffectAllow):
			alarms++
			t.Errorf("%s: false alarm: %+v", c.ID, d)
		default:
			others++
			t.Errorf("%s: %s, want %s: %+v", c.ID, got, c.Expect, d)
		}
	}
	t.Logf("%d right, %d unsafe Allow, %d false alarms, %d other", right, unsafe, alarms, others)
}

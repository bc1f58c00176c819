package sqlclass_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

func newClassifier(tb testing.TB) *sqlclass.Classifier {
	tb.Helper()
	c, err := sqlclass.New(sqlclass.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func classify(tb testing.TB, c *sqlclass.Classifier, text string) *sqlclass.Report {
	tb.Helper()
	r, err := c.Classify(tb.Context(), text, sqlclass.MaxBytes)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestTextsThatCannotBeJudgedAreForbiddenWithACode(t *testing.T) {
	c := newClassifier(t)
	nest := func(n int) string { return strings.Repeat("/*", n) + strings.Repeat("*/", n) }
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":                                 {"", sqlclass.CodeEmpty},
		"white space":                             {" \n\t", sqlclass.CodeEmpty},
		"semicolons":                              {";;", sqlclass.CodeEmpty},
		"a comment":                               {"-- DROP TABLE t", sqlclass.CodeEmpty},
		"a NUL before a second statement":         {"SELECT 1\x00; DROP TABLE t", sqlclass.CodeNUL},
		"a NUL at the start":                      {"\x00SELECT 1", sqlclass.CodeNUL},
		"a typing error":                          {"SELEC 1", sqlclass.CodeUnparseable},
		"invalid UTF-8 in a literal":              {"SELECT '\xff'", sqlclass.CodeUnparseable},
		"a byte order mark":                       {"\ufeffSELECT 1", sqlclass.CodeUnparseable},
		"one byte too many":                       {"SELECT 1 --" + strings.Repeat("x", sqlclass.MaxBytes), sqlclass.CodeTooLarge},
		"33 comments within each other":           {"SELECT 1" + nest(33), sqlclass.CodeCommentNesting},
		"33 comments after a quote in a comment":  {"SELECT 1 /* ' */ " + nest(33), sqlclass.CodeCommentNesting},
		"33 comments after an escaped quote":      {`SELECT E'\'' ` + nest(33), sqlclass.CodeCommentNesting},
		"33 comments after a dollar quote":        {"SELECT $a$ ' $a$ " + nest(33), sqlclass.CodeCommentNesting},
		"33 comments after a quote in a name":     {`SELECT "'" ` + nest(33), sqlclass.CodeCommentNesting},
		"33 comments after a backslash and quote": {`SELECT '\' ` + nest(33), sqlclass.CodeCommentNesting},
		"3,000 levels of operators":               {"SELECT 1" + strings.Repeat("+1", 3000), sqlclass.CodeTooDeep},
		"3,000 levels of brackets":                {"SELECT ARRAY" + strings.Repeat("[", 3000) + "1" + strings.Repeat("]", 3000), sqlclass.CodeTooDeep},
		"6,000 signs in a row":                    {"SELECT " + strings.Repeat("-+", 3000) + "1", sqlclass.CodeOperators},
		"5,000 comments in a row":                 {"SELECT 1" + strings.Repeat("/**/", 5000), sqlclass.CodeOperators},
		"4,000 levels of operators":               {"SELECT 1" + strings.Repeat("+1", 4000), sqlclass.CodeTooDeep},
		"a forbidden function after many reads":   {strings.Repeat("SELECT 1;", 3000) + "SELECT 1 x x", sqlclass.CodeUnparseable},
	} {
		t.Run(name, func(t *testing.T) {
			r := classify(t, c, tc.text)
			if r.Code != tc.want || r.Class != sqlclass.Forbidden {
				t.Errorf("code %q and class %s, want %q and forbidden", r.Code, r.Class, tc.want)
			}
		})
	}
}

func TestTextsJustWithinTheLimitsAreJudged(t *testing.T) {
	c := newClassifier(t)
	for name, text := range map[string]string{
		"32 comments within each other": "SELECT 1" + strings.Repeat("/*", 32) + strings.Repeat("*/", 32),
		"33 comment openings in a text": "SELECT '" + strings.Repeat("/*", 33) + "'",
		"many comments side by side":    "SELECT 1" + strings.Repeat(" /* x */", 2000),
		"a banner":                      "/" + strings.Repeat("*", 20000) + "/ SELECT 1 -- " + strings.Repeat("=", 5000),
		"1,500 levels of operators":     "SELECT 1" + strings.Repeat("+1", 1500),
		"a list of 7,000 numbers":       "SELECT 1 WHERE 1 IN (1" + strings.Repeat(",12", 7000) + ")",
		"3,000 rows":                    "INSERT INTO t VALUES (1,-1)" + strings.Repeat(",(1,-1)", 3000),
		"3,000 conditions":              "SELECT 1 WHERE a=1" + strings.Repeat(" OR a=1", 3000),
		"a CASE of 900 branches":        "SELECT CASE" + strings.Repeat(" WHEN a = 1 THEN b + 2 + c", 900) + " END",
		"3,000 statements":              strings.Repeat("SELECT 1;", 3000),
	} {
		t.Run(name, func(t *testing.T) {
			if r := classify(t, c, text); r.Code != "" || r.Class > sqlclass.Write {
				t.Errorf("code %q and class %s", r.Code, r.Class)
			}
		})
	}
}

// Each of these ends the process when the stack is too small for it.
func TestNoTextAtTheCeilingTakesTheProcessDown(t *testing.T) {
	c := newClassifier(t)
	fill := func(before, unit, after string) string {
		return before + strings.Repeat(unit, (sqlclass.MaxBytes-len(before)-len(after))/len(unit)) + after
	}
	nest := func(before, open, middle, shut string) string {
		n := (sqlclass.MaxBytes - len(before) - len(middle)) / (len(open) + len(shut))
		return before + strings.Repeat(open, n) + middle + strings.Repeat(shut, n)
	}
	chain := strings.Repeat("-1", 2700)
	for name, text := range map[string]string{
		"sums in brackets":        "SELECT (((((1" + strings.Repeat(chain+")", 5) + chain,
		"sums after a name":       "SELECT 1" + strings.Repeat(chain+"-x.and", 5) + chain,
		"sums after a range":      "SELECT 1" + strings.Repeat(chain+" BETWEEN 1 AND 2 ISNULL", 5) + chain,
		"later arguments":         nest("SELECT ", "f(1,", "1", ")-1"),
		"later columns":           nest("SELECT 1,", "(SELECT 1,", "1", ")-1"),
		"sums":                    fill("SELECT 1", "+1", ""),
		"casts":                   fill("SELECT 1", "::int", ""),
		"casts to short names":    fill("SELECT 1", "::a", ""),
		"unions":                  fill("SELECT 1", " UNION SELECT 1", ""),
		"short unions":            fill("SELECT", " UNION SELECT", ""),
		"parentheses":             nest("SELECT ", "(", "1", ")"),
		"parentheses of selects":  nest("", "(", "SELECT 1", ")"),
		"open parentheses":        fill("SELECT ", "(", ""),
		"open brackets":           fill("SELECT ARRAY", "[", ""),
		"arrays":                  nest("SELECT ARRAY", "[", "1", "]"),
		"negations":               fill("SELECT ", "NOT ", "true"),
		"minus signs":             fill("SELECT ", "- ", "a"),
		"cases":                   nest("SELECT ", "CASE WHEN a THEN ", "1", " END"),
		"case elses":              nest("SELECT ", "CASE WHEN a THEN b ELSE ", "1", " END"),
		"calls":                   nest("SELECT ", "f(", "1", ")"),
		"sub-selects":             nest("", "SELECT(", "SELECT 1", ")"),
		"sub-selects in FROM":     nest("", "SELECT FROM(", "SELECT", ")a"),
		"sub-selects in EXISTS":   nest("SELECT ", "EXISTS(SELECT ", "1", ")"),
		"CTEs":                    nest("", "WITH a AS(", "SELECT", ")SELECT"),
		"joins":                   fill("SELECT FROM a", " JOIN b ON c", ""),
		"natural joins":           fill("SELECT FROM a", " NATURAL JOIN b", ""),
		"joins in parentheses":    nest("SELECT FROM ", "(", "a", " JOIN b ON c)"),
		"indirections":            fill("SELECT a", ".b", ""),
		"subscripts":              fill("SELECT a", "[1]", ""),
		"comparisons":             fill("SELECT a", "=ANY(b)", ""),
		"null tests":              fill("SELECT a", " ISNULL", ""),
		"truth tests":             fill("SELECT a", " IS TRUE", ""),
		"collations":              fill("SELECT a", " COLLATE b", ""),
		"time zones":              fill("SELECT a", " AT TIME ZONE b", ""),
		"ranges":                  fill("SELECT a", " BETWEEN(1)AND(2)ISNULL", ""),
		"concatenations":          fill("SELECT a", "||a", ""),
		"comparisons, unfinished": fill("SELECT a", "<", ""),
		"list members":            fill("SELECT a", " IN(1)", ""),
		"rows":                    nest("SELECT ", "ROW(", "1", ")"),
		"casts in words":          nest("SELECT ", "CAST(", "1", " AS a)"),
		"coalesce":                nest("SELECT ", "COALESCE(", "1", ")"),
		"xml":                     nest("SELECT ", "xmlconcat(", "1", ")"),
		"ands and ors":            nest("SELECT ", "(a AND b OR ", "1", ")"),
		"statements":              fill("", "SELECT 1;", ""),
		"semicolons":              fill("", ";", ""),
		"comments":                fill("SELECT 1", "/**/", ""),
		"signs":                   fill("SELECT ", "-+", "1"),
		"signs, then a comment":   fill("SELECT ", "+-", "/* */1"),
		"signs and comments":      fill("SELECT 1", "+/**/", "1"),
		"operators":               fill("SELECT 1", "*/", "1"),
		"slashes in a comment":    fill("SELECT 1/*", "/", "*/"),
		"stars":                   fill("SELECT 1/*", "*", "*/"),
		"comments, open":          fill("", "/*", ""),
		"columns":                 fill("SELECT 1", ",1", ""),
		"tables":                  fill("SELECT FROM a", ",a", ""),
		"conditions":              fill("SELECT WHERE a", " AND a", ""),
		"functions, all new":      manyFunctions(),
		"quotes":                  fill("SELECT 1", "''", ""),
		"dollars":                 fill("SELECT ", "$a", ""),
	} {
		t.Run(name, func(t *testing.T) {
			if len(text) > sqlclass.MaxBytes {
				t.Fatalf("%d bytes", len(text))
			}
			classify(t, c, text)
		})
	}
}

func manyFunctions() string {
	var b strings.Builder
	b.WriteString("SELECT 1")
	for i := 0; b.Len() < sqlclass.MaxBytes-8; i++ {
		b.WriteString(",f" + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)) + "()")
	}
	return b.String()
}

func TestAContextThatIsOverIsAnErrorAndNoAnswer(t *testing.T) {
	c, err := sqlclass.New(sqlclass.Options{MaxParallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	free := sqlclass.OccupySlots(c)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := c.Classify(ctx, "SELECT 1", 0); !errors.Is(err, context.Canceled) || r != nil {
		t.Errorf("report %v and error %v, want the context's", r, err)
	}
	free()
	if _, err := c.Classify(ctx, "SELECT 1", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if r, err := c.Classify(t.Context(), "SELECT 1", 0); err != nil || r.Class != sqlclass.Read {
		t.Errorf("a freed parser was not used: %v, %v", r, err)
	}
}

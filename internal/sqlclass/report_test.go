package sqlclass_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

func TestAReportNamesWhatATextTouches(t *testing.T) {
	c := newClassifier(t)
	got := classify(t, c, `WITH orders AS (SELECT * FROM sales.orders WHERE note = 'secret')
		INSERT INTO archive SELECT lower(a) FROM orders JOIN "Log" ON true; DELETE FROM live`)
	want := &sqlclass.Report{
		Class:      sqlclass.Destructive,
		Statements: []sqlclass.Statement{{Node: "InsertStmt", Class: sqlclass.Write}, {Node: "DeleteStmt", Class: sqlclass.Destructive}},
		Count:      2,
		Findings: []sqlclass.Finding{
			{Node: "InsertStmt", Class: sqlclass.Write, Text: "INSERT into archive"},
			{Node: "SelectStmt", Class: sqlclass.Read},
			{Node: "DeleteStmt", Class: sqlclass.Destructive, Text: "DELETE on live WITHOUT WHERE: all rows", Where: sqlclass.WhereMissing, AllRows: true},
		},
		Tables: []sqlclass.Table{
			{Name: "archive", Write: true}, {Schema: "sales", Name: "orders"}, {Name: "Log"}, {Name: "live", Write: true},
		},
		Functions: []sqlclass.Function{{Name: "lower", Effect: "pure", Class: sqlclass.Read}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(sqlclass.Report{})); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestANameFromAWithClauseIsNoTableWithinItsScopeOnly(t *testing.T) {
	c := newClassifier(t)
	for text, want := range map[string][]sqlclass.Table{
		"WITH a AS (SELECT 1) SELECT * FROM a":                                 nil,
		"WITH a AS (SELECT * FROM a) SELECT * FROM a":                          {{Name: "a"}},
		"WITH RECURSIVE a AS (SELECT 1 UNION SELECT * FROM a) SELECT * FROM a": nil,
		"WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM b":  {{Name: "b"}},
		"SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) x, a":            {{Name: "a"}},
		"WITH a AS (SELECT 1) SELECT * FROM public.a":                          {{Schema: "public", Name: "a"}},
		"WITH a AS (SELECT 1) DELETE FROM a":                                   {{Name: "a", Write: true}},
	} {
		if diff := cmp.Diff(want, classify(t, c, text).Tables); diff != "" {
			t.Errorf("%s: tables (-want +got):\n%s", text, diff)
		}
	}
}

func TestAConditionThatIsAlwaysTrueCountsAsNone(t *testing.T) {
	c := newClassifier(t)
	for where, want := range map[string]sqlclass.Where{
		"":                                          sqlclass.WhereMissing,
		"WHERE true":                                sqlclass.WhereAlwaysTrue,
		"WHERE 1=1":                                 sqlclass.WhereAlwaysTrue,
		"WHERE 2 > 1":                               sqlclass.WhereAlwaysTrue,
		"WHERE 'a' = 'a'":                           sqlclass.WhereAlwaysTrue,
		"WHERE 'a' <> 'b'":                          sqlclass.WhereAlwaysTrue,
		"WHERE id = 3 OR 1 = 1":                     sqlclass.WhereAlwaysTrue,
		"WHERE (true AND 1 <= 1)":                   sqlclass.WhereAlwaysTrue,
		"WHERE NOT false":                           sqlclass.WhereAlwaysTrue,
		"WHERE id = id":                             sqlclass.WhereAlwaysTrue,
		"WHERE 't'::bool":                           sqlclass.WhereAlwaysTrue,
		"WHERE true IS TRUE":                        sqlclass.WhereAlwaysTrue,
		"WHERE NULL IS NULL":                        sqlclass.WhereAlwaysTrue,
		"WHERE 1 IS NOT NULL":                       sqlclass.WhereAlwaysTrue,
		"WHERE name LIKE '%'":                       sqlclass.WhereAlwaysTrue,
		"WHERE t.id = id":                           sqlclass.WhereAlwaysTrue,
		"WHERE id >= id":                            sqlclass.WhereAlwaysTrue,
		"WHERE id IS NOT DISTINCT FROM id":          sqlclass.WhereAlwaysTrue,
		"WHERE NOT (id <> id)":                      sqlclass.WhereAlwaysTrue,
		"WHERE NOT (1 = 2)":                         sqlclass.WhereAlwaysTrue,
		"WHERE NOT NOT true":                        sqlclass.WhereAlwaysTrue,
		"WHERE 1 + 1 = 2":                           sqlclass.WhereAlwaysTrue,
		"WHERE 1.0 = 1":                             sqlclass.WhereAlwaysTrue,
		"WHERE -1 < 0.5":                            sqlclass.WhereAlwaysTrue,
		"WHERE 0 = 0":                               sqlclass.WhereAlwaysTrue,
		"WHERE 1 IN (2, 1)":                         sqlclass.WhereAlwaysTrue,
		"WHERE 1 = ANY (ARRAY[1])":                  sqlclass.WhereAlwaysTrue,
		"WHERE 1 BETWEEN 0 AND 2":                   sqlclass.WhereAlwaysTrue,
		"WHERE id IN (id)":                          sqlclass.WhereAlwaysTrue,
		"WHERE (SELECT true)":                       sqlclass.WhereAlwaysTrue,
		"WHERE EXISTS (SELECT 1)":                   sqlclass.WhereAlwaysTrue,
		"WHERE coalesce(true, a)":                   sqlclass.WhereAlwaysTrue,
		"WHERE CASE WHEN a THEN true ELSE true END": sqlclass.WhereAlwaysTrue,
		"WHERE true = true":                         sqlclass.WhereAlwaysTrue,
		"WHERE true <> false":                       sqlclass.WhereAlwaysTrue,
		"WHERE 1::bool":                             sqlclass.WhereAlwaysTrue,
		"WHERE 'yes'":                               sqlclass.WhereAlwaysTrue,
		"WHERE id = 1 OR id <> 1":                   sqlclass.WhereAlwaysTrue,
		"WHERE id IS NULL OR id IS NOT NULL":        sqlclass.WhereAlwaysTrue,
		"WHERE a OR b OR NOT a":                     sqlclass.WhereAlwaysTrue,
		"WHERE $1 = $1":                             sqlclass.WhereAlwaysTrue,
		"WHERE now() > '2000-01-01'":                sqlclass.WhereConstant,
		"WHERE random() >= 0":                       sqlclass.WhereConstant,
		"WHERE $1":                                  sqlclass.WhereConstant,
		"WHERE length('a') = 1":                     sqlclass.WhereConstant,
		"WHERE CURRENT OF c":                        sqlclass.WherePresent,
		"WHERE a = b.a":                             sqlclass.WhereAlwaysTrue,
		"WHERE t.a = b.a":                           sqlclass.WherePresent,
		"WHERE id IN (SELECT id FROM old)":          sqlclass.WherePresent,
		"WHERE 'a' LIKE 'b%'":                       sqlclass.WhereConstant,
		"WHERE false = true":                        sqlclass.WherePresent,
		"WHERE id = 1 AND id = id":                  sqlclass.WherePresent,
		"WHERE id = 3":                              sqlclass.WherePresent,
		"WHERE id = 3 AND 1 = 1":                    sqlclass.WherePresent,
		"WHERE false":                               sqlclass.WherePresent,
		"WHERE 1 = 2":                               sqlclass.WherePresent,
		"WHERE NULL = NULL":                         sqlclass.WherePresent,
		"WHERE name NOT LIKE '%'":                   sqlclass.WherePresent,
		"WHERE name LIKE 'a%'":                      sqlclass.WherePresent,
		"WHERE id IN (SELECT id FROM bad)":          sqlclass.WherePresent,
		"WHERE a = b":                               sqlclass.WherePresent,
		"WHERE NOT (true AND 1 = 1 OR false)":       sqlclass.WherePresent,
	} {
		f := classify(t, c, "DELETE FROM t "+where).Findings[0]
		if f.Where != want || f.AllRows != (want != sqlclass.WherePresent) {
			t.Errorf("DELETE FROM t %s: condition %q, want %q", where, f.Where, want)
		}
	}
}

func TestPeopleReadWhatAStatementWillDo(t *testing.T) {
	c := newClassifier(t)
	for text, want := range map[string]string{
		"UPDATE users SET a = 1":                                       "UPDATE of users WITHOUT WHERE: all rows",
		"DELETE FROM s.orders WHERE id = 7":                            "DELETE on s.orders with WHERE",
		"DROP TABLE IF EXISTS a, s.b CASCADE":                          "DROP TABLE a, s.b CASCADE",
		"DROP FUNCTION f(int)":                                         "DROP FUNCTION f",
		"DROP POLICY p ON t":                                           "DROP POLICY t.p",
		"TRUNCATE a, b":                                                "TRUNCATE a, b: all rows",
		"ALTER TABLE t DROP COLUMN a, SET UNLOGGED":                    "ALTER TABLE t: drop column a, set un logged",
		"ALTER TABLE t RENAME COLUMN a TO b":                           "RENAME COLUMN t a to b",
		"DROP SCHEMA a, b CASCADE":                                     "DROP SCHEMA a, b CASCADE",
		"DROP DATABASE prod":                                           "DROP DATABASE prod",
		"DELETE FROM us\u0435rs WHERE id = 1":                          "DELETE on \"us\u0435rs\" (us\\u0435rs) with WHERE",
		"DELETE FROM \"a\u202eb\x1b[2J\" WHERE id = 1":                 `DELETE on "a\u202eb\x1b[2J" with WHERE`,
		"INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 2": "INSERT into t, and UPDATE of rows that are there",
		"GRANT SELECT ON t TO PUBLIC":                                  "GRANT of rights on TABLE t to everybody",
		"CREATE ROLE bob LOGIN PASSWORD 'hunter2'":                     "CREATE ROLE bob",
		"REFRESH MATERIALIZED VIEW mv":                                 "REFRESH MATERIALIZED VIEW mv",
		"SELECT setval('s', 1)":                                        "call of setval, which acts on the server, on other sessions or on stored data",
		"SELECT evil.f()":                                              "call of evil.f, which is in no catalogue",
	} {
		var texts []string
		for _, f := range classify(t, c, text).Findings {
			if f.Class > sqlclass.Write || f.Unknown {
				texts = append(texts, f.Text)
			}
		}
		if diff := cmp.Diff([]string{want}, texts); diff != "" {
			t.Errorf("%s: sentences (-want +got):\n%s", text, diff)
		}
	}
}

func TestNothingOfTheLiteralsIsInAReport(t *testing.T) {
	c := newClassifier(t)
	for _, text := range []string{
		"CREATE ROLE r PASSWORD 'canary'", "ALTER ROLE r PASSWORD 'canary'", "SELECT set_config('canary', 'canary', true)",
		"SET app.x = 'canary'", "COPY t TO 'canary'", "COPY t TO PROGRAM 'canary'", "COMMENT ON TABLE t IS 'canary'",
		"INSERT INTO t VALUES ('canary') ON CONFLICT (a) DO UPDATE SET a = 'canary'", "DO 'canary'", "LOAD 'canary'",
		"ALTER SYSTEM SET x = 'canary'", "CREATE USER MAPPING FOR u SERVER s OPTIONS (password 'canary')", "NOTIFY c, 'canary'",
		"CREATE SUBSCRIPTION s CONNECTION 'canary' PUBLICATION p", "PREPARE TRANSACTION 'canary'", "ALTER TYPE m RENAME VALUE 'canary' TO 'canary'",
		"CREATE FUNCTION f() RETURNS int LANGUAGE c AS 'canary', 'canary'", "SECURITY LABEL ON TABLE t IS 'canary'", "SELECT $canary$canary$canary$, pg_sleep('canary')",
		"DELETE FROM t WHERE a = 'canary' -- canary", "SELECT canary canary canary 'canary",
	} {
		r := classify(t, c, text)
		if strings.Contains(strings.ToLower(cmp.Diff(nil, r, cmpopts.IgnoreUnexported(sqlclass.Report{}))), "canary") {
			t.Errorf("%s: the report holds a literal: %+v", text, r)
		}
	}
}

// Lists of facts are bounded; classes are not.
func TestTheWorstCountsHoweverMuchStandsBeforeIt(t *testing.T) {
	c := newClassifier(t)
	for name, tc := range map[string]struct {
		text string
		want sqlclass.Class
	}{
		"a DROP SCHEMA after 2,000 reads":        {strings.Repeat("SELECT 1;", 2000) + "DROP SCHEMA public", sqlclass.Forbidden},
		"a DELETE after 500 inserts":             {strings.Repeat("INSERT INTO t VALUES (1);", 500) + "DELETE FROM t", sqlclass.Destructive},
		"a file function after 1,500 unknown":    {manyFunctions()[:10000] + "1(),pg_read_file('x')", sqlclass.Forbidden},
		"a TRUNCATE after 100 different deletes": {manyDeletes(100) + "TRUNCATE z", sqlclass.Destructive},
	} {
		t.Run(name, func(t *testing.T) {
			r := classify(t, c, tc.text)
			if r.Code != "" || r.Class != tc.want {
				t.Errorf("code %q and class %s, want class %s", r.Code, r.Class, tc.want)
			}
			if len(r.Statements) > sqlclass.MaxFacts || len(r.Functions) > sqlclass.MaxNames || len(r.Tables) > sqlclass.MaxNames || len(r.Findings) > 2*sqlclass.MaxFacts {
				t.Errorf("%d statements, %d functions, %d tables, %d findings", len(r.Statements), len(r.Functions), len(r.Tables), len(r.Findings))
			}
			last := r.Findings[len(r.Findings)-1]
			if strings.Contains(name, "TRUNCATE") && last.Node != "TruncateStmt" {
				t.Errorf("the last finding is %+v, want one of TruncateStmt", last)
			}
		})
	}
}

func manyDeletes(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("DELETE FROM t" + strings.Repeat("x", i%60) + strings.Repeat("y", i/60) + ";")
	}
	return b.String()
}

func TestTextsThatAreNoSQLGetACodeAndAHint(t *testing.T) {
	c := newClassifier(t)
	for text, want := range map[string][2]string{
		`\dt`:                                    {sqlclass.CodePsql, "psql"},
		`SELECT 1 \gexec`:                        {sqlclass.CodePsql, "psql"},
		`\copy t from 'x'`:                       {sqlclass.CodePsql, "psql"},
		"SELECT `a` FROM t":                      {sqlclass.CodeDialect, "double quotes"},
		"SELECT * FROM t WHERE id = :id":         {sqlclass.CodePlaceholder, "$1"},
		"SELECT * FROM t WHERE id = ?":           {sqlclass.CodePlaceholder, "$1"},
		"SELECT * FROM t WHERE id IN (?, ?)":     {sqlclass.CodePlaceholder, "$1"},
		"INSERT INTO t VALUES (?, ?)":            {sqlclass.CodePlaceholder, "$1"},
		"SELECT * FROM t WHERE id = %s":          {sqlclass.CodePlaceholder, "$1"},
		"SELECT * FROM t WHERE id = %s AND a= 1": {sqlclass.CodePlaceholder, "$1"},
		"SELECT * FROM t WHERE id = %(id)s":      {sqlclass.CodePlaceholder, "$1"},
		"SELECT %(id)s":                          {sqlclass.CodePlaceholder, "$1"},
		"DELETE FROM t WHERE id = %s":            {sqlclass.CodePlaceholder, "$1"},
		"SELECT * FROM {{ t }}":                  {sqlclass.CodePlaceholder, "$1"},
		"SELECT\u20031":                          {sqlclass.CodeUnparseable, "ASCII"},
		"USE prod":                               {sqlclass.CodeDialect, "PostgreSQL 16"},
		"SELECT TOP 5 * FROM t":                  {sqlclass.CodeDialect, "another database"},
		"SELECT * FRMO t WHERE a = '?:x'":        {sqlclass.CodeUnparseable, "PostgreSQL 16"},
	} {
		if r := classify(t, c, text); r.Code != want[0] || !strings.Contains(r.Hint, want[1]) {
			t.Errorf("%s: code %q and hint %q, want %q", text, r.Code, r.Hint, want)
		}
	}
	for _, text := range []string{"SELECT 5 % s, a ? 'b', '%s', $1, a %% 2 FROM t", "SELECT a[1:n] FROM t", "SELECT ':x', \"?\" FROM t"} {
		if r := classify(t, c, text); r.Code != "" {
			t.Errorf("%s: %s", text, r.Code)
		}
	}
}

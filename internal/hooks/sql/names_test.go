package sql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/hooks/sql"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

func text(s string) map[string]any { return map[string]any{"sql": s} }

func TestTablesThatAreNotAllowedAreDeniedWhereverTheyAreNamed(t *testing.T) {
	h := newHook(t, plan.DestructiveSQL{Tables: &plan.SQLTables{
		Allow: []string{"orders", "sales.*", "pg_catalog.*", `public."Log"`}, Deny: []string{"sales.salaries", "pg_catalog.pg_stats"}, SearchPath: []string{"public"},
	}, Overrides: []plan.Override{{Class: "destructive", Decision: plan.VerdictAllow}, {Class: "admin", Decision: plan.VerdictAllow}}})
	for _, s := range []string{
		"SELECT * FROM secrets", "SELECT * FROM private.orders", "SELECT * FROM sales.salaries", `SELECT * FROM "Orders"`, `SELECT * FROM log`,
		"TABLE secrets", "SELECT 1 FROM orders o JOIN secrets s ON true", "SELECT (SELECT a FROM secrets)", "WITH orders AS (SELECT * FROM secrets) SELECT * FROM orders",
		"WITH secrets AS (SELECT 1) SELECT * FROM public.secrets", "WITH x AS (SELECT 1) DELETE FROM x WHERE a = 1", "SELECT * FROM (WITH secrets AS (SELECT 1) SELECT * FROM secrets) x, secrets",
		"INSERT INTO orders SELECT * FROM secrets", "UPDATE orders SET a = 1 FROM secrets WHERE true", "DELETE FROM orders USING secrets", "MERGE INTO orders USING secrets ON true WHEN MATCHED THEN DO NOTHING",
		"TRUNCATE orders, secrets", "DROP TABLE orders, secrets", "DROP INDEX secret_i", "DROP TRIGGER x ON secrets", "DROP POLICY p ON secrets", "ALTER TABLE secrets ADD a int",
		"COPY secrets TO STDOUT", "COPY secrets FROM STDIN", "COPY (SELECT * FROM secrets) TO STDOUT", "LOCK TABLE secrets", "CREATE INDEX ON secrets (a)",
		"CREATE TABLE sales.x (LIKE secrets)", "CREATE TABLE sales.x () INHERITS (secrets)", "CREATE TABLE sales.x (a int REFERENCES secrets)", "CREATE TABLE sales.x PARTITION OF secrets DEFAULT",
		"CREATE TABLE x (a int)", "CREATE TEMP TABLE orders (a int)", "SELECT 1 INTO x", "CREATE VIEW sales.v AS SELECT * FROM secrets", "ALTER TABLE sales.x INHERIT secrets",
		"ALTER TABLE sales.x ATTACH PARTITION secrets DEFAULT", "ALTER TABLE sales.x ADD FOREIGN KEY (a) REFERENCES secrets", "COMMENT ON TABLE secrets IS 'x'", "COMMENT ON COLUMN secrets.a IS 'x'",
		"GRANT SELECT ON secrets TO r", "SELECT 'secrets'::regclass", "SELECT regclass 'public.secrets'", "SELECT to_regclass('secrets')", "SELECT nextval('secrets_seq')", "SELECT setval('public.s', 1)",
		"SELECT pg_relation_size('secrets')", `SELECT table_to_xml('"secrets"', true, true, '')`, "CREATE TABLE sales.x (a int DEFAULT nextval('s'))", "ALTER SEQUENCE sales.s OWNED BY secrets.a",
		"EXPLAIN SELECT * FROM secrets", "EXPLAIN DELETE FROM secrets", "PREPARE q AS SELECT * FROM secrets", "DECLARE c CURSOR FOR SELECT * FROM secrets",
		"CREATE RULE r AS ON INSERT TO orders DO ALSO DELETE FROM secrets", "ANALYZE secrets", "VACUUM secrets", "REFRESH MATERIALIZED VIEW secrets", "SELECT * FROM pg_stats", "SELECT * FROM pg_catalog.pg_stats",
		"SELECT * FROM pg_stat_statements", "SELECT * FROM information_schema.tables", "SELECT * FROM secrets TABLESAMPLE system(1)", "CREATE STATISTICS s ON a, b FROM secrets",
		"CREATE TRIGGER t AFTER INSERT ON secrets EXECUTE FUNCTION lower()", "CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT a FROM secrets; END", `SELECT * FROM U&"secr\0065ts"`,
		"CREATE PUBLICATION p FOR TABLE secrets", "ALTER TABLE secrets RENAME TO orders", "ALTER TABLE secrets SET SCHEMA sales", "CLUSTER secrets", "SELECT * FROM ONLY secrets", "SELECT * FROM db.public.secrets",
	} {
		if d := decide(t, h, text(s)); codeOf(d) != sql.CodeTable {
			t.Errorf("%s: %s %q, want a refusal of the table", s, d.Effect(), codeOf(d))
		}
	}
	for _, s := range []string{
		"SELECT * FROM orders", "SELECT * FROM public.orders", "SELECT * FROM PUBLIC.Orders", `SELECT * FROM sales."Any Thing"`, `SELECT * FROM "Log"`, "SELECT 1", "TABLE orders",
		"WITH secrets AS (SELECT * FROM orders) SELECT * FROM secrets", "WITH RECURSIVE secrets AS (SELECT 1 UNION SELECT * FROM secrets) SELECT * FROM secrets", "SELECT o.a FROM orders o FOR UPDATE OF o",
		"SELECT secrets.a FROM orders AS secrets", "DELETE FROM orders o WHERE o.id = 1", "SELECT 'secrets'", "SELECT relname::text, oid::regclass FROM pg_class", "SELECT * FROM pg_catalog.pg_class, pg_namespace",
		"SELECT pg_total_relation_size(oid) FROM pg_class", "SELECT * FROM generate_series(1, 3) secrets", "SELECT nextval('sales.s')", "SELECT '1259'::regclass", "ANALYZE orders", "SHOW search_path", "RESET search_path",
		"DROP FUNCTION secrets(int)", "DROP TRIGGER secrets ON orders",
	} {
		if d := decide(t, h, text(s)); d.Effect() != chain.EffectAllow {
			t.Errorf("%s: %+v, want Allow", s, d)
		}
	}
}

func TestWhatMayReachTablesWithoutNamingThemIsDeniedWhereTablesAreBounded(t *testing.T) {
	settings := plan.DestructiveSQL{Overrides: []plan.Override{{Class: "destructive", Decision: plan.VerdictAllow}, {Class: "admin", Decision: plan.VerdictAllow}}}
	free := newHook(t, settings)
	settings.Tables = &plan.SQLTables{Deny: []string{"secrets"}, SearchPath: []string{"public"}}
	bounded := newHook(t, settings)
	for _, s := range []string{
		"EXECUTE q", "CALL pg_catalog.lower()", "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT a FROM secrets'", "TRUNCATE orders CASCADE", "DROP TABLE orders CASCADE", "VACUUM", "ANALYZE", "REINDEX SCHEMA public",
		"GRANT SELECT ON ALL TABLES IN SCHEMA public TO r", "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO r", "SET search_path = private", "SET SCHEMA 'private'", "SELECT set_config('search_path', 'private', false)",
		"SELECT nextval(a) FROM orders", "SELECT table_to_xml(a::regclass, true, true, '') FROM orders", "ALTER SCHEMA private RENAME TO public2", "CREATE SCHEMA s CREATE TABLE t (a int)", "CREATE PUBLICATION p FOR ALL TABLES",
		"CREATE PUBLICATION p FOR TABLES IN SCHEMA private", "IMPORT FOREIGN SCHEMA s FROM SERVER x INTO public", "REASSIGN OWNED BY a TO b", "ALTER ROLE r SET search_path = private",
	} {
		if d := decide(t, bounded, text(s)); codeOf(d) != sql.CodeTablesHidden {
			t.Errorf("%s: %s %q, want a refusal", s, d.Effect(), codeOf(d))
		}
		if d := decide(t, free, text(s)); codeOf(d) == sql.CodeTablesHidden {
			t.Errorf("%s is refused though tables are not bounded", s)
		}
	}
}

func TestANameWithoutASchemaMustBeAllowedInEverySchemaOfTheSearchPath(t *testing.T) {
	h := newHook(t, plan.DestructiveSQL{Tables: &plan.SQLTables{Allow: []string{"app.*", "shared"}, Deny: []string{"app.keys"}, SearchPath: []string{"app", "public"}}})
	for s, want := range map[string]string{
		"SELECT * FROM app.orders": "", "SELECT * FROM shared": "", "SELECT * FROM app.shared, public.shared": "",
		"SELECT * FROM orders": sql.CodeTable, "SELECT * FROM other.shared": sql.CodeTable, "SELECT * FROM keys": sql.CodeTable, "SELECT * FROM app.keys": sql.CodeTable,
	} {
		if d := decide(t, h, text(s)); codeOf(d) != want {
			t.Errorf("%s: code %q, want %q", s, codeOf(d), want)
		}
	}
}

func TestMoreNamesThanCanBeCheckedAreRefusedWhereAPolicyBoundsThem(t *testing.T) {
	var b strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&b, ", t%d", i)
	}
	many := "SELECT 1 FROM a" + b.String()
	if d := decide(t, newHook(t, plan.DestructiveSQL{}), text(many)); d.Effect() != chain.EffectAllow {
		t.Errorf("%+v", d)
	}
	for name, s := range map[string]plan.DestructiveSQL{
		"tables":    {Tables: &plan.SQLTables{Allow: []string{"*"}, SearchPath: []string{"public"}}},
		"functions": {Functions: []plan.SQLFunction{{Name: "f", Class: "read"}}},
	} {
		if d := decide(t, newHook(t, s), text(many)); codeOf(d) != sql.CodeNames {
			t.Errorf("%s: %s %q", name, d.Effect(), codeOf(d))
		}
	}
}

func TestAPolicySaysWhatFunctionsDo(t *testing.T) {
	h := newHook(t, plan.DestructiveSQL{Functions: []plan.SQLFunction{
		{Name: "st_*", Class: "read"}, {Name: "st_purge", Class: "destructive"}, {Name: "app.refresh", Class: "write"}, {Name: "wipe", Class: "forbidden"},
		{Name: "random", Class: "admin"}, {Name: "pg_read_file", Class: "read"}, {Name: "setval", Class: "read"}, {Name: "*.audit", Class: "admin"}, {Name: `"Odd"`, Class: "read"},
	}})
	for s, want := range map[string]chain.Effect{
		"SELECT st_area(geom) FROM parcels":                          chain.EffectAllow,
		"SELECT ST_Area(geom), public.st_length(g) FROM parcels":     chain.EffectAllow,
		"SELECT gis.st_area(geom) FROM parcels":                      chain.EffectAskUser, // another schema
		"SELECT st_purge()":                                          chain.EffectAskUser,
		"SELECT app.refresh()":                                       chain.EffectAllow,
		"SELECT refresh()":                                           chain.EffectAskUser, // of public, not of app
		"SELECT wipe()":                                              chain.EffectDeny,
		"SELECT 1 FROM t WHERE wipe()":                               chain.EffectDeny,
		"SELECT random()":                                            chain.EffectAskUser,
		"SELECT pg_read_file('x')":                                   chain.EffectDeny, // never loosened
		"SELECT setval('s', 1)":                                      chain.EffectAskUser,
		"SELECT x.audit()":                                           chain.EffectAskUser,
		`SELECT "Odd"()`:                                             chain.EffectAllow,
		"SELECT odd()":                                               chain.EffectAskUser,
		"SELECT unheard_of()":                                        chain.EffectAskUser,
		"CREATE TABLE t (a int DEFAULT wipe())":                      chain.EffectDeny,
		"SELECT lower('a')":                                          chain.EffectAllow,
		"SELECT 1 OPERATOR(s.+) 1":                                   chain.EffectAskUser,
		"SELECT st_area(g), unheard_of() FROM t":                     chain.EffectAskUser,
		"SELECT " + strings.Repeat("st_a(1),", 300) + "unheard_of()": chain.EffectAskUser,
	} {
		if d := decide(t, h, text(s)); d.Effect() != want {
			t.Errorf("%.80s: %s %q, want %s", s, d.Effect(), codeOf(d), want)
		}
	}
}

func TestAConditionThatChoosesRowsIsRequired(t *testing.T) {
	h := newHook(t, plan.DestructiveSQL{RequireWhere: []string{plan.WhereDelete, plan.WhereUpdate}})
	for s, want := range map[string]string{
		"DELETE FROM t":                                         sql.CodeWhere,
		"UPDATE t SET a = 1":                                    sql.CodeWhere,
		"UPDATE t SET a = 1 WHERE 1 = 1":                        sql.CodeWhere,
		"DELETE FROM t WHERE now() > '2000-01-01'":              sql.CodeWhere,
		"WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d": sql.CodeWhere,
		"SELECT * FROM (WITH d AS (UPDATE t SET a = 1 WHERE a = a RETURNING 1) SELECT * FROM d) x": sql.CodeWhere,
		"EXPLAIN ANALYZE DELETE FROM t":                                        sql.CodeWhere,
		"PREPARE q AS DELETE FROM t":                                           sql.CodeWhere,
		"MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE":                sql.CodeWhere,
		"DELETE FROM t WHERE id = 1; DELETE FROM t":                            sql.CodeWhere,
		manyDeletesWithWhere(80) + "DELETE FROM z":                             sql.CodeWhere,
		"DELETE FROM t WHERE id = 1":                                           sql.CodeDestructive,
		"DELETE FROM t WHERE false":                                            sql.CodeDestructive,
		"UPDATE t SET a = 1 WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id)":  sql.CodeDestructive,
		"MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE":         sql.CodeDestructive,
		"MERGE INTO t USING s ON true WHEN NOT MATCHED THEN INSERT VALUES (1)": "",
		"EXPLAIN DELETE FROM t":                                                "",
		"TRUNCATE t":                                                           sql.CodeDestructive,
	} {
		if d := decide(t, h, text(s)); codeOf(d) != want {
			t.Errorf("%.80s: %s %q, want %q", s, d.Effect(), codeOf(d), want)
		}
	}
	only := newHook(t, plan.DestructiveSQL{RequireWhere: []string{plan.WhereDelete}})
	if d := decide(t, only, text("UPDATE t SET a = 1")); codeOf(d) != sql.CodeDestructive {
		t.Errorf("an UPDATE where only DELETE is bounded: %q", codeOf(d))
	}
}

func manyDeletesWithWhere(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "DELETE FROM t%d WHERE id = 1;", i)
	}
	return b.String()
}

func TestTransactionControlIsRefusedWithAWayOut(t *testing.T) {
	for _, s := range []string{"BEGIN", "BEGIN; SELECT 1; COMMIT", "ROLLBACK", "SAVEPOINT a"} {
		d, ok := decide(t, newHook(t, plan.DestructiveSQL{}), text(s)).(chain.Deny)
		if !ok || d.Code != "sql.transaction" || !strings.Contains(d.Message, "without BEGIN") {
			t.Errorf("%s: %+v", s, d)
		}
	}
}

// A record stays small whatever the text.
func TestFactsAndQuestionsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, `TRUNCATE "%s%d", "%s";`, strings.Repeat("\u00e9", 20), i, strings.Repeat("\u202e", 10))
	}
	d := decide(t, newHook(t, plan.DestructiveSQL{MaxBytes: 32 << 10}), text(b.String()))
	q, ok := d.(chain.AskUser)
	if !ok {
		t.Fatalf("%+v", d)
	}
	if n := len(fmt.Sprint(q.Facts)) + len(strings.Join(q.Details, "")) + len(q.Prompt); n > 100_000 {
		t.Errorf("%d bytes of facts and details", n)
	}
}

package sqlclass_test

import (
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

// What a statement holds, or the form that it has, makes its class another
// than that of its kind.
func TestTheFormOfAStatementDecidesItsClass(t *testing.T) {
	const (
		read        = sqlclass.Read
		write       = sqlclass.Write
		destructive = sqlclass.Destructive
		admin       = sqlclass.Admin
		forbidden   = sqlclass.Forbidden
	)
	c := newClassifier(t)
	for text, want := range map[string]sqlclass.Class{
		// statements within statements
		"WITH a AS (INSERT INTO t VALUES (1)) SELECT 1":                                     write,
		"WITH a AS (WITH b AS (DELETE FROM t) SELECT 1) SELECT 1":                           destructive,
		"SELECT 1 WHERE EXISTS (WITH d AS (UPDATE t SET a = 1) SELECT)":                     destructive,
		"PREPARE q AS SELECT 1":                                                             read,
		"PREPARE q AS TRUNCATE t":                                                           sqlclass.Forbidden, // no grammar for it
		"PREPARE q AS DELETE FROM t":                                                        destructive,
		"EXECUTE q":                                                                         destructive,
		"CREATE TABLE x AS EXECUTE q":                                                       destructive,
		"DECLARE c CURSOR WITH HOLD FOR SELECT 1":                                           read,
		"CREATE SCHEMA s CREATE TABLE t(a int)":                                             write,
		"CREATE SCHEMA s CREATE TABLE t(a int) GRANT SELECT ON t TO b":                      admin,
		"CREATE SCHEMA s CREATE VIEW v AS SELECT pg_ls_dir('.')":                            forbidden,
		"CREATE RULE r AS ON INSERT TO t DO INSTEAD (SELECT 1; NOTIFY x)":                   admin,
		"CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT pg_sleep(1); END": forbidden,
		"ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC":                         admin,
		// EXPLAIN
		"EXPLAIN DELETE FROM t":                           read,
		"EXPLAIN EXECUTE q":                               read,
		"EXPLAIN ANALYZE EXECUTE q":                       destructive,
		"EXPLAIN (ANALYZE) DELETE FROM t":                 destructive,
		"EXPLAIN (ANALYZE maybe) DELETE FROM t":           destructive,
		"EXPLAIN (ANALYZE OFF, VERBOSE) DELETE FROM t":    read,
		"EXPLAIN (ANALYZE on, ANALYZE off) DELETE FROM t": destructive,
		"EXPLAIN DELETE FROM pg_authid":                   read,
		"EXPLAIN SELECT 1; DELETE FROM t":                 destructive,
		"EXPLAIN SELECT pg_read_file('x')":                forbidden,
		// forms of one kind
		"INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING":                       write,
		"INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 1":          destructive,
		"MERGE INTO t USING s ON a = b WHEN NOT MATCHED THEN INSERT VALUES (1)": write,
		"MERGE INTO t USING s ON a = b WHEN MATCHED THEN DELETE":                destructive,
		"CREATE VIEW v AS SELECT 1":                                             write,
		"CREATE OR REPLACE VIEW v AS SELECT 1":                                  destructive,
		"VACUUM t":                                                              admin,
		"ANALYZE t":                                                             write,
		"COPY t TO STDOUT":                                                      read,
		"COPY t FROM STDIN":                                                     destructive,
		"COPY t FROM '/x'":                                                      forbidden,
		"COPY (SELECT 1) TO PROGRAM 'x'":                                        forbidden,
		"DROP VIEW v":                                                           destructive,
		"DROP SCHEMA s":                                                         forbidden,
		"DROP FUNCTION dblink(text)":                                            destructive,
		"COMMENT ON FUNCTION dblink(text) IS 'x'":                               write,
		"DROP FUNCTION f(int); CREATE CAST (text AS int) WITH FUNCTION pg_read_file(text)": forbidden,
		// code
		"CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'":                        destructive,
		"CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS 'BEGIN PERFORM pg_read_file (''x''); END'":    forbidden,
		"CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS 'BEGIN EXECUTE ''COPY t TO PROGRAM x''; END'": forbidden,
		"CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS 'BEGIN DROP SCHEMA s; END'":                   forbidden,
		"CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS 'BEGIN ALTER SYSTEM SET a = 1; END'":          forbidden,
		"CREATE FUNCTION f() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'":                      forbidden,
		"CREATE FUNCTION f() RETURNS int LANGUAGE c AS 'x', 'y'":                                           forbidden,
		"CREATE FUNCTION f() RETURNS int LANGUAGE internal AS 'x'":                                         forbidden,
		"CREATE FUNCTION f() RETURNS int LANGUAGE plpython3u AS 'x'":                                       forbidden,
		"CREATE FUNCTION f() RETURNS int LANGUAGE sql SET role = bob AS 'SELECT 1'":                        forbidden,
		"CREATE FUNCTION f() RETURNS int LANGUAGE sql SUPPORT g AS 'SELECT 1'":                             forbidden,
		"CREATE FUNCTION pg_catalog.now() RETURNS int LANGUAGE sql AS 'SELECT 1'":                          forbidden,
		"ALTER FUNCTION f() STABLE":                                          destructive,
		"ALTER FUNCTION f() SECURITY DEFINER":                                forbidden,
		"CREATE AGGREGATE a (text) (SFUNC = pg_read_file, STYPE = text)":     forbidden,
		"CREATE OPERATOR ## (LEFTARG = text, FUNCTION = dblink_exec)":        forbidden,
		"CREATE TRIGGER r BEFORE INSERT ON t EXECUTE FUNCTION dblink_exec()": forbidden,
		"CREATE TYPE r AS RANGE (SUBTYPE = float8, SUBTYPE_DIFF = float8mi)": write,
		"CREATE TYPE r AS RANGE (SUBTYPE = float8, SUBTYPE_DIFF = pg_sleep)": forbidden,
		"CREATE EXTENSION pg_trgm":                                           admin,
		"CREATE EXTENSION dblink":                                            forbidden,
		"CREATE EXTENSION plsomethingu":                                      forbidden,
		"CREATE LANGUAGE plperlu":                                            forbidden,
		// sessions
		"SET work_mem = '1GB'":                         read,
		"SET TIME ZONE 'UTC'":                          read,
		"RESET work_mem":                               read,
		"RESET ALL":                                    admin,
		"RESET ROLE":                                   forbidden,
		"SET statement_timeout = 0":                    admin,
		"SET search_path = x":                          admin,
		"SET \"Role\" = x":                             forbidden,
		"SET NAMES 'utf8'":                             forbidden,
		"SET default_transaction_read_only = off":      forbidden,
		"SET pgaudit.log = none":                       forbidden,
		"SET session_preload_libraries = x":            forbidden,
		"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE": read,
		"SET TRANSACTION READ ONLY":                    read,
		"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ WRITE":                      forbidden,
		"SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY":                          admin,
		"SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE":                         forbidden,
		"SELECT set_config('work_mem', '1', true)":                                      admin,
		"SELECT set_config('Role', 'x', true)":                                          forbidden,
		"SELECT set_config($1, 'x', true)":                                              forbidden,
		"SELECT set_config('ro' || 'le', 'x', true)":                                    forbidden,
		"SELECT set_config(setting_name => 'role', new_value => 'x', is_local => true)": forbidden,
		"BEGIN": forbidden,
		// roles
		"CREATE ROLE r LOGIN NOSUPERUSER NOBYPASSRLS":          admin,
		"CREATE ROLE r SUPERUSER":                              forbidden,
		"CREATE USER r REPLICATION":                            forbidden,
		"ALTER ROLE r BYPASSRLS":                               forbidden,
		"CREATE ROLE r IN ROLE pg_read_server_files":           forbidden,
		"ALTER GROUP pg_execute_server_program ADD USER r":     forbidden,
		"ALTER GROUP pg_execute_server_program DROP USER r":    admin,
		"GRANT app TO r":                                       admin,
		"GRANT pg_write_all_data TO r":                         forbidden,
		"GRANT app, rds_superuser TO r":                        forbidden,
		"REVOKE rds_superuser FROM r":                          admin,
		"GRANT EXECUTE ON FUNCTION pg_read_file(text) TO r":    forbidden,
		"REVOKE EXECUTE ON FUNCTION pg_read_file(text) FROM r": admin,
		"GRANT ALTER SYSTEM ON PARAMETER work_mem TO r":        forbidden,
		// what belongs to the server
		"SELECT * FROM pg_class":  read,
		"SELECT * FROM pg_shadow": admin,
		"SELECT (SELECT rolpassword FROM pg_catalog.pg_authid LIMIT 1)": admin,
		"COPY pg_authid TO STDOUT":                                      admin,
		"CREATE VIEW v AS TABLE pg_user_mapping":                        admin,
		"WITH pg_authid AS (TABLE pg_authid) TABLE pg_authid":           admin,
		"INSERT INTO pg_authid VALUES (1)":                              forbidden,
		"UPDATE pg_settings SET setting = 'off'":                        forbidden,
		"INSERT INTO cron.job (command) VALUES (1)":                     forbidden,
		"ALTER TABLE pg_catalog.pg_class SET (a = 1)":                   forbidden,
		"DROP TABLE pg_catalog.pg_class":                                forbidden,
		"TRUNCATE pg_largeobject":                                       forbidden,
		"SELECT 1 INTO pg_catalog.x":                                    forbidden,
		"COPY pg_proc FROM STDIN":                                       forbidden,
		// functions, wherever they stand
		"SELECT nextval('s')":                                               write,
		"CREATE TABLE t (a int DEFAULT nextval('s'))":                       write,
		"CREATE TABLE t (a int GENERATED ALWAYS AS (lo_create(1)) STORED)":  admin,
		"CREATE DOMAIN d AS int CHECK (pg_notify('a', 'b') IS NULL)":        admin,
		"SELECT ts_rewrite('a'::tsquery, 'SELECT 1')":                       forbidden,
		"SELECT ts_rewrite(a, b, c) FROM t":                                 read,
		"SELECT * FROM ROWS FROM (generate_series(1, 2), pg_ls_dir('.')) x": forbidden,
		"SELECT count(*) FILTER (WHERE pg_sleep(1) IS NULL) FROM t":         forbidden,
		"SELECT 1 ORDER BY pg_sleep(1)":                                     forbidden,
		"SELECT 1 LIMIT length(pg_read_file('x'))":                          forbidden,
		"SELECT sum(a) OVER (ORDER BY pg_sleep(1)) FROM t":                  forbidden,
		"SELECT ('x'::text).pg_read_file":                                   forbidden,
		"SELECT (a).pg_read_file.length FROM t":                             forbidden,
		"SELECT (SELECT 'x'::text).pg_ls_dir":                               forbidden,
		"SELECT ($1).dblink_connect":                                        forbidden,
		"SELECT (60.0::float8).pg_sleep":                                    forbidden,
		"SELECT (123).pg_terminate_backend":                                 admin,
		"SELECT ('s'::regclass).nextval":                                    write,
		"SELECT x.pg_read_file FROM unnest(ARRAY['x']) x":                   forbidden,
		"SELECT 1 FROM unnest(ARRAY['x']) x WHERE x.lo_import > 0":          forbidden,
		"UPDATE t SET a = (a).pg_read_file":                                 forbidden,
		"SELECT (e).http, r.http, (a).city, t.lower FROM t":                 forbidden,
		"SELECT r.http, (a).city, t.lower, (jsonb_each(b)).key FROM t":      read,
		"CALL dblink_exec('x')":                                             forbidden,
		"SELECT 'pg_read_file'::regproc":                                    read,
		"SELECT pg_sleep FROM t":                                            read,
	} {
		if r := classify(t, c, text); r.Class != want || r.Unknown {
			t.Errorf("%s: class %s (unknown function %v), want %s", text, r.Class, r.Unknown, want)
		}
	}
}

func TestOrdinaryAnalyticsOnlyRead(t *testing.T) {
	c := newClassifier(t)
	for _, text := range []string{
		"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x), mode() WITHIN GROUP (ORDER BY y), count(*) FILTER (WHERE a) FROM t",
		"SELECT row_number() OVER w, lag(x) OVER (PARTITION BY a ORDER BY b), ntile(4) OVER w FROM t WINDOW w AS (ORDER BY x)",
		"SELECT jsonb_path_query(a, '$.x'), a->>'b', jsonb_set(a, '{x}', '1'), to_jsonb(t), json_object_agg(a, b) FROM t",
		"SELECT date_trunc('day', ts), extract(epoch from ts), age(ts), make_interval(days => 3), ts AT TIME ZONE 'UTC' FROM t",
		"SELECT string_agg(a, ',' ORDER BY b), array_agg(DISTINCT a), split_part(a, ',', 1), substring(a from 1 for 3), overlay(a placing 'x' from 1), position('a' in b), trim(both 'x' from a) FROM t",
		"SELECT * FROM LATERAL (SELECT 1) x, jsonb_to_recordset('[]') AS r(a int), XMLTABLE('/a' PASSING x COLUMNS b int)",
		"SELECT corr(a, b), regr_slope(a, b), stddev(a), every(c), grouping(a) FROM t GROUP BY CUBE (a)",
		"SELECT current_user, current_date, current_setting('work_mem'), version(), pg_typeof(1), random(), gen_random_uuid()",
		"SELECT pg_size_pretty(pg_total_relation_size('t')), pg_get_viewdef('v'), has_table_privilege('t', 'select'), to_regclass('x')",
		"SELECT a SIMILAR TO 'x', a LIKE 'x' ESCAPE '!', a ~ 'b', a IS NORMALIZED, collation for (a) FROM t",
		"SELECT embedding <-> '[1,2]', similarity(a, b), unaccent(a), crypt('a', gen_salt('bf')) FROM t TABLESAMPLE bernoulli (10)",
		"SELECT a OPERATOR(pg_catalog.+) b, regtype('int4'), date('2024-01-01'), int4('5') FROM generate_series(1, 10) g(a), unnest(ARRAY[1]) b",
		"SELECT json_query(a, '$.x'), any_value(a), date_add(now(), '1 d') FROM t",
		"SELECT (information_schema._pg_expandarray(indkey)).n FROM pg_index",
		"SELECT * FROM jobs WHERE state = 'new' FOR UPDATE SKIP LOCKED LIMIT 1",
		"SHOW ALL", "TABLE t", "VALUES (1)", "FETCH 10 FROM c", "CLOSE c", "DEALLOCATE q",
	} {
		if r := classify(t, c, text); r.Class != sqlclass.Read || r.Unknown {
			t.Errorf("%s: class %s, unknown function %v: %+v", text, r.Class, r.Unknown, r.Findings)
		}
	}
}

func TestFunctionsThatAnybodyMayHaveMadeAreUnknownWhereverTheyStand(t *testing.T) {
	c := newClassifier(t)
	for _, text := range []string{
		"SELECT f()", "SELECT public.lower('x')", "SELECT \"Lower\"('x')", "SELECT * FROM f()", "SELECT 1 WHERE f()", "SELECT 1 OPERATOR(s.+) 1",
		"SELECT 1 OPERATOR(s.=) ANY (ARRAY[1])", "SELECT 1 IN (SELECT f())", "SELECT 1 ORDER BY 1 USING OPERATOR(s.<)", "CREATE TABLE t (a int DEFAULT f())",
		"CREATE TABLE t (a int CHECK (f(a)))", "CREATE INDEX ON t (f(a))", "CREATE INDEX ON t (a) WHERE f(a)", "CREATE DOMAIN d AS int CHECK (f(VALUE))",
		"CREATE TABLE t (a int, EXCLUDE USING gist (a WITH OPERATOR(s.&&)))", "CREATE VIEW v AS SELECT f()", "INSERT INTO t VALUES (f())",
		"INSERT INTO t VALUES (1) RETURNING f()", "SELECT 1 FROM t TABLESAMPLE s.m(1)", "EXPLAIN SELECT f()", "CREATE TYPE r AS RANGE (SUBTYPE = int, CANONICAL = f)",
		"COPY (SELECT f()) TO STDOUT", "SELECT sum(a) FILTER (WHERE f()) OVER (PARTITION BY f() ORDER BY 1) FROM t", "PREPARE q AS SELECT f()",
		"CREATE STATISTICS s ON (f(a)), b FROM t", "CREATE TABLE t (a int) PARTITION BY RANGE (f(a))", "SELECT CASE f() WHEN 1 THEN 2 END",
	} {
		if r := classify(t, c, text); !r.Unknown || r.Class > sqlclass.Write {
			t.Errorf("%s: class %s, unknown function %v", text, r.Class, r.Unknown)
		}
	}
}

func TestQueriesOfAnalystsAreNotHeld(t *testing.T) {
	c := newClassifier(t)
	for _, text := range analytics() {
		if r := classify(t, c, text); r.Code != "" || r.Class != sqlclass.Read || r.Unknown {
			t.Errorf("%s: %s %s, unknown %t: %+v", text, r.Code, r.Class, r.Unknown, r.Findings)
		}
	}
}

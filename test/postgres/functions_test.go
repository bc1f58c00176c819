package postgres

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

// trustedExtensions are those whose functions the catalogue of package sqlclass
// holds, as its generator's notes say.
func trustedExtensions() ([]string, error) {
	notes, err := os.ReadFile("../../hack/sqlfunctions/effects.txt")
	if err != nil {
		return nil, fmt.Errorf("read the notes on functions: %w", err)
	}
	var names []string
	for line := range strings.Lines(string(notes)) {
		if words := strings.Fields(line); len(words) > 0 && words[0] == "trust" {
			names = append(names, words[1:]...)
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return n == "postgres" }), nil
}

// samples are values by type, two for each: a usual one, and one that leads
// elsewhere. A type that is missing gets null.
var samples = map[string][2]string{
	"integer": {"1", "2"}, "bigint": {"1", "3"}, "smallint": {"1", "2"}, "numeric": {"1.5", "2"}, "real": {"1.5", "0.5"}, "double precision": {"0.5", "2"},
	"text": {"'orders'", "'id'"}, "character varying": {"'a'", "'b'"}, "character": {"'a'", "'b'"}, `"char"`: {"'r'", "'S'"}, "name": {"'orders'", "'public'"}, "cstring": {"'1'", "'orders'"},
	"boolean": {"true", "false"}, "bytea": {`'\x00ff'`, `'abc'`}, "oid": {"'orders'::regclass", "4242"}, "regclass": {"'orders'", "'invoice_id_seq'"}, "regtype": {"'int'", "'mood'"},
	"regproc": {"'now'", "'version'"}, "regprocedure": {"'now()'", "'version()'"}, "regrole": {"'app'", "'super'"}, "regnamespace": {"'public'", "'sales'"},
	"date": {"'2024-02-03'", "'infinity'"}, "timestamp without time zone": {"'2024-02-03'", "'infinity'"}, "timestamp with time zone": {"'2024-02-03'", "'infinity'"},
	"time without time zone": {"'10:00'", "'11:00'"}, "time with time zone": {"'10:00+01'", "'11:00+01'"}, "interval": {"'1 hour'", "'1 day'"},
	"json": {`'{"a":[1,2]}'`, `'[{"a":1}]'`}, "jsonb": {`'{"a":[1,2]}'`, `'[{"a":1}]'`}, "jsonpath": {"'$.a[*]'", "'$'"}, "xml": {"'<a/>'", "'<b>1</b>'"},
	"tsvector": {"'a b'", "'a:1'"}, "tsquery": {"'a & b'", "'a'"}, "uuid": {"'00000000-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-000000000002'"},
	"point": {"'(1,2)'", "'(0,0)'"}, "box": {"'(1,2),(3,4)'", "'(0,0),(1,1)'"}, "circle": {"'<(1,2),3>'", "'<(0,0),1>'"}, "polygon": {"'((0,0),(1,1),(1,0))'", "'((0,0),(2,2),(2,0))'"},
	"path": {"'((0,0),(1,1))'", "'[(0,0),(2,2)]'"}, "line": {"'{1,2,3}'", "'{1,0,0}'"}, "lseg": {"'[(0,0),(1,1)]'", "'[(0,1),(1,0)]'"},
	"inet": {"'10.0.0.1/8'", "'::1'"}, "cidr": {"'10.0.0.0/8'", "'::/0'"}, "macaddr": {"'08:00:2b:01:02:03'", "'08:00:2b:01:02:04'"}, "money": {"'1'", "'2'"},
	"bit": {"B'1'", "B'0'"}, "bit varying": {"B'101'", "B'010'"}, "pg_lsn": {"'0/1500000'", "'0/0'"}, "xid": {"'3'", "'700'"}, "xid8": {"'3'", "'700'"}, "tid": {"'(0,1)'", "'(1,1)'"},
	"int4range": {"'[1,5)'", "'empty'"}, "aclitem": {"'app=r/super'", "'=r/super'"}, "pg_snapshot": {"'1:3:2'", "'1:1:'"}, "txid_snapshot": {"'1:3:2'", "'1:1:'"}, "refcursor": {"'c'", "'d'"},
	"anyelement": {"1", "2"}, "anynonarray": {"1", "2"}, "anycompatible": {"1", "2"}, "anycompatiblenonarray": {"1", "2"}, "anyarray": {"ARRAY[1,2]", "ARRAY[3]"}, "anycompatiblearray": {"ARRAY[1,2]", "ARRAY[3]"},
	"anyenum": {"'ok'::mood", "'sad'::mood"}, "anyrange": {"'[1,5)'::int4range", "'empty'::int4range"}, "anymultirange": {"'{[1,5)}'::int4multirange", "'{}'::int4multirange"}, `"any"`: {"1", "'x'::text"},
	"hstore": {"'a=>1'", "'b=>2'"}, "ltree": {"'a.b'", "'a'"}, "cube": {"'(1,2)'", "'(0)'"}, "citext": {"'A'", "'b'"}, "regconfig": {"'english'", "'simple'"}, "regdictionary": {"'simple'", "'english_stem'"},
	"record": {"ROW(1)", "ROW(1,2)"},
}

// A function is one that SQL can call, with the types of its arguments.
type function struct {
	schema, name, kind, volatility string
	set                            bool
	args                           []string
}

const functions = `
SELECT n.nspname, p.proname, p.prokind::text, p.provolatile::text, p.proretset,
	coalesce((SELECT array_agg(format_type(u.t, NULL) ORDER BY u.i) FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY u (t, i)), '{}')
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
LEFT JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
WHERE (n.nspname = 'pg_catalog' OR d.objid IS NOT NULL) AND p.prokind <> 'p'
	AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype, 'internal'::regtype)
	AND 'internal'::regtype <> ALL (p.proargtypes)
ORDER BY p.proname, p.oid`

func allFunctions(t testing.TB, conn *pgx.Conn) []function {
	t.Helper()
	rows, err := conn.Query(t.Context(), functions)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f function, err error) {
		err = row.Scan(&f.schema, &f.name, &f.kind, &f.volatility, &f.set, &f.args)
		return f, err
	})
	if err != nil || len(all) < 2500 {
		t.Fatalf("%d functions: %v", len(all), err)
	}
	return all
}

// call writes a call with the sample values, for a few rows where a row can be
// asked for.
func (f *function) call(sample int) string {
	args := make([]string, len(f.args))
	for i, typ := range f.args {
		element, array := strings.CutSuffix(typ, "[]")
		value := "NULL"
		if v, ok := samples[element]; ok {
			value = v[(sample+i*sample)%2]
		}
		switch {
		case array:
			args[i] = fmt.Sprintf("ARRAY[%s]::%s", value, typ)
		case strings.Contains(typ, "any"), typ == "record":
			args[i] = value
		default:
			args[i] = value + "::" + typ
		}
	}
	call := fmt.Sprintf("%s.%s(%s)", f.schema, pgx.Identifier{f.name}.Sanitize(), strings.Join(args, ", "))
	switch {
	case f.kind == "w":
		return "SELECT " + call + " OVER (ORDER BY g) FROM generate_series(1, 3) g"
	case f.set:
		return "SELECT * FROM (SELECT " + call + ") f LIMIT 50"
	default:
		return "SELECT " + call + " FROM generate_series(1, 3)"
	}
}

// slow are functions that would only take time.
var slow = map[string]bool{"pg_isolation_test_session_is_blocked": true}

// TestFunctionsThatCountAsReadWriteNothing calls, with values of their types,
// all functions of the server that are classed read.
func TestFunctionsThatCountAsReadWriteNothing(t *testing.T) {
	classifier, o, session := newClassifier(t), newObserver(t), connect(t)
	var read []function
	unknown := make(map[string]bool)
	for _, f := range allFunctions(t, session) {
		report := classify(t, classifier, "SELECT "+pgx.Identifier{f.name}.Sanitize()+"()")
		switch {
		case report.Unknown:
			unknown[f.name] = true
		case report.Class == sqlclass.Read && !slow[f.name]:
			read = append(read, f)
		}
	}
	ran := 0
	for batch := range slices.Chunk(read, 100) {
		changed := o.observe(t, nil, func() { ran += callAll(t, batch) })
		if len(notDrawn(changed, batch)) == 0 {
			continue
		}
		for _, f := range batch { // which one was it?
			changed := o.observe(t, nil, func() { callAll(t, []function{f}) })
			if changed = notDrawn(changed, []function{f}); len(changed) > 0 {
				t.Errorf("%s(%s) counts as read, but it changes %s", f.name, strings.Join(f.args, ", "), show(changed))
			}
		}
	}
	t.Logf("PostgreSQL %s: %d functions that count as read, of which %d gave a result", cluster.version, len(read), ran)
	t.Logf("%d names are in no catalogue: %s", len(unknown), strings.Join(slices.Sorted(maps.Keys(unknown)), " "))
	if ran < len(read)/2 {
		t.Errorf("only %d of %d functions gave a result", ran, len(read))
	}
}

// callAll calls functions in a session of their own, and returns how many gave
// a result. It stays open until all were called: what a session's end does is
// the server's.
func callAll(t testing.TB, batch []function) (ran int) {
	t.Helper()
	session := connect(t)
	defer closeConn(session)
	if err := execute(t.Context(), session, "SET statement_timeout = '2s'"); err != nil {
		t.Fatal(err)
	}
	for _, f := range batch {
		ok := false
		for sample := range 2 {
			err := execute(t.Context(), session, f.call(sample))
			if session.IsClosed() {
				t.Fatalf("%s ended the session: %v", f.call(sample), err)
			}
			ok = ok || err == nil
		}
		if ok {
			ran++
		}
	}
	return ran
}

// notDrawn returns what changed without the number of a transaction, if one of
// the functions is there to draw it.
func notDrawn(changed []string, batch []function) []string {
	for _, f := range batch {
		if f.name == "txid_current" || f.name == "pg_current_xact_id" {
			return slices.DeleteFunc(changed, func(c string) bool { return c == "next transaction" })
		}
	}
	return changed
}

// volatileButPure are the functions that the server calls volatile, for their
// results differ, and that the catalogue calls pure: none touches anything
// outside of its own session.
var volatileButPure = map[string]string{
	"clock_timestamp": "tells the time", "timeofday": "tells the time",
	"random": "draws a number", "gen_random_uuid": "draws a number", "setseed": "seeds the session's numbers", "normal_rand": "draws numbers",
	"gen_random_bytes": "draws bytes", "gen_salt": "draws a salt",
	"pgp_sym_encrypt": "draws a key", "pgp_sym_encrypt_bytea": "draws a key", "pgp_pub_encrypt": "draws a key", "pgp_pub_encrypt_bytea": "draws a key",
	"set_limit":        "sets how alike texts must be, for the session",
	"ts_rewrite":       "the classifier itself refuses its form that runs a text",
	"uuid_generate_v1": "draws a number", "uuid_generate_v1mc": "draws a number", "uuid_generate_v4": "draws a number",
}

func TestVolatileFunctionsCountAsPureOnlyForAReason(t *testing.T) {
	pure := make(map[string]bool)
	catalogue, err := os.ReadFile("../../internal/sqlclass/functions.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(catalogue), "[pure]")
	section, _, _ = strings.Cut(section, "[")
	for name := range strings.FieldsSeq(section) {
		pure[name] = true
	}
	for _, f := range allFunctions(t, connect(t)) {
		if f.volatility == "v" && pure[f.name] && volatileButPure[f.name] == "" {
			t.Errorf("%s(%s) is volatile, and nobody says why it is pure", f.name, strings.Join(f.args, ", "))
		}
	}
}

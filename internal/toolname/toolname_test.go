package toolname_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hookpolicy/hookpolicy/internal/toolname"
)

func guarded() *toolname.Index {
	return toolname.NewIndex([]string{"db_query_sql", "kb_add_file", "kb_add_path", "db_import_csv"})
}

func TestMatchKnowsAGuardedNameBehindAnyPrefix(t *testing.T) {
	x := toolname.NewIndex([]string{"db_query_sql", "a__b", "_c"})
	for called, want := range map[string]string{
		"db_query_sql":                 "db_query_sql",
		"mcp__db__db_query_sql":        "db_query_sql",
		"mcp__my__db__db_query_sql":    "db_query_sql",
		"mcp__db_query_sql__other":     "",
		"mcp__s__a__b":                 "a__b",
		"mcp__s___c":                   "_c",
		"mcp__s____c":                  "_c",
		"mcp____db_query_sql":          "",
		"mcp__db_query_sql":            "",
		"xmcp__db__db_query_sql":       "",
		"mcp__db__db_query_sql__extra": "",
		"mcp__db__":                    "",
		"mcp__":                        "",
		"":                             "",
	} {
		if got, _ := x.Match(called); got != want {
			t.Errorf("%q means %q, want %q", called, got, want)
		}
	}
}

func TestMatchRefusesLookalikesOfGuardedNames(t *testing.T) {
	x := guarded()
	for _, called := range []string{
		" db_query_sql", "db_query_sql ", "db_query_sql\n", "\tdb_query_sql", "db_query\u00a0_sql",
		"DB_QUERY_SQL", "Db_Query_Sql", "db-query-sql", "db.query.sql", "db query sql", "db\u2013query\u2013sql",
		"db__query__sql", "_db_query_sql_", "db/query/sql",
		"db_query_sqI", "db_query_sq1", "db_query_sq|", "db_query_sq\u0406", // capital i, one, bar, Ukrainian I
		"db_query_sql\u200b", "db\u00ad_query_sql", "\u202edb_query_sql", "db_query_sql\ufe0f", "db_query_sql\U000e0061",
		"\u043ab_add_file", "\u03bab_add_file", "db_i\u043cport_csv", "db_q\u03bcery_sql", "db_qu\u03b5ry_sql", // Cyrillic k, m, Greek k, m, e
		"db\u2010query\u2010sql", "db\uff3fquery\uff3fsql", "mcp__x__mcp__y__DB_query_sql", "db_query_sql:0", "functions/db_query_sql:0",
		"db_qu\u0435ry_sql", "db_query_\u0455ql", "\u0501b_query_sql", // Cyrillic e, s, d
		"\uff44\uff42\uff3f\uff51\uff55\uff45\uff52\uff59\uff3f\uff53\uff51\uff4c", // full width
		"\U0001d41d\U0001d41b_query_sql",                                           // mathematical bold
		"db_qu\u00e9ry_sql", "db_que\u0301ry_sql",                                  // accents
		"\u1d05\u0299_query_sql", // small capitals
		"kb_add_fi1e", "kb_add_fiIe", "kb_add_fil\u0435", "kb_add_flle", "db_irnport_csv", "db_import_c\u017fv",
		"mcp__db__db_query_sql__extra", "mcp__db__DB_QUERY_SQL", "MCP__db__db_query_sql", "mcp____db_query_sql", "mcp__db_query_sql",
		"mcp__db__db__query__sql", "mcp__my__db__db__query_sql", "mcp__db__db.query.sql",
		"mcp_db_db_query_sql", "mcp_my_db_db_query_sql", "mcp-db-db_query_sql",
		"db.db_query_sql", "db:db_query_sql", "db/db_query_sql", "functions.db_query_sql", "/db_query_sql", "db__db_query_sql",
		"db_query_sql()", "db_query_sql;", `"db_query_sql"`, "db_query_sql@v2", "db_query_sql#1", "db_query_sql\x00",
		"x:db-query-sql", "a.b.db_query_sq1.c",
	} {
		name, lookalike := x.Match(called)
		if name != "" || lookalike == "" {
			t.Errorf("%q (%+q): name %q, look-alike of %q", called, called, name, lookalike)
		}
	}
}

func TestMatchLeavesOtherToolsAlone(t *testing.T) {
	x := guarded()
	for _, called := range []string{
		"db_query", "db_query_sql2", "db_query_sqlite", "query_sql", "my_db_query_sql", "sql", "db", "kb_search", "kb_add_files",
		"kb_add", "mcp__db__query_sql", "mcp__kb__kb_search", "mcp__db__db_query", "mcp_db_db_query", "mcp", "mcp__db", "web.search", "db_export_csv",
		"db_query_sql_v2", "adb_query_sql", "db_query_sqlx", "mcp__x__db_query_sql_2", "lqs_yreuq_bd", "kb_add_file_v2", "add_file",
		"\u043f\u043e\u0438\u0441\u043a_\u0444\u0430\u0439\u043b\u043e\u0432", "\u03b1\u03bd\u03b1\u03b6\u03ae\u03c4\u03b7\u03c3\u03b7", "\u0628\u062d\u062b", "\u691c\u7d22", "\u0e04\u0e49\u0e19\u0e2b\u0e32",
		"\u67e5\u8be2", "\u043f\u043e\u0438\u0441\u043a", "__", "...", "",
	} {
		if name, lookalike := x.Match(called); name != "" || lookalike != "" {
			t.Errorf("%q: name %q, look-alike of %q", called, name, lookalike)
		}
	}
}

func TestMatchRefusesANameThatCouldMeanTwoGuardedTools(t *testing.T) {
	x := toolname.NewIndex([]string{"run", "shell__run", "mcp__prod__run"})
	for _, called := range []string{"mcp__s__shell__run", "mcp__prod__run"} {
		if name, lookalike := x.Match(called); name != "" || lookalike == "" {
			t.Errorf("%q: name %q, look-alike of %q", called, name, lookalike)
		}
	}
	if name, _ := x.Match("mcp__s__run"); name != "run" {
		t.Errorf("an unambiguous name means %q", name)
	}
}

func TestGuardedNamesMayBeLookalikesOfEachOther(t *testing.T) {
	names := []string{"step_1", "step_l", "fs.read", "read"}
	x := toolname.NewIndex(names)
	for _, called := range names {
		if name, _ := x.Match(called); name != called {
			t.Errorf("%q means %q", called, name)
		}
	}
	if _, lookalike := x.Match("srv/FS.read"); lookalike != "fs.read" {
		t.Errorf("look-alike of %q, want the longest run of segments", lookalike)
	}
}

func TestAToolNamedMCPIsNotEveryToolBehindAPrefix(t *testing.T) {
	x := toolname.NewIndex([]string{"mcp"})
	if name, lookalike := x.Match("mcp__kb__search"); name != "" || lookalike != "" {
		t.Errorf("name %q, look-alike of %q", name, lookalike)
	}
}

func TestAnIndexOfNothingMatchesNothing(t *testing.T) {
	for _, x := range []*toolname.Index{toolname.NewIndex(nil), toolname.NewIndex([]string{"", "___"})} {
		if name, lookalike := x.Match("db_query_sql"); name != "" || lookalike != "" {
			t.Errorf("name %q, look-alike of %q", name, lookalike)
		}
	}
}

func TestValidNamesAreVisibleAndShort(t *testing.T) {
	for name, want := range map[string]bool{
		"db_query_sql": true, "mcp__a__b": true, "web.search": true, "ns/tool:v1": true, "\u67e5\u8be2": true, "caf\u00e9": true,
		strings.Repeat("x", 128): true, strings.Repeat("x", 129): false,
		"": false, "*": false, "db_*": false, " a": false, "a b": false, "a\n": false, "a\x00": false, "a\x7f": false,
		"a\u00a0": false, "a\u2028": false, "a\u200b": false, "a\u202e": false, "a\ufeff": false, "a\ufe0f": false, "a\u3164": false,
		"a\u2800": false, "a\u034f": false, "a\U000e0061": false, "a\ue000": false, "a\u0378": false, "a\xff": false, "\xc3": false,
	} {
		if got := toolname.Valid(name); got != want {
			t.Errorf("%+q: valid %t, want %t", name, got, want)
		}
	}
}

func TestBaseTakesTheMCPPrefixOff(t *testing.T) {
	for called, want := range map[string]string{
		"search": "search", "mcp__kb__search": "search", "mcp__kb__a__b": "a__b", "mcp__kb": "mcp__kb", "mcp__kb__": "mcp__kb__",
		"mcp____x": "mcp____x", "mcp__": "mcp__", "mcp_a_b": "mcp_a_b", "": "", "a__b": "a__b",
	} {
		if got := toolname.Base(called); got != want {
			t.Errorf("base of %q is %q, want %q", called, got, want)
		}
	}
}

// Every tool name of the shared cases is either refused or, where it is a
// plain name, told to be another tool, which unlistedTools answers for.
func TestNamesOfTheSharedCasesNeverReachAGuardedTool(t *testing.T) {
	f, err := os.Open("../../test/cases/approvals.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	otherTools := map[string]bool{"db_query": true}
	x, rows := guarded(), 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row struct {
			ID, Category string
			Call         struct{ Tool string }
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil || row.Category != "tool-name" {
			continue
		}
		rows++
		name, lookalike := x.Match(row.Call.Tool)
		refused := !toolname.Valid(row.Call.Tool) || lookalike != ""
		if name != "" || refused == otherTools[row.Call.Tool] {
			t.Errorf("%s: %q: name %q, refused %t", row.ID, row.Call.Tool, name, refused)
		}
	}
	if err := lines.Err(); err != nil || rows == 0 {
		t.Fatalf("%d rows read: %v", rows, err)
	}
}

func TestMatchOfAGuardedNameAllocatesNothing(t *testing.T) {
	x := guarded()
	for _, called := range []string{"db_query_sql", "mcp__db__db_query_sql"} {
		if n := testing.AllocsPerRun(100, func() { toolname.Valid(called); x.Match(called) }); n != 0 {
			t.Errorf("%q: %v allocations", called, n)
		}
	}
}

func FuzzMatch(f *testing.F) {
	for _, seed := range []string{"db_query_sql", "mcp__db__db_query_sql", "DB-query.sq1", "\u0501b", "__", "\xff", "mcp_a_b"} {
		f.Add(seed, "db_query_sql")
	}
	f.Fuzz(func(t *testing.T, called, name string) {
		x := toolname.NewIndex([]string{name})
		exact, lookalike := x.Match(called)
		isExact := called == name || strings.HasPrefix(called, "mcp__") && strings.HasSuffix(called, "__"+name)
		if exact != "" && (exact != name || !isExact) {
			t.Fatalf("%q means %q", called, exact)
		}
		if exact != "" && lookalike != "" {
			t.Fatal("both a guarded name and a look-alike of one")
		}
		if toolname.Valid(called) && (len(called) > toolname.MaxBytes || !utf8.ValidString(called)) {
			t.Fatalf("%q is valid", called)
		}
		if toolname.Valid(name) && strings.ContainsAny(name, "abc") {
			// Whatever is done to a name that the eye overlooks, it reaches no other tool.
			for _, disguise := range []string{strings.ToUpper(name), name + "\u200b", "x." + name, name + "\n"} {
				if len(disguise) > toolname.MaxBytes || !isASCII(name) {
					continue
				}
				if exact, lookalike := x.Match(disguise); exact == "" && lookalike == "" {
					t.Fatalf("%+q is not seen to be %q", disguise, name)
				}
			}
		}
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

func BenchmarkMatch(b *testing.B) {
	names := []string{"db_query_sql", "kb_add_file", "kb_add_path", "db_import_csv"}
	for i := range 100 {
		names = append(names, fmt.Sprintf("tool_%d", i))
	}
	x := toolname.NewIndex(names)
	for _, called := range []string{"db_query_sql", "mcp__db__db_query_sql", "kb_search", "mcp__kb__kb_search", "\u0501b_query_sql"} {
		b.Run(called, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				toolname.Valid(called)
				x.Match(called)
			}
		})
	}
}

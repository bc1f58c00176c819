package sqlclass_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

func limitRows(t testing.TB, c *sqlclass.Classifier, text string, maxRows int) (limited, code, hint string) {
	t.Helper()
	limited, code, hint, err := c.LimitRows(t.Context(), text, maxRows)
	if err != nil {
		t.Fatal(err)
	}
	return limited, code, hint
}

func TestALimitIsPutIntoWhatHasNone(t *testing.T) {
	c := newClassifier(t)
	for text, want := range map[string]string{
		"SELECT a FROM t":                                       "SELECT a FROM t LIMIT 10",
		"SELECT a FROM t LIMIT 10":                              "",
		"SELECT a FROM t -- all\n LIMIT 3":                      "",
		"SELECT a FROM t LIMIT 11":                              "SELECT a FROM t LIMIT 10",
		"SELECT a FROM t LIMIT 99999999999":                     "SELECT a FROM t LIMIT 10",
		"SELECT a FROM t LIMIT ALL OFFSET 5":                    "SELECT a FROM t LIMIT 10 OFFSET 5",
		"SELECT a FROM t LIMIT NULL":                            "SELECT a FROM t LIMIT 10",
		"SELECT a FROM t FETCH FIRST 20 ROWS ONLY":              "SELECT a FROM t LIMIT 10",
		"SELECT a FROM t FETCH FIRST ROW ONLY":                  "",
		"SELECT a FROM t UNION ALL SELECT b FROM u":             "SELECT a FROM t UNION ALL SELECT b FROM u LIMIT 10",
		"(SELECT a FROM t LIMIT 5) UNION SELECT 1":              "(SELECT a FROM t LIMIT 5) UNION SELECT 1 LIMIT 10",
		"VALUES (1), (2)":                                       "VALUES (1), (2) LIMIT 10",
		"TABLE t":                                               "SELECT * FROM t LIMIT 10",
		"WITH a AS (SELECT 1) SELECT * FROM a ORDER BY 1":       "WITH a AS (SELECT 1) SELECT * FROM a ORDER BY 1 LIMIT 10",
		"WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d": "WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d LIMIT 10",
		"SELECT * FROM (SELECT a FROM t LIMIT 5) x":             "SELECT * FROM (SELECT a FROM t LIMIT 5) x LIMIT 10",
		"SELECT 1; SELECT 2":                                    "SELECT 1 LIMIT 10; SELECT 2 LIMIT 10",
		"SELECT a FROM t FOR UPDATE LIMIT 5":                    "",
		"SELECT a INTO b FROM t":                                "",
		"SELECT a INTO b FROM t UNION SELECT 1":                 "",
		"INSERT INTO t VALUES (1), (2) RETURNING id":            "",
		"INSERT INTO t DEFAULT VALUES RETURNING id":             "",
		"INSERT INTO t SELECT * FROM u":                         "",
		"UPDATE t SET a = 1":                                    "",
		"EXPLAIN ANALYZE SELECT a FROM t":                       "",
		"CREATE TABLE a AS SELECT * FROM b":                     "",
		"DECLARE c CURSOR FOR SELECT * FROM t":                  "",
		"FETCH 10 FROM c":                                       "",
		"MOVE ALL FROM c":                                       "",
		"COPY (SELECT a FROM t LIMIT 3) TO STDOUT":              "",
		"SHOW ALL": "",
	} {
		if want == "" {
			want = text
		}
		got, code, hint := limitRows(t, c, text, 10)
		if code != "" || got != want {
			t.Errorf("%s\n becomes %s %s %s\n want %s", text, got, code, hint, want)
		}
		if again, _, _ := limitRows(t, c, got, 10); again != got {
			t.Errorf("%s is limited again to %s", got, again)
		}
	}
}

func TestWhatCannotBeLimitedIsRefusedWithAHint(t *testing.T) {
	c := newClassifier(t)
	for text, want := range map[string]string{
		"SELECT a FROM t LIMIT $1":                                              "computed",
		"SELECT a FROM t LIMIT 5 + 5":                                           "computed",
		"SELECT a FROM t ORDER BY a FETCH FIRST 5 ROWS WITH TIES":               "WITH TIES",
		"SELECT a FROM t FOR UPDATE":                                            "locks",
		"SELECT nextval('s') FROM t":                                            "acts for every row",
		"SELECT set_config('a.b', a, false) FROM t":                             "acts for every row",
		"DELETE FROM t RETURNING *":                                             "RETURNING",
		"UPDATE t SET a = 1 RETURNING *":                                        "RETURNING",
		"INSERT INTO t SELECT * FROM u RETURNING *":                             "RETURNING",
		"INSERT INTO t VALUES (1),(1),(1),(1),(1),(1) RETURNING a":              "RETURNING",
		"COPY t TO STDOUT":                                                      "SELECT",
		"COPY (SELECT a FROM t) TO STDOUT":                                      "SELECT",
		"FETCH ALL FROM c":                                                      "at most 5",
		"FETCH 6 FROM c":                                                        "at most 5",
		"FETCH BACKWARD 6 FROM c":                                               "at most 5",
		"EXECUTE q":                                                             "statement itself",
		"SELECT 1; DELETE FROM t RETURNING *":                                   "RETURNING",
		"SELECT " + strings.Repeat("a,", sqlclass.DefaultMaxBytes) + "a FROM t": "",
	} {
		if got, code, hint := limitRows(t, c, text, 5); code == "" || !strings.Contains(hint, want) {
			t.Errorf("%.80s becomes %.80s, code %q, hint %q", text, got, code, hint)
		}
	}
	for text, want := range map[string]string{"": sqlclass.CodeEmpty, "SELEC": sqlclass.CodeUnparseable, "SELECT 1\x00": sqlclass.CodeNUL} {
		if _, code, _ := limitRows(t, c, text, 5); code != want {
			t.Errorf("%q: code %q, want %q", text, code, want)
		}
	}
}

// sameButLimits holds a limited text to the law: its tree is that of the text,
// the limits of its queries apart, which are at most maxRows.
func sameButLimits(t *testing.T, text, limited string, maxRows int) {
	t.Helper()
	before, err := pg.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	after, err := pg.Parse(limited)
	if err != nil {
		t.Fatalf("%s became %s: %v", text, limited, err)
	}
	if text == limited {
		return
	}
	for i, raw := range after.Stmts {
		s := raw.Stmt.GetSelectStmt()
		if s == nil {
			continue
		}
		n := s.LimitCount.GetAConst().GetIval()
		if s.IntoClause == nil && (n == nil || int(n.Ival) > maxRows) {
			t.Fatalf("%s became %s, which is not limited", text, limited)
		}
		was := before.Stmts[i].Stmt.GetSelectStmt()
		s.LimitCount, s.LimitOption, was.LimitCount, was.LimitOption = nil, 0, nil, 0
	}
	ignore := cmp.FilterPath(func(p cmp.Path) bool {
		name := p.Last().String()
		return strings.HasSuffix(name, `location"]`) || name == `["stmt_len"]`
	}, cmp.Ignore())
	if diff := cmp.Diff(proto.Message(before), proto.Message(after), protocmp.Transform(), ignore); diff != "" {
		t.Fatalf("%s became %s (-before +after):\n%s", text, limited, diff)
	}
}

func TestALimitedTextMeansTheSame(t *testing.T) {
	f, err := os.Open("../../test/cases/sql.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := newClassifier(t)
	changed, refused := 0, 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	check := func(text string) {
		limited, code, _ := limitRows(t, c, text, 100)
		switch {
		case code != "":
			if classify(t, c, text).Class == sqlclass.Read {
				refused++
				t.Logf("not limited: %.100s (%s)", text, code)
			}
		case limited != text:
			changed++
			sameButLimits(t, text, limited, 100)
		}
	}
	for lines.Scan() {
		var tc struct {
			Call struct{ Args struct{ SQL any } }
		}
		if err := json.Unmarshal(lines.Bytes(), &tc); err != nil {
			t.Fatal(err)
		}
		if text, ok := tc.Call.Args.SQL.(string); ok {
			check(text)
		}
	}
	for _, text := range analytics() {
		check(text)
	}
	if changed < 100 {
		t.Errorf("only %d texts were limited", changed)
	}
	t.Logf("%d limited, %d readers refused", changed, refused)
}

func FuzzALimitedTextMeansTheSame(f *testing.F) {
	for _, text := range analytics() {
		f.Add(text)
	}
	c := newClassifier(f)
	f.Fuzz(func(t *testing.T, text string) {
		limited, code, _ := limitRows(t, c, text, 7)
		if code != "" {
			return
		}
		sameButLimits(t, text, limited, 7)
		if again, code, _ := limitRows(t, c, limited, 7); again != limited || code != "" {
			t.Fatalf("%q is limited again: %q %s", limited, again, code)
		}
	})
}

// deepTexts nest each construct so often.
func deepTexts(n int) map[string]string {
	nest := func(open, middle, end string) string {
		return strings.Repeat(open, n) + middle + strings.Repeat(end, n)
	}
	return map[string]string{
		"operators": "SELECT " + nest("", "1", "+1"), "casts": "SELECT " + nest("", "1", "::int"), "calls": "SELECT " + nest("abs(", "1", ")"),
		"NOT": "SELECT " + nest("NOT ", "true", ""), "CASE": "SELECT " + nest("CASE WHEN true THEN ", "1", " END"), "arrays": "SELECT " + nest("ARRAY[", "1", "]"),
		"queries": nest("SELECT (", "SELECT 1", ")"), "FROM": nest("SELECT * FROM (", "SELECT 1", ") x"), "WITH": nest("WITH a AS (", "SELECT 1", ") SELECT 1"),
		"unions": "SELECT 1" + nest("", "", " UNION SELECT 1"), "joins": "SELECT 1 FROM a" + nest("", "", " JOIN a ON true"),
		"windows": "SELECT " + nest("sum(1) OVER (ORDER BY ", "1", ")"), "tests": "SELECT a" + nest("", "", " IS NULL"),
	}
}

// The writer of texts recurses as the parser does, and deeper. On the smallest
// stack that New accepts it must not come to its end, whatever it is given: a
// process is started with that stack.
func TestADeepTextIsLimitedOrRefusedAndNeverTheEnd(t *testing.T) {
	if os.Getenv("SMALL_STACK") == "" {
		program, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -s "$1" && exec "$0" -test.run "^$2\$"`, program, strconv.Itoa(sqlclass.ParserStack/1024+1), t.Name())
		cmd.Env = append(os.Environ(), "SMALL_STACK=yes")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("with a small stack: %v\n%.2000s", err, out)
		}
		return
	}
	c := newClassifier(t)
	for _, n := range []int{100, 200, 400, 600, 800, 1200, 2000, 2800} {
		for name, text := range deepTexts(n) {
			limited, code, _ := limitRows(t, c, text, 5)
			if n == 100 && code != "" {
				t.Errorf("%d levels of %s are refused: %s", n, name, code)
			}
			if code == "" && !strings.HasSuffix(limited, "LIMIT 5") {
				t.Errorf("%d levels of %s: no limit", n, name)
			}
		}
	}
}

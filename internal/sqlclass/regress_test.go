package sqlclass_test

import (
	"archive/zip"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v5"

	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

// TestEveryStatementOfPostgresOwnTestsIsClassed classes the statements of
// PostgreSQL's regression suite. What the parser takes has a class, and what
// plainly reads is held only for what is known of its functions.
func TestEveryStatementOfPostgresOwnTestsIsClassed(t *testing.T) {
	c := newClassifier(t)
	byClass, byCode := make(map[string]int), make(map[string]int)
	var selects, held selectCount
	total := 0
	regressionTexts(t, func(file, text string) {
		r := classify(t, c, text)
		total++
		if r.Code != "" {
			byCode[r.Code]++
			return
		}
		for i := range r.Findings {
			if r.Findings[i].Code == sqlclass.CodeUnclassified {
				t.Errorf("%s: a %s has no class", file, r.Findings[i].Node)
			}
		}
		byClass[r.Class.String()]++
		if len(r.Statements) != 1 || r.Statements[0].Node != "SelectStmt" {
			return
		}
		selects.add("all")
		switch {
		case r.Class > sqlclass.Write:
			held.add(r.Class.String() + ": " + reason(r))
		case r.Unknown:
			held.add("unknown function")
		}
	})
	t.Logf("%d statements by class %v, refused %v", total, byClass, byCode)
	t.Logf("%d SELECTs, of which %d are held: %s", selects.total, held.total, held.String())
	if total < 35000 {
		t.Errorf("only %d statements", total)
	}
	// The suite makes functions of its own, which no catalogue can know.
	unknown := held.by["unknown function"]
	if others := held.total - unknown; unknown > selects.total/9 || others > selects.total/40 {
		t.Errorf("of %d SELECTs %d are held for unknown functions, %d for others", selects.total, unknown, others)
	}
	if n := byCode[sqlclass.CodeUnparseable]; n > total/20 {
		t.Errorf("%d of %d statements do not parse", n, total)
	}
}

// reason is why a text is held, in one word or two.
func reason(r *sqlclass.Report) string {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Class == r.Class {
			text, _, _ := strings.Cut(f.Text, ",")
			return f.Node + " " + text
		}
	}
	return ""
}

type selectCount struct {
	total int
	by    map[string]int
}

func (s *selectCount) add(key string) {
	if s.by == nil {
		s.by = make(map[string]int)
	}
	s.total++
	s.by[key]++
}

func (s *selectCount) String() string {
	keys := slices.SortedFunc(maps.Keys(s.by), func(a, b string) int { return s.by[b] - s.by[a] })
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = fmt.Sprintf("%s ×%d", k, s.by[k])
	}
	return strings.Join(parts, "; ")
}

// What psql would take for itself: the rows of COPY, lines of its own commands,
// commands at the end of a statement, and variables.
var (
	copied    = regexp.MustCompile(`(?ims)^(\s*copy\b[^\n]*\bfrom\s+stdin[^\n]*)\n.*?^\\\.$`)
	command   = regexp.MustCompile(`(?m)^\s*\\[a-z!?].*$`)
	atTheEnd  = regexp.MustCompile(`(?m)\\(gset|gx|gdesc|gexec|g|crosstabview)\b.*$`)
	variables = regexp.MustCompile(`([^:\w]):'?"?([a-z_]\w*)'?"?`)
)

// regressionTexts gives each statement of the suite to f.
func regressionTexts(t *testing.T, f func(file, text string)) {
	t.Helper()
	suite, err := zip.OpenReader("testdata/postgres-regress.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer suite.Close()
	for _, file := range suite.File {
		if !strings.HasSuffix(file.Name, ".sql") {
			continue
		}
		r, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		text := copied.ReplaceAllString(string(b), "$1")
		text = command.ReplaceAllString(text, "")
		text = strings.ReplaceAll(atTheEnd.ReplaceAllString(text, ";"), `\;`, ";")
		text = variables.ReplaceAllString(text, "$1'v'")
		statements, err := pg.SplitWithScanner(text, true)
		if err != nil {
			t.Logf("%s cannot be split: %.100v", file.Name, err)
		}
		for _, s := range statements {
			f(file.Name, s)
		}
	}
}

package sqlclass_test

import (
	"encoding/json"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v5"

	"github.com/hookpolicy/hookpolicy/internal/plan/stmtclass"
	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

// FuzzClassify holds the classifier to what the parser says on another way:
// the tree that it writes as JSON. A text that counts as read holds no
// statement there that does more, and no call of a function that never runs.
func FuzzClassify(f *testing.F) {
	for _, seed := range []string{
		"SELECT 1", "SELECT 1; DROP TABLE t", "WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a", "EXPLAIN (ANALYZE 0) DELETE FROM t",
		"EXPLAIN ANALYZE UPDATE t SET a = 1", "COPY (SELECT 1) TO STDOUT", "COPY t FROM PROGRAM 'x'", "SELECT a INTO b FROM c UNION SELECT 1",
		"SELECT U&\"pg_re\\0061d_file\"('x')", "PREPARE q AS TRUNCATE t", "CREATE SCHEMA s GRANT SELECT ON t TO PUBLIC",
		"SELECT E'\\'' /* a /* b */ */ -- c\n, $x$ ' $x$", "SET TRANSACTION READ ONLY", "SET work_mem = 1", "MERGE INTO t USING s ON a = b WHEN NOT MATCHED THEN DO NOTHING",
		"DECLARE c CURSOR FOR SELECT * FROM pg_shadow", "ANALYZE t", "SELECT * FROM t TABLESAMPLE system(1) ORDER BY a USING OPERATOR(s.<)",
		"INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = pg_sleep(1)", "SELECT -+-+-+1", "\\d", "SELECT :a", ";;", "/**/",
	} {
		f.Add(seed)
	}
	c := newClassifier(f)
	f.Fuzz(func(t *testing.T, text string) {
		r := classify(t, c, text)
		if r.Class == 0 || (r.Code != "" && r.Class != sqlclass.Forbidden) {
			t.Fatalf("report %+v has no class", r)
		}
		if r.Code == "" && !r.MoreNames {
			everyTableIsNamed(t, text, r)
		}
		if r.Class > sqlclass.Write {
			return
		}
		if strings.ContainsRune(text, 0) || len(text) > sqlclass.MaxBytes {
			t.Fatal("a text that must not be parsed was allowed")
		}
		doc, err := pg.ParseToJSON(text)
		if err != nil {
			t.Fatalf("what does not parse was allowed: %v", err)
		}
		var tree any
		if err := json.Unmarshal([]byte(doc), &tree); err != nil {
			return // a literal that JSON cannot hold
		}
		o := oracle{worst: r.Class}
		o.check(tree)
		if o.objection != "" {
			t.Fatalf("class %s, but the text holds %s", r.Class, o.objection)
		}
		if o.statements == 0 {
			t.Fatal("no statement was allowed")
		}
	})
}

// everyTableIsNamed holds a report to the names of relations in the tree. Names
// from WITH, and those that a locking clause has from FROM, are no tables.
func everyTableIsNamed(t *testing.T, text string, r *sqlclass.Report) {
	t.Helper()
	doc, err := pg.ParseToJSON(text)
	if err != nil {
		t.Fatalf("a report on what does not parse: %v", err)
	}
	var tree any
	if err := json.Unmarshal([]byte(doc), &tree); err != nil {
		return // a literal that JSON cannot hold
	}
	named, with := make(map[string]bool), make(map[string]bool)
	collectNames(tree, named, with)
	for _, table := range r.Tables {
		delete(named, table.Name)
	}
	for name := range named {
		if !with[name] {
			t.Fatalf("%q names the relation %q, and the report does not", text, name)
		}
	}
}

func collectNames(v any, named, with map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			collectNames(e, named, with)
		}
	case map[string]any:
		for key, e := range v {
			s, isText := e.(string)
			switch {
			case key == "relname" && isText:
				named[s] = true
			case key == "ctename" && isText:
				with[s] = true
			case key != "lockedRels":
				collectNames(e, named, with)
			}
		}
	}
}

// oracle judges a tree in JSON by the names of its nodes.
type oracle struct {
	worst      sqlclass.Class
	statements int
	objection  string
}

func (o *oracle) check(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			o.check(e)
		}
	case map[string]any:
		for name, e := range v {
			if name == "ExplainStmt" && !analyzes(e) {
				o.statements++
				continue // planned only
			}
			o.node(name, e)
			o.check(e)
		}
	}
}

func (o *oracle) node(name string, v any) {
	switch {
	case name == "onConflictClause" && strings.Contains(marshal(v), "ONCONFLICT_UPDATE"):
		o.objection = "an update on conflict"
	case name == "intoClause" && o.worst < sqlclass.Write:
		o.objection = "a new table"
	case name == "FuncCall" && strings.Contains(marshal(v.(map[string]any)["funcname"]), `"pg_read_file"`):
		o.objection = "a forbidden function"
	case strings.HasSuffix(name, "Stmt"):
		o.statements++
		o.statement(name, v)
	}
}

// statement objects to a node of a class above the one that was given, unless
// it is one whose form decides.
func (o *oracle) statement(name string, v any) {
	class, _, _ := stmtclass.Class(name)
	switch name {
	case "CopyStmt":
		if strings.Contains(marshal(v), `"filename"`) || strings.Contains(marshal(v), `"is_from"`) {
			o.objection = name
		}
		return
	case "ExplainStmt", "VariableSetStmt", "ViewStmt", "CreateSchemaStmt":
		return
	case "VacuumStmt":
		if strings.Contains(marshal(v), `"is_vacuumcmd":true`) {
			o.objection = name
		}
		return
	case "MergeStmt":
		if strings.Contains(marshal(v), "CMD_UPDATE") || strings.Contains(marshal(v), "CMD_DELETE") {
			o.objection = name
		}
		return
	}
	switch class {
	case stmtclass.Read, "":
	case stmtclass.Write:
		if o.worst < sqlclass.Write {
			o.objection = name
		}
	default:
		o.objection = name
	}
}

// analyzes reports whether an EXPLAIN runs its statement: an option named
// analyze that is not plainly off.
func analyzes(v any) bool {
	options, _ := v.(map[string]any)["options"].([]any)
	for _, o := range options {
		elem, _ := o.(map[string]any)["DefElem"].(map[string]any)
		if elem["defname"] != "analyze" {
			continue
		}
		switch strings.ToLower(marshal(elem["arg"])) {
		case `{"integer":{}}`, `{"integer":{"ival":0}}`, `{"string":{"sval":"off"}}`, `{"string":{"sval":"false"}}`:
		default:
			return true
		}
	}
	return false
}

func marshal(v any) string {
	b, _ := json.Marshal(v) // it was just unmarshalled
	return string(b)
}

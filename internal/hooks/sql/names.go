package sql

import (
	"fmt"
	"slices"

	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
	"github.com/hookpolicy/hookpolicy/internal/sqlname"
)

// serverSchema comes before any schema of the search path.
const serverSchema = "pg_catalog"

// tables bound the tables that a text may name.
type tables struct {
	allow, deny []sqlname.Pattern
	searchPath  []string
	isSystem    func(name string) bool
}

func newTables(t *plan.SQLTables, isSystem func(string) bool) (*tables, error) {
	if t == nil {
		return nil, nil
	}
	if len(t.SearchPath) == 0 {
		return nil, fmt.Errorf("tables: the search path is empty")
	}
	allow, err := parsePatterns(t.Allow)
	if err != nil {
		return nil, fmt.Errorf("tables.allow: %w", err)
	}
	deny, err := parsePatterns(t.Deny)
	if err != nil {
		return nil, fmt.Errorf("tables.deny: %w", err)
	}
	return &tables{allow: allow, deny: deny, searchPath: t.SearchPath, isSystem: isSystem}, nil
}

func parsePatterns(texts []string) ([]sqlname.Pattern, error) {
	patterns := make([]sqlname.Pattern, len(texts))
	for i, text := range texts {
		var err error
		if patterns[i], err = sqlname.Parse(text); err != nil {
			return nil, fmt.Errorf("[%d] %w", i, err)
		}
	}
	return patterns, nil
}

// permit reports whether a table may be named. A name without a schema may
// mean any of a few tables, as the text alone does not tell: none may be
// denied, and all must be allowed.
func (t *tables) permit(name sqlclass.Table) bool {
	for _, schema := range t.schemasOf(name) {
		named := func(p sqlname.Pattern) bool { return matchIn(p, schema, name.Name, t.searchPath) }
		if slices.ContainsFunc(t.deny, named) || len(t.allow) > 0 && !slices.ContainsFunc(t.allow, named) {
			return false
		}
	}
	return true
}

func (t *tables) schemasOf(name sqlclass.Table) []string {
	switch {
	case name.Schema != "":
		return []string{name.Schema}
	case t.isSystem(name.Name):
		return []string{serverSchema}
	default:
		return t.searchPath
	}
}

// matchIn matches a pattern; one without a schema is for the search path.
func matchIn(p sqlname.Pattern, schema, name string, searchPath []string) bool {
	return p.Match(schema, name) && (p.HasSchema() || slices.Contains(searchPath, schema))
}

// functions say what functions do that the catalogue does not know.
type functions struct {
	exact, patterns []declared
	searchPath      []string
}

type declared struct {
	pattern sqlname.Pattern
	class   sqlclass.Class
}

func newFunctions(s *plan.DestructiveSQL) (functions, error) {
	f := functions{searchPath: []string{"public"}}
	if s.Tables != nil {
		f.searchPath = s.Tables.SearchPath
	}
	for i, d := range s.Functions {
		pattern, err := sqlname.Parse(d.Name)
		if err != nil {
			return f, fmt.Errorf("functions[%d]: the name %w", i, err)
		}
		class := sqlclass.ClassOf(d.Class)
		if class == sqlclass.Forbidden && d.Class != sqlclass.Forbidden.String() {
			return f, fmt.Errorf("functions[%d]: %q is no class", i, d.Class)
		}
		if pattern.IsExact() {
			f.exact = append(f.exact, declared{pattern, class})
		} else {
			f.patterns = append(f.patterns, declared{pattern, class})
		}
	}
	return f, nil
}

func (f *functions) any() bool { return len(f.exact)+len(f.patterns) > 0 }

// classOf returns what the policy says of a function, 0 if nothing: what an
// exact name says counts before what a pattern says, then the stricter class.
// A name without a schema may mean a function of any schema of the search
// path: the policy must know each.
func (f *functions) classOf(name sqlclass.Function) sqlclass.Class {
	switch {
	case name.Schema != "":
		return f.in(name.Schema, name.Name)
	case name.Class != 0: // the server's own, or one that does harm in any schema
		class := f.in(serverSchema, name.Name)
		for _, schema := range f.searchPath {
			class = max(class, f.in(schema, name.Name))
		}
		return class
	}
	worst := sqlclass.Class(0)
	for _, schema := range f.searchPath {
		class := f.in(schema, name.Name)
		if class == 0 {
			return 0
		}
		worst = max(worst, class)
	}
	return worst
}

func (f *functions) in(schema, name string) sqlclass.Class {
	for _, list := range [][]declared{f.exact, f.patterns} {
		class := sqlclass.Class(0)
		for _, d := range list {
			if schema == serverSchema && d.pattern.Match(schema, name) || matchIn(d.pattern, schema, name, f.searchPath) {
				class = max(class, d.class)
			}
		}
		if class != 0 {
			return class
		}
	}
	return 0
}

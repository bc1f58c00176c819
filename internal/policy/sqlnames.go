package policy

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/plan/stmtclass"
	"github.com/hookpolicy/hookpolicy/internal/sqlname"
)

const (
	maxSQLNames    = 256 // of functions, and of tables on either list
	maxSQLName     = 256 // bytes
	maxSearchPath  = 16
	defaultSchema  = "public"
	maxSchemaBytes = 63
)

func (c *compiler) sqlFunctions(at *field.Path, functions []v1alpha1.SQLFunction) []plan.SQLFunction {
	if len(functions) > maxSQLNames {
		c.add(field.TooMany(at, len(functions), maxSQLNames))
		return nil
	}
	var compiled []plan.SQLFunction
	seen := make(map[string]bool, len(functions))
	for i, f := range functions {
		fAt := at.Index(i)
		c.sqlName(fAt.Child("name"), f.Name)
		if f.Class == "" {
			c.add(field.Required(fAt.Child("class"), "one of "+strings.Join(stmtclass.Classes(), ", ")))
		} else if !slices.Contains(stmtclass.Classes(), string(f.Class)) {
			c.add(field.NotSupported(fAt.Child("class"), clip(string(f.Class)), stmtclass.Classes()))
		}
		if seen[f.Name] {
			c.add(field.Duplicate(fAt.Child("name"), clip(f.Name)))
		}
		seen[f.Name] = true
		compiled = append(compiled, plan.SQLFunction{Name: f.Name, Class: string(f.Class)})
	}
	slices.SortFunc(compiled, func(a, b plan.SQLFunction) int { return strings.Compare(a.Name, b.Name) })
	return compiled
}

// sqlName reports what is no pattern of names.
func (c *compiler) sqlName(at *field.Path, text string) {
	switch {
	case text == "":
		c.add(field.Required(at, "a name as SQL has it, such as sales.orders"))
		return
	case len(text) > maxSQLName:
		c.add(field.TooLong(at, "", maxSQLName))
		return
	case hasInvisible(text):
		c.add(field.Invalid(at, clip(text), "must not hold control or invisible characters"))
		return
	}
	if _, err := sqlname.Parse(text); err != nil {
		c.add(field.Invalid(at, clip(text), err.Error()))
	}
}

func (c *compiler) sqlTables(at *field.Path, t *v1alpha1.SQLTables) *plan.SQLTables {
	if t == nil {
		return nil
	}
	if len(t.Allow) == 0 && len(t.Deny) == 0 {
		c.add(field.Required(at, "tables need allow, deny or both"))
	}
	compiled := &plan.SQLTables{
		Allow:      c.sqlNames(at.Child("allow"), t.Allow),
		Deny:       c.sqlNames(at.Child("deny"), t.Deny),
		SearchPath: []string{defaultSchema},
	}
	if len(t.SearchPath) > 0 {
		compiled.SearchPath = c.searchPath(at.Child("searchPath"), t.SearchPath)
	}
	return compiled
}

func (c *compiler) sqlNames(at *field.Path, names []string) []string {
	if len(names) > maxSQLNames {
		c.add(field.TooMany(at, len(names), maxSQLNames))
		return nil
	}
	c.unique(at, names)
	for i, name := range names {
		c.sqlName(at.Index(i), name)
	}
	return sorted(names)
}

// searchPath takes schemas as they are spelled in the server, without quotes.
func (c *compiler) searchPath(at *field.Path, schemas []string) []string {
	if len(schemas) > maxSearchPath {
		c.add(field.TooMany(at, len(schemas), maxSearchPath))
		return nil
	}
	c.unique(at, schemas)
	for i, schema := range schemas {
		switch {
		case schema == "":
			c.add(field.Required(at.Index(i), "the name of a schema"))
		case len(schema) > maxSchemaBytes:
			c.add(field.TooLong(at.Index(i), "", maxSchemaBytes))
		case hasInvisible(schema) || strings.ContainsAny(schema, `*".$ `):
			c.add(field.Invalid(at.Index(i), clip(schema), "must be the name of one schema, without quotation marks and wildcards"))
		}
	}
	return slices.Clone(schemas)
}

func (c *compiler) requireWhere(at *field.Path, statements []v1alpha1.WhereStatement) []string {
	var compiled []string
	for i, s := range statements {
		if s != v1alpha1.WhereStatementUpdate && s != v1alpha1.WhereStatementDelete {
			c.add(field.NotSupported(at.Index(i), clip(string(s)), []v1alpha1.WhereStatement{v1alpha1.WhereStatementUpdate, v1alpha1.WhereStatementDelete}))
		}
		compiled = append(compiled, string(s))
	}
	c.unique(at, compiled)
	return sorted(compiled)
}

package sqlclass

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"github.com/hookpolicy/hookpolicy/internal/sqlname"
)

// What may reach relations that a text does not name, for people.
const (
	hiddenComputed = "a relation whose name is computed"
	hiddenSchema   = "all relations of a schema or of the database"
	hiddenCascade  = "what CASCADE reaches"
	hiddenExecuted = "what a prepared statement does"
	hiddenCode     = "what a body of code does"
	hiddenPath     = "a change of the search path"
)

// hide notes that the text may reach relations that it does not name.
func (w *walker) hide(what string) {
	if slices.Contains(w.report.Hidden, what) {
		return
	}
	w.report.Hidden = append(w.report.Hidden, what)
}

// namesRelation says which functions take a relation by name, and whether they
// change it. What the others do with a name is in the catalogue of functions.
func namesRelation(function string) (write, computedIsHarmless, ok bool) {
	switch function {
	case "nextval", "setval":
		return true, false, true
	case "currval", "table_to_xml", "table_to_xmlschema", "table_to_xml_and_xmlschema", "pg_prewarm", "get_raw_page", "pgstattuple", "pgstatindex":
		return false, false, true
	case "pg_relation_size", "pg_table_size", "pg_indexes_size", "pg_total_relation_size", "pg_relation_filepath", "pg_relation_filenode",
		"to_regclass", "pg_get_serial_sequence", "pg_get_viewdef", "pg_get_indexdef", "pg_get_partkeydef", "pg_partition_tree", "pg_partition_ancestors",
		"pg_partition_root", "has_table_privilege", "has_column_privilege", "has_any_column_privilege", "row_security_active":
		return false, true, true
	default:
		return false, false, false
	}
}

// relationArgument notes the relation that a call names in a text. Those that
// only describe a relation may be given its number or a name of the
// catalogues, as people do who look around.
func (w *walker) relationArgument(name string, f *pg.FuncCall) {
	write, harmless, ok := namesRelation(name)
	if !ok || len(f.Args) == 0 {
		return
	}
	found := false
	for _, a := range f.Args {
		text := textOf(a)
		if text == nil {
			continue
		}
		if schema, relation, ok := sqlname.Split(text.Sval); ok {
			w.noteTable(&pg.RangeVar{Schemaname: schema, Relname: relation}, write)
			found = true
		}
		if !strings.HasPrefix(name, "has_") { // these take a role before it
			break
		}
	}
	if !found && !harmless {
		w.hide(hiddenComputed)
	}
}

// typeCast notes the relation that a text cast to regclass names. A cast of
// something else shows the name that a number stands for.
func (w *walker) typeCast(c *pg.TypeCast) {
	if _, name := qualified(c.TypeName.GetNames()); name != "regclass" {
		return
	}
	if text := c.Arg.GetAConst().GetSval(); text != nil {
		if schema, relation, ok := sqlname.Split(text.Sval); ok {
			w.noteTable(&pg.RangeVar{Schemaname: schema, Relname: relation}, false)
		}
	}
}

// lockingClause keeps what FOR UPDATE OF names from being read as relations:
// they are names from FROM.
func (w *walker) lockingClause(c *pg.LockingClause) {
	for _, n := range c.LockedRels {
		if rv := n.GetRangeVar(); rv != nil {
			w.targets = append(w.targets, rv)
		}
	}
}

// object notes the relation in the name of an object: the object itself, or
// what the column, constraint, trigger, rule or policy belongs to.
func (w *walker) object(t pg.ObjectType, n *pg.Node, class Class) {
	items := n.GetList().GetItems()
	switch t {
	case pg.ObjectType_OBJECT_TABLE, pg.ObjectType_OBJECT_VIEW, pg.ObjectType_OBJECT_MATVIEW, pg.ObjectType_OBJECT_FOREIGN_TABLE,
		pg.ObjectType_OBJECT_SEQUENCE, pg.ObjectType_OBJECT_INDEX:
	case pg.ObjectType_OBJECT_COLUMN, pg.ObjectType_OBJECT_TABCONSTRAINT, pg.ObjectType_OBJECT_TRIGGER, pg.ObjectType_OBJECT_RULE, pg.ObjectType_OBJECT_POLICY:
		if len(items) < 2 {
			return
		}
		items = items[:len(items)-1]
	default: // no relation, and nothing of one
		return
	}
	if schema, name := qualified(items); name != "" {
		rv := &pg.RangeVar{Schemaname: schema, Relname: name}
		if class < Destructive { // a comment
			w.noteTable(rv, true)
			return
		}
		w.changes(rv, class)
	}
}

// ownedBy notes the table that a sequence is made to belong to.
func (w *walker) ownedBy(d *pg.DefElem) {
	if d.Defname != "owned_by" {
		return
	}
	if items := d.Arg.GetList().GetItems(); len(items) > 1 {
		schema, name := qualified(items[:len(items)-1])
		w.noteTable(&pg.RangeVar{Schemaname: schema, Relname: name}, true)
	}
}

// hidden notes what a statement may reach beside the relations that it names.
func (w *walker) hidden(statement any) {
	switch s := statement.(type) {
	case *pg.ExecuteStmt:
		w.hide(hiddenExecuted)
	case *pg.CallStmt, *pg.DoStmt:
		w.hide(hiddenCode)
	case *pg.CreateFunctionStmt:
		if s.SqlBody == nil {
			w.hide(hiddenCode)
		}
	case *pg.TruncateStmt:
		w.hideCascade(s.Behavior)
	case *pg.DropStmt:
		w.hideCascade(s.Behavior)
	case *pg.ImportForeignSchemaStmt, *pg.AlterTableMoveAllStmt, *pg.ReassignOwnedStmt, *pg.DropOwnedStmt:
		w.hide(hiddenSchema)
	case *pg.VariableSetStmt:
		w.hideIf(strings.EqualFold(s.Name, "search_path") && s.Kind != pg.VariableSetKind_VAR_RESET && s.Kind != pg.VariableSetKind_VAR_SET_DEFAULT, hiddenPath)
	default:
		w.hideIf(wholeSchema(statement), hiddenSchema)
	}
}

// wholeSchema reports whether a statement, as it is written, is about all that is
// in a schema.
func wholeSchema(statement any) bool {
	switch s := statement.(type) {
	case *pg.VacuumStmt:
		return len(s.Rels) == 0
	case *pg.ClusterStmt:
		return s.Relation == nil
	case *pg.ReindexStmt:
		return s.Relation == nil
	case *pg.GrantStmt:
		return s.Targtype == pg.GrantTargetType_ACL_TARGET_ALL_IN_SCHEMA || s.Targtype == pg.GrantTargetType_ACL_TARGET_DEFAULTS
	case *pg.RenameStmt:
		return s.RenameType == pg.ObjectType_OBJECT_SCHEMA
	case *pg.CreateSchemaStmt:
		return len(s.SchemaElts) > 0
	case *pg.CreatePublicationStmt:
		return s.ForAllTables || wholeSchemas(s.Pubobjects)
	case *pg.AlterPublicationStmt:
		return s.ForAllTables || wholeSchemas(s.Pubobjects)
	default:
		return false
	}
}

func (w *walker) hideIf(yes bool, what string) {
	if yes {
		w.hide(what)
	}
}

func (w *walker) hideCascade(b pg.DropBehavior) {
	w.hideIf(b == pg.DropBehavior_DROP_CASCADE, hiddenCascade)
}

// wholeSchemas reports whether a publication takes in schemas as a whole.
func wholeSchemas(objects []*pg.Node) bool {
	for _, n := range objects {
		switch n.GetPublicationObjSpec().GetPubobjtype() {
		case pg.PublicationObjSpecType_PUBLICATIONOBJ_TABLES_IN_SCHEMA, pg.PublicationObjSpecType_PUBLICATIONOBJ_TABLES_IN_CUR_SCHEMA:
			return true
		default:
		}
	}
	return false
}

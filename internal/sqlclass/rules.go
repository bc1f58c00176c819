package sqlclass

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// statementRules are the rules of statements whose class by themselves, in the
// table, is not all there is to say, by name.
func statementRules() map[string]statementRule {
	return map[string]statementRule{
		"InsertStmt":          on(insertStmt),
		"UpdateStmt":          on(updateStmt),
		"DeleteStmt":          on(deleteStmt),
		"MergeStmt":           on(mergeStmt),
		"CopyStmt":            on(copyStmt),
		"ExplainStmt":         on(explainStmt),
		"TruncateStmt":        on(truncateStmt),
		"DropStmt":            on(dropStmt),
		"DropdbStmt":          on(func(_ *walker, s *pg.DropdbStmt, v *verdict) { v.text = "DROP DATABASE " + show(s.Dbname) }),
		"ViewStmt":            on(viewStmt),
		"AlterTableStmt":      on(alterTableStmt),
		"RenameStmt":          on(renameStmt),
		"VacuumStmt":          on(vacuumStmt),
		"CommentStmt":         on(commentStmt),
		"SecLabelStmt":        on(func(w *walker, s *pg.SecLabelStmt, v *verdict) { w.object(s.Objtype, s.Object, v.class) }),
		"CreateFunctionStmt":  on(createFunctionStmt),
		"AlterFunctionStmt":   on(alterFunctionStmt),
		"CreateTrigStmt":      on(func(w *walker, s *pg.CreateTrigStmt, _ *verdict) { w.mention(s.Funcname) }),
		"CreateExtensionStmt": on(createExtensionStmt),
		"VariableSetStmt":     on(variableSetStmt),
		"LockStmt":            on(lockStmt),
		"GrantStmt":           on(grantStmt),
		"GrantRoleStmt":       on(grantRoleStmt),
		"CreateRoleStmt":      on(createRoleStmt),
		"AlterRoleStmt":       on(alterRoleStmt),
	}
}

// on adapts a rule for one type of statement.
func on[T any](f func(*walker, T, *verdict)) statementRule {
	return func(w *walker, m any, v *verdict) { f(w, m.(T), v) }
}

func insertStmt(_ *walker, s *pg.InsertStmt, v *verdict) {
	v.text = "INSERT into " + relation(s.Relation)
	if s.OnConflictClause.GetAction() == pg.OnConflictAction_ONCONFLICT_UPDATE {
		v.atLeast(Destructive)
		v.text += ", and UPDATE of rows that are there"
	}
}

func updateStmt(w *walker, s *pg.UpdateStmt, v *verdict) {
	w.reaches(v, "UPDATE of "+relation(s.Relation), s.WhereClause)
}

func deleteStmt(w *walker, s *pg.DeleteStmt, v *verdict) {
	w.reaches(v, "DELETE on "+relation(s.Relation), s.WhereClause)
}

// reaches says which rows a statement with this condition reaches.
func (w *walker) reaches(v *verdict, verb string, where *pg.Node) {
	v.where = w.whereOf(where)
	v.allRows = v.where != WherePresent
	switch v.where {
	case WhereMissing:
		v.text = verb + " WITHOUT WHERE: all rows"
	case WhereAlwaysTrue:
		v.text = verb + " with a WHERE that is always true: all rows"
	case WhereConstant:
		v.text = verb + " with a WHERE that names no column: all rows or none"
	default:
		v.text = verb + " with WHERE"
	}
}

// mergeStmt lets a MERGE that only adds pass as an INSERT does.
func mergeStmt(w *walker, s *pg.MergeStmt, v *verdict) {
	v.text = "MERGE into " + relation(s.Relation)
	v.class = Write
	for _, n := range s.MergeWhenClauses {
		switch n.GetMergeWhenClause().GetCommandType() {
		case pg.CmdType_CMD_INSERT, pg.CmdType_CMD_NOTHING:
		case pg.CmdType_CMD_DELETE:
			v.class = Destructive
			v.text += ", with DELETE"
		default:
			v.class = Destructive
			v.text += ", with UPDATE"
		}
	}
	if v.class == Destructive {
		if v.where = w.whereOf(s.JoinCondition); v.where != WherePresent {
			v.allRows = true
			v.text += ", ON a condition that chooses no rows: all rows"
		}
	}
}

func commentStmt(w *walker, s *pg.CommentStmt, v *verdict) {
	v.mentions = true
	w.object(s.Objtype, s.Object, v.class)
}

func copyStmt(_ *walker, s *pg.CopyStmt, v *verdict) {
	switch {
	case s.IsProgram:
		v.class, v.text = Forbidden, "COPY with a program on the server"
	case s.Filename != "":
		v.class, v.text = Forbidden, "COPY with a file on the server"
	case s.IsFrom:
		v.class, v.text = Destructive, "COPY into "+relation(s.Relation)+" of rows that the text does not show"
	default:
		v.class = Read
	}
}

// explainStmt tells EXPLAIN that runs its statement from EXPLAIN that does not.
// An option is off only when it is off wherever it stands: the server takes
// the last.
func explainStmt(_ *walker, s *pg.ExplainStmt, v *verdict) {
	v.planned = true
	for _, n := range s.Options {
		if o := n.GetDefElem(); o.GetDefname() == "analyze" && !isOff(o.Arg) {
			v.planned = false
		}
	}
}

// isOff reports whether an option's value is one that the server takes for
// false. No value means true.
func isOff(arg *pg.Node) bool {
	switch {
	case arg == nil:
		return false
	case arg.GetInteger() != nil:
		return arg.GetInteger().Ival == 0
	case arg.GetBoolean() != nil:
		return !arg.GetBoolean().Boolval
	default:
		s := strings.ToLower(str(arg))
		return s == "false" || s == "off"
	}
}

func truncateStmt(w *walker, s *pg.TruncateStmt, v *verdict) {
	for _, n := range s.Relations {
		if rv := n.GetRangeVar(); rv != nil {
			w.changes(rv, v.class)
		}
	}
	v.text = "TRUNCATE " + names(s.Relations) + cascade(s.Behavior) + ": all rows"
	v.allRows = true
}

func cascade(b pg.DropBehavior) string {
	if b == pg.DropBehavior_DROP_CASCADE {
		return " CASCADE"
	}
	return ""
}

func dropStmt(w *walker, s *pg.DropStmt, v *verdict) {
	v.mentions = true
	v.text = "DROP " + objectType(s.RemoveType) + " " + names(s.Objects) + cascade(s.Behavior)
	if s.RemoveType == pg.ObjectType_OBJECT_SCHEMA || s.RemoveType == pg.ObjectType_OBJECT_DATABASE {
		v.class = Forbidden
	}
	for _, n := range s.Objects {
		w.object(s.RemoveType, n, v.class)
	}
}

// objectType writes a kind of object in the words of SQL.
func objectType(t pg.ObjectType) string {
	return strings.ReplaceAll(strings.TrimPrefix(t.String(), "OBJECT_"), "_", " ")
}

func viewStmt(_ *walker, s *pg.ViewStmt, v *verdict) {
	v.text = "CREATE VIEW " + relation(s.View)
	if s.Replace {
		v.atLeast(Destructive)
		v.text = "CREATE OR REPLACE VIEW " + relation(s.View)
	}
}

func alterTableStmt(_ *walker, s *pg.AlterTableStmt, v *verdict) {
	actions := make([]string, 0, 4)
	for _, n := range s.Cmds {
		c := n.GetAlterTableCmd()
		if len(actions) == maxNames {
			actions = append(actions, "and more")
			break
		}
		action := strings.ToLower(words(strings.TrimPrefix(c.GetSubtype().String(), "AT_")))
		if c.GetName() != "" {
			action += " " + show(c.GetName())
		}
		actions = append(actions, action)
	}
	v.text = "ALTER " + objectType(s.Objtype) + " " + relation(s.Relation) + ": " + strings.Join(actions, ", ")
}

func renameStmt(_ *walker, s *pg.RenameStmt, v *verdict) {
	what := nameOf(s.Object)
	if s.Relation != nil {
		what = relation(s.Relation)
	}
	if s.Subname != "" {
		what = strings.TrimPrefix(what+" "+show(s.Subname), " ")
	}
	v.text = "RENAME " + objectType(s.RenameType) + " " + what + " to " + show(s.Newname)
}

// vacuumStmt lets ANALYZE, which only refreshes the planner's statistics, pass.
func vacuumStmt(_ *walker, s *pg.VacuumStmt, v *verdict) {
	if !s.IsVacuumcmd {
		v.class, v.text = Write, "ANALYZE"
	}
}

func lockStmt(_ *walker, s *pg.LockStmt, v *verdict) { v.text = "LOCK of " + names(s.Relations) }

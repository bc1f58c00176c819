package sqlclass

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// nodeRules are the rules of messages that are no statements, by name.
func nodeRules() map[string]nodeRule {
	return map[string]nodeRule{
		"FuncCall":         onNode((*walker).funcCall),
		"A_Indirection":    onNode((*walker).indirection),
		"ColumnRef":        onNode((*walker).columnRef),
		"A_Expr":           onNode((*walker).expression),
		"SubLink":          onNode(func(w *walker, l *pg.SubLink) { w.operator(l.OperName) }),
		"SortBy":           onNode(func(w *walker, s *pg.SortBy) { w.operator(s.UseOp) }),
		"Constraint":       onNode((*walker).constraint),
		"RangeTableSample": onNode(func(w *walker, s *pg.RangeTableSample) { w.call(s.Method) }),
		"ObjectWithArgs":   onNode(func(w *walker, o *pg.ObjectWithArgs) { w.mention(o.Objname) }),
		"RangeVar":         onNode((*walker).rangeVar),
		"IntoClause":       onNode((*walker).intoClause),
		"DefElem":          onNode((*walker).defElem),
		"TypeCast":         onNode((*walker).typeCast),
		"LockingClause":    onNode((*walker).lockingClause),
	}
}

// onNode adapts a rule for one type of message.
func onNode[T any](f func(*walker, T)) nodeRule {
	return func(w *walker, m any) { f(w, m.(T)) }
}

// str is the text of a String node, empty for another node.
func str(n *pg.Node) string { return n.GetString_().GetSval() }

// qualified splits a list of name parts into the last and the one before it.
func qualified(parts []*pg.Node) (schema, name string) {
	n := len(parts)
	if n == 0 {
		return "", ""
	}
	if n > 1 {
		schema = str(parts[n-2])
	}
	return schema, str(parts[n-1])
}

func (w *walker) funcCall(f *pg.FuncCall) {
	schema, name := qualified(f.Funcname)
	e := w.call(f.Funcname)
	w.relationArgument(name, f)
	switch {
	case e == admin && name == "set_config":
		w.setConfig(f)
	case e == pure && name == "ts_rewrite" && len(f.Args) == 2: // the form that runs its second argument
		w.noteFunction(schema, name, sqltext)
	}
}

// indirection looks at (value).name: where the value has no such field, the
// server calls a function of that name on it. Most names are of fields; those
// of functions that do harm are taken for calls.
func (w *walker) indirection(i *pg.A_Indirection) {
	for _, n := range i.Indirection {
		if name := str(n); name != "" {
			if e := w.catalog.lookup("", name); e != unknown && e.class() > Read {
				w.noteFunction("", name, e)
			}
		}
	}
}

// columnRef looks at alias.name, which is such a call too where the alias is
// that of a function in FROM. The plain words among the harmful names cannot
// be called so, and are names of columns elsewhere.
func (w *walker) columnRef(c *pg.ColumnRef) {
	if len(c.Fields) < 2 {
		return
	}
	name := str(c.Fields[len(c.Fields)-1])
	if !strings.Contains(name, "_") {
		return
	}
	if e := w.catalog.lookup("", name); e != unknown && e.class() >= Admin {
		w.noteFunction("", name, e)
	}
}

// setConfig refuses set_config for a setting that SET must not touch, or for
// one whose name is computed.
func (w *walker) setConfig(f *pg.FuncCall) {
	text := "set_config of a setting whose name is computed"
	if len(f.Args) > 0 {
		if c := f.Args[0].GetAConst(); c.GetSval() != nil {
			name := c.GetSval().GetSval()
			w.hideIf(strings.EqualFold(name, "search_path"), hiddenPath)
			if w.catalog.settings.class(name) < Forbidden {
				return
			}
			text = "set_config of a setting that guards the session"
		}
	}
	w.note(Finding{Node: "FuncCall", Class: Forbidden, Code: CodeFunction, Text: text})
}

// call notes the call of a function.
func (w *walker) call(name []*pg.Node) effect {
	schema, last := qualified(name)
	if last == "" {
		return pure
	}
	e := w.catalog.lookup(schema, last)
	w.noteFunction(schema, last, e)
	return e
}

func (w *walker) noteFunction(schema, name string, e effect) {
	called := Function{Schema: schema, Name: name, Effect: e.word()}
	if schema == "pg_catalog" {
		called.Schema = ""
	}
	if e != unknown {
		called.Class = e.class()
	}
	switch {
	case slices.Contains(w.report.Functions, called):
	case len(w.report.Functions) == MaxNames:
		w.report.MoreNames = true
	default:
		w.report.Functions = append(w.report.Functions, called)
	}
	if e == pure || e == reads {
		return
	}
	f := Finding{Node: "FuncCall", Text: "call of " + ident(schema, name) + ", which " + e.String()}
	switch {
	case e == unknown:
		f.Unknown = true
	default:
		if f.Class = e.class(); f.Class == Forbidden {
			f.Code = CodeFunction
		}
	}
	w.note(f)
}

// operator notes an operator of a schema other than the server's own: it
// stands for a function that anybody may have made.
func (w *walker) operator(name []*pg.Node) {
	schema, op := qualified(name)
	if schema == "" || schema == "pg_catalog" {
		return
	}
	w.note(Finding{Node: "A_Expr", Unknown: true, Text: "operator " + ident(schema, "") + op + ", whose function is in no catalogue"})
}

// expression looks at an operator. There is no % before a value, nor a ?: that
// is %s or %(name)s where a value should stand.
func (w *walker) expression(e *pg.A_Expr) {
	w.operator(e.Name)
	if e.Kind == pg.A_Expr_Kind_AEXPR_OP && e.Lexpr == nil {
		switch _, op := qualified(e.Name); op {
		case "%", "?":
			w.template = true
		}
	}
}

// constraint looks at the operators of an exclusion constraint, which stand in
// lists of [column, operator].
func (w *walker) constraint(c *pg.Constraint) {
	for _, e := range c.Exclusions {
		if items := e.GetList().GetItems(); len(items) == 2 {
			w.operator(items[1].GetList().GetItems())
		}
	}
}

// mention refuses a function that never runs where a statement names it to
// have it called later, or by others.
func (w *walker) mention(name []*pg.Node) {
	schema, last := qualified(name)
	if !w.mentioned && last != "" && w.catalog.isForbidden(schema, last) {
		w.noteFunction(schema, last, w.catalog.lookup(schema, last))
	}
}

// defElem looks at options of definitions: they name functions as types. Those
// of a range type are called by statements that only read.
func (w *walker) defElem(d *pg.DefElem) {
	w.ownedBy(d)
	t := d.Arg.GetTypeName()
	switch {
	case t == nil:
	case d.Defname == "subtype_diff", d.Defname == "canonical":
		w.call(t.Names)
	default:
		w.mention(t.Names)
	}
}

package sqlclass

import (
	"reflect"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// walker visits the parse tree of one text and fills its report.
type walker struct {
	grammar *grammar
	catalog *catalog
	report  *Report

	worst Class // of the current top-level statement
	// planned is how many statements around this one are planned only, not
	// run: EXPLAIN without ANALYZE.
	planned int
	// mentioned: a statement around this one names functions to remove or to
	// describe them.
	mentioned bool
	// ctes are the names that WITH clauses around this place define.
	ctes []string
	// targets are relations that a statement on the way acts on: they were
	// noted as such and are not read besides.
	targets []*pg.RangeVar
	// noted are the findings without a sentence of their own so far.
	noted map[note]bool
	// template: what parses as an operator is a placeholder.
	template bool
	// sentences counts the findings that have one.
	sentences int
}

type note struct {
	node  string
	class Class
	where Where
}

// statementRule looks closer at one statement. What it finds it writes to v,
// or notes in the report.
type statementRule func(w *walker, message any, v *verdict)

// nodeRule looks at a message that is no statement.
type nodeRule func(w *walker, message any)

// verdict is what is known about one statement while it is visited.
type verdict struct {
	class   Class
	text    string // for people; the statement's verb and relation if empty
	where   Where
	allRows bool
	planned bool // what it holds is planned only
	// mentions: the functions that it names are not made callable by it.
	mentions bool
}

// atLeast raises the verdict's class.
func (v *verdict) atLeast(c Class) { v.class = max(v.class, c) }

func (w *walker) topLevel(raw *pg.RawStmt) {
	w.worst = Read
	s := w.grammar.raw
	v := reflect.ValueOf(raw).Elem()
	w.kids(s, v)
	w.report.Count++
	if len(w.report.Statements) < MaxFacts {
		w.report.Statements = append(w.report.Statements, Statement{Node: w.nodeName(raw.Stmt), Class: w.worst, Limit: limitOf(raw.Stmt.GetSelectStmt())})
	}
}

// nodeName is the name of the message that a node holds.
func (w *walker) nodeName(n *pg.Node) string {
	if n == nil || n.Node == nil {
		return ""
	}
	return w.grammar.wrappers[reflect.TypeOf(n.Node).Elem()].name
}

// message visits one message and all that it holds.
func (w *walker) message(s *shape, v reflect.Value) {
	switch {
	case s.statement:
		w.statement(s, v)
	case s.nodeFn != nil:
		s.nodeFn(w, v.Addr().Interface())
		w.kids(s, v)
	default:
		w.kids(s, v)
	}
}

func (w *walker) statement(s *shape, v reflect.Value) {
	d := verdict{class: s.class}
	targets := len(w.targets)
	statement := v.Addr().Interface()
	w.hidden(statement)
	if s.statementFn != nil {
		s.statementFn(w, statement, &d)
	}
	relation := w.target(s, v, d.class)
	if w.planned > 0 {
		d.class = Read
	}
	w.noteStatement(s, &d, relation)
	planned, mentioned := w.planned, w.mentioned
	if d.planned {
		w.planned++
	}
	w.mentioned = w.mentioned || d.mentions
	w.kids(s, v)
	w.planned, w.mentioned = planned, mentioned
	w.targets = w.targets[:targets]
}

// target notes the relation that a statement which changes something names
// directly, and returns it.
func (w *walker) target(s *shape, v reflect.Value, class Class) *pg.RangeVar {
	if class < Write {
		return nil
	}
	var first *pg.RangeVar
	for i := range s.kids {
		if k := &s.kids[i]; k.relation {
			if rv := v.Field(k.field).Interface().(*pg.RangeVar); rv != nil {
				w.changes(rv, class)
				if first == nil {
					first = rv
				}
			}
		}
	}
	return first
}

func (w *walker) noteStatement(s *shape, d *verdict, relation *pg.RangeVar) {
	f := Finding{Node: s.name, Class: d.class, Where: d.where, AllRows: d.allRows}
	if d.class == Forbidden {
		switch f.Code = CodeForbidden; {
		case s.unclassified:
			f.Code = CodeUnclassified
		case s.name == "TransactionStmt":
			f.Code, f.Hint = CodeTransaction, hintTransaction
		}
	}
	if d.class > Read {
		if f.Text = d.text; f.Text == "" {
			f.Text = sentence(s.name, relation)
		}
	}
	w.note(f)
}

// note adds a finding that is not there yet. Only so many get a sentence, but
// every node, class and condition gets a finding.
func (w *walker) note(f Finding) {
	f.Text = clip(f.Text)
	w.worst = max(w.worst, f.Class)
	w.report.Class = max(w.report.Class, f.Class)
	w.report.Unknown = w.report.Unknown || f.Unknown
	if f.Text == "" || w.sentences >= MaxFacts {
		key := note{f.Node, f.Class, f.Where}
		if w.noted[key] {
			return
		}
		if w.noted == nil {
			w.noted = make(map[note]bool, 4)
		}
		w.noted[key] = true
		w.report.Findings = append(w.report.Findings, f)
		return
	}
	if !slices.Contains(w.report.Findings, f) {
		w.report.Findings = append(w.report.Findings, f)
		w.sentences++
	}
}

// kids visits the messages that a message holds. What a WITH clause defines is
// visited first, because it names what the rest may refer to.
func (w *walker) kids(s *shape, v reflect.Value) {
	names := len(w.ctes)
	if s.with >= 0 {
		if with, _ := reflect.TypeAssert[*pg.WithClause](v.Field(s.kids[s.with].field)); with != nil {
			w.with(with)
		}
	}
	for i := range s.kids {
		if i == s.with {
			continue
		}
		k := &s.kids[i]
		f := v.Field(k.field)
		switch k.form {
		case single:
			if !f.IsNil() {
				w.message(k.shape, f.Elem())
			}
		case many:
			for j := range f.Len() {
				if e := f.Index(j); !e.IsNil() {
					w.message(k.shape, e.Elem())
				}
			}
		case choice:
			if !f.IsNil() {
				wrapper := f.Elem().Elem()
				w.choice(wrapper)
			}
		}
	}
	w.ctes = w.ctes[:names]
}

func (w *walker) choice(wrapper reflect.Value) {
	s, ok := w.grammar.wrappers[wrapper.Type()]
	if !ok { // a scalar
		return
	}
	if inner := wrapper.Field(0); !inner.IsNil() {
		w.message(s, inner.Elem())
	}
}

// with visits a WITH clause and leaves its names in scope.
func (w *walker) with(clause *pg.WithClause) {
	if clause.Recursive {
		for _, n := range clause.Ctes {
			w.ctes = append(w.ctes, n.GetCommonTableExpr().GetCtename())
		}
	}
	for _, n := range clause.Ctes {
		w.message(w.grammar.node, reflect.ValueOf(n).Elem())
		if !clause.Recursive {
			w.ctes = append(w.ctes, n.GetCommonTableExpr().GetCtename())
		}
	}
}

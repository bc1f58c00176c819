package sql

import (
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

// addNames holds the names in a report against the policy's lists.
func (o *outcome) addNames(r *rules, report *sqlclass.Report) {
	if report.MoreNames && (r.tables != nil || r.functions.any()) {
		o.deny(ruling{code: CodeNames, rule: CodeNames, text: "it names more tables or functions than the policy can check; send it in smaller parts"})
		return
	}
	o.addTables(r.tables, report)
	if !r.functions.any() {
		return
	}
	for _, f := range report.Functions {
		class := r.functions.classOf(f)
		switch {
		case class == 0 && f.Class == 0:
			o.put(r.unknownFunctions, ruling{
				code: CodeUnknownFunction, rule: "sql.unknownFunctions", risk: chain.RiskMedium,
				text: "call of " + f.String() + ", which is in no catalogue",
			})
		case class > f.Class:
			o.addDeclared(r, f, class)
		}
	}
}

// addDeclared answers the call of a function of which the policy says more
// than is known of it.
func (o *outcome) addDeclared(r *rules, f sqlclass.Function, class sqlclass.Class) {
	a, tightened := r.answerTo("FuncCall", class)
	o.put(a, rulingOf(&sqlclass.Finding{
		Node: "FuncCall", Class: class, Code: sqlclass.CodeFunction,
		Text: "call of " + f.String() + ", which the policy counts as " + class.String(),
	}, tightened))
}

func (o *outcome) put(a answer, r ruling) {
	switch a {
	case allow:
	case ask:
		o.asked = append(o.asked, r)
	default:
		o.deny(r)
	}
}

func (o *outcome) addTables(t *tables, report *sqlclass.Report) {
	if t == nil {
		return
	}
	for _, table := range report.Tables {
		if !t.permit(table) {
			o.deny(ruling{
				code: CodeTable, rule: CodeTable, text: "the policy does not allow the table " + table.String(),
				hint: t.hintFor(table),
			})
			return
		}
	}
	if len(report.Hidden) > 0 {
		o.deny(ruling{
			code: CodeTablesHidden, rule: CodeTablesHidden,
			text: "the policy bounds the tables, and it may reach others by " + report.Hidden[0],
		})
	}
}

func (t *tables) hintFor(table sqlclass.Table) string {
	if table.Schema == "" && len(t.searchPath) > 1 {
		return "write its schema before its name"
	}
	return ""
}

// addWhere denies a statement that the policy wants to choose rows and that
// does not.
func (o *outcome) addWhere(r *rules, f *sqlclass.Finding) {
	if !r.whereOf[f.Node] || f.Class <= sqlclass.Read || f.Where == "" || f.Where == sqlclass.WherePresent {
		return
	}
	o.deny(ruling{code: CodeWhere, rule: CodeWhere, text: f.Text, hint: "the policy requires a condition that chooses rows by their columns"})
}

package sql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

// outcome gathers what the texts of one call lead to.
type outcome struct {
	reports []*sqlclass.Report
	denied  *ruling
	asked   []ruling
}

// ruling is one finding that does not pass.
type ruling struct {
	code, rule string
	text       string // for people, and in the message to the agent
	hint       string
	risk       chain.Risk
}

func (o *outcome) add(r *rules, report *sqlclass.Report) {
	o.reports = append(o.reports, report)
	if report.Code != "" {
		o.deny(ruling{code: report.Code, rule: report.Code, text: explain(report.Code), hint: report.Hint})
		return
	}
	for i := range report.Findings {
		f := &report.Findings[i]
		if f.Unknown && f.Node == "FuncCall" && r.functions.any() {
			continue // addNames looks at each of them
		}
		a, tightened := r.answer(f)
		o.put(a, rulingOf(f, tightened))
		o.addWhere(r, f)
	}
	o.addNames(r, report)
}

// deny keeps the first refusal.
func (o *outcome) deny(r ruling) {
	if o.denied == nil {
		o.denied = &r
	}
}

func rulingOf(f *sqlclass.Finding, tightened bool) ruling {
	r := ruling{text: f.Text, hint: f.Hint, risk: chain.RiskMedium}
	if r.text == "" {
		r.text = strings.TrimSuffix(f.Node, "Stmt")
	}
	switch {
	case f.Unknown:
		r.code, r.rule = CodeUnknownFunction, "sql.unknownFunctions"
		return r
	case f.Class == sqlclass.Forbidden:
		r.code, r.rule = f.Code, f.Code
		return r
	case f.Class == sqlclass.Admin:
		r.code, r.risk = CodeAdmin, chain.RiskHigh
	case f.Class == sqlclass.Destructive:
		r.code = CodeDestructive
		if f.AllRows || f.Node == "DropStmt" { // nothing brings it back
			r.risk = chain.RiskHigh
		}
	}
	r.rule = "sql.class." + f.Class.String()
	if tightened {
		r.code, r.rule = CodeOverride, "sql.override."+f.Node
	}
	return r
}

func (o *outcome) decision() chain.Decision {
	switch {
	case o.denied != nil:
		return chain.Deny{Basis: o.basis(o.denied.rule), Code: o.denied.code, Message: o.denied.message()}
	case len(o.asked) > 0:
		return o.question()
	default:
		return chain.Allow{Basis: o.basis("sql.class." + o.worst().String())}
	}
}

func (o *outcome) worst() sqlclass.Class {
	worst := sqlclass.Read
	for _, r := range o.reports {
		worst = max(worst, r.Class)
	}
	return worst
}

// question makes one AskUser of all that must be asked: the first of the
// highest risk in the prompt, everything in the details.
func (o *outcome) question() chain.AskUser {
	worst := 0
	risk := o.asked[0].risk
	for i, r := range o.asked {
		if higher := risk.Max(r.risk); higher != risk {
			risk, worst = higher, i
		}
	}
	q := chain.AskUser{
		Basis:  o.basis(o.asked[worst].rule),
		Code:   o.asked[worst].code,
		Prompt: "The agent wants to run SQL: " + o.asked[worst].text,
		Risk:   risk,
	}
	if n := len(o.asked) - 1; n > 0 {
		q.Prompt += fmt.Sprintf(", and %d more", n)
	}
	for i, r := range o.asked {
		if i == sqlclass.MaxFacts {
			q.Details = append(q.Details, fmt.Sprintf("and %d more", len(o.asked)-i))
			break
		}
		q.Details = append(q.Details, r.text)
	}
	q.Details = append(q.Details, o.touched()...)
	return q
}

// touched says for people how many statements there are, and which tables they
// name.
func (o *outcome) touched() []string {
	var reads, changes []string
	statements := 0
	for _, r := range o.reports {
		statements += r.Count
		for _, t := range r.Tables {
			list := &reads
			if t.Write {
				list = &changes
			}
			if name := t.String(); !slices.Contains(*list, name) {
				*list = append(*list, name)
			}
		}
	}
	var lines []string
	if statements > 1 {
		lines = append(lines, fmt.Sprintf("%d statements in all", statements))
	}
	if len(changes) > 0 {
		lines = append(lines, "changes "+listed(changes))
	}
	if len(reads) > 0 {
		lines = append(lines, "reads "+listed(reads))
	}
	return lines
}

// maxShown is how many tables people are shown.
const maxShown = 20

func listed(names []string) string {
	if more := len(names) - maxShown; more > 0 {
		return strings.Join(names[:maxShown], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// message tells the agent what was refused and, where it helps, how to say it
// better.
func (r *ruling) message() string {
	m := "The SQL was refused: " + r.text + "."
	if r.hint != "" {
		m += " " + strings.ToUpper(r.hint[:1]) + r.hint[1:] + "."
	}
	return m
}

// explain says what the code of a refused text means.
func explain(code string) string {
	switch code {
	case sqlclass.CodeEmpty:
		return "it holds no statement"
	case sqlclass.CodeNUL:
		return "it holds a NUL character"
	case sqlclass.CodeTooLarge:
		return "it is too long; send it in smaller parts"
	case sqlclass.CodeCommentNesting:
		return "its comments are nested too deep"
	case sqlclass.CodeOperators:
		return "it holds too many comments or operators in a row"
	case sqlclass.CodeTooDeep:
		return "its expressions are nested too deep"
	case sqlclass.CodePsql:
		return "it holds a command of psql"
	case sqlclass.CodePlaceholder:
		return "it holds a placeholder without a value"
	case sqlclass.CodeDialect:
		return "it is the SQL of another database"
	default:
		return "it is not SQL that PostgreSQL can parse"
	}
}

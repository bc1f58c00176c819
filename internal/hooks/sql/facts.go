package sql

import (
	"encoding/json"
	"strconv"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

// basis makes the facts of the record: names and kinds, no literals.
func (o *outcome) basis(rule string) chain.Basis {
	if len(o.reports) == 1 {
		return chain.Basis{Rule: rule, Facts: facts(o.reports[0])}
	}
	texts := make([]any, 0, len(o.reports))
	for _, r := range o.reports[:min(len(o.reports), sqlclass.MaxFacts)] {
		texts = append(texts, facts(r))
	}
	return chain.Basis{Rule: rule, Facts: map[string]any{"class": o.worst().String(), "texts": texts, "count": number(len(o.reports))}}
}

func facts(r *sqlclass.Report) map[string]any {
	f := map[string]any{"class": r.Class.String()}
	if r.Code != "" {
		f["refused"] = r.Code
		return f
	}
	statements := make([]any, len(r.Statements))
	for i, s := range r.Statements {
		statements[i] = map[string]any{"kind": s.Node, "class": s.Class.String()}
	}
	f["statements"] = statements
	if r.Count > len(r.Statements) {
		f["statementCount"] = number(r.Count)
	}
	if found := findings(r.Findings); len(found) > 0 {
		f["findings"] = found
	}
	if len(r.Tables) > 0 {
		tables := make([]any, len(r.Tables))
		for i, t := range r.Tables {
			tables[i] = tableFact(t)
		}
		f["tables"] = tables
	}
	if len(r.Functions) > 0 {
		functions := make([]any, len(r.Functions))
		for i, name := range r.Functions {
			functions[i] = name
		}
		f["functions"] = functions
	}
	return f
}

// findings lists what did more than read, at most MaxFacts.
func findings(all []sqlclass.Finding) []any {
	var found []any
	for i := range all {
		f := &all[i]
		if f.Class == sqlclass.Read || len(found) == sqlclass.MaxFacts {
			continue
		}
		fact := map[string]any{"node": f.Node, "class": f.Class.String(), "text": f.Text}
		if f.Unknown {
			fact["class"] = "unknown"
		}
		if f.Where != "" {
			fact["where"] = string(f.Where)
		}
		found = append(found, fact)
	}
	return found
}

func tableFact(t sqlclass.Table) map[string]any {
	fact := map[string]any{"name": t.Name, "access": "read"}
	if t.Schema != "" {
		fact["schema"] = t.Schema
	}
	if t.Write {
		fact["access"] = "write"
	}
	return fact
}

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }

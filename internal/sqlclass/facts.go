package sqlclass

import (
	"encoding/json"
	"strconv"
)

// Facts are what a record says of the text: names and kinds, no literals, in
// values as JSON has them (numbers are json.Number). They are made once for a
// report. Nobody may change them.
func (r *Report) Facts() map[string]any {
	r.factsOnce.Do(func() { r.facts = makeFacts(r) })
	return r.facts
}

func makeFacts(r *Report) map[string]any {
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
func findings(all []Finding) []any {
	var found []any
	for i := range all {
		f := &all[i]
		if f.Class == Read || len(found) == MaxFacts {
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

func tableFact(t Table) map[string]any {
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

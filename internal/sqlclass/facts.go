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
		statement := map[string]any{"kind": s.Node, "class": s.Class.String()}
		if s.Limit != "" {
			statement["rowLimit"] = s.Limit
		}
		statements[i] = statement
	}
	f["statements"] = statements
	if r.Count > len(r.Statements) {
		f["statementCount"] = number(r.Count)
	}
	if found := findings(r.Findings); len(found) > 0 {
		f["findings"] = found
	}
	addFacts(f, "tables", r.Tables, tableFact)
	addFacts(f, "functions", r.Functions, functionFact)
	addFacts(f, "hidden", r.Hidden, func(what string) any { return what })
	if r.MoreNames {
		f["moreNames"] = true
	}
	return f
}

// addFacts adds at most MaxFacts facts of one kind, and how many there are where
// that is not all.
func addFacts[T any](facts map[string]any, name string, all []T, fact func(T) any) {
	if len(all) == 0 {
		return
	}
	if len(all) > MaxFacts {
		facts[name+"Count"] = number(len(all))
		all = all[:MaxFacts]
	}
	made := make([]any, len(all))
	for i := range all {
		made[i] = fact(all[i])
	}
	facts[name] = made
}

func functionFact(f Function) any {
	fact := map[string]any{"name": f.Name, "effect": f.Effect}
	if f.Schema != "" {
		fact["schema"] = f.Schema
	}
	return fact
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

func tableFact(t Table) any {
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

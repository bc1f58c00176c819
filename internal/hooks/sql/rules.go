package sql

import (
	"fmt"
	"slices"

	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

// answer is what a finding leads to. The zero value denies.
type answer uint8

const (
	deny answer = iota
	ask
	allow
)

// stricter returns the stricter of two answers.
func stricter(a, b answer) answer { return min(a, b) }

func parseAnswer(v plan.Verdict) (answer, error) {
	switch v {
	case plan.VerdictAllow:
		return allow, nil
	case plan.VerdictAsk:
		return ask, nil
	case plan.VerdictDeny:
		return deny, nil
	default:
		return deny, fmt.Errorf("decision %q is not Allow, Ask or Deny", v)
	}
}

// rules are a policy's answers.
type rules struct {
	unknownFunctions answer
	byClass          map[string]answer
	byNode           map[string]answer
	functions        functions
	tables           *tables // nil: any
	whereOf          map[string]bool
}

// newRules reads a policy's answers. isSystem tells the server's own relations.
func newRules(s *plan.DestructiveSQL, isSystem func(name string) bool) (rules, error) {
	r := rules{byClass: make(map[string]answer), byNode: make(map[string]answer), whereOf: make(map[string]bool)}
	var err error
	if r.functions, err = newFunctions(s); err != nil {
		return r, err
	}
	if r.tables, err = newTables(s.Tables, isSystem); err != nil {
		return r, err
	}
	for _, w := range s.RequireWhere {
		switch w {
		case plan.WhereUpdate:
			r.whereOf["UpdateStmt"], r.whereOf["MergeStmt"] = true, true
		case plan.WhereDelete:
			r.whereOf["DeleteStmt"], r.whereOf["MergeStmt"] = true, true
		default:
			return r, fmt.Errorf("requireWhere: %q is not Update or Delete", w)
		}
	}
	if r.unknownFunctions, err = parseAnswer(s.UnknownFunctions); err != nil {
		return r, fmt.Errorf("unknownFunctions: %w", err)
	}
	for i, o := range s.Overrides {
		a, err := parseAnswer(o.Decision)
		if err != nil {
			return r, fmt.Errorf("overrides[%d]: %w", i, err)
		}
		switch {
		case (o.Class == "") == (o.Statement == ""):
			return r, fmt.Errorf("overrides[%d]: one of class and statement must be set", i)
		case o.Class != "":
			if !slices.Contains([]string{"read", "write", "destructive", "admin"}, o.Class) {
				return r, fmt.Errorf("overrides[%d]: class %q cannot be overridden", i, o.Class)
			}
			put(r.byClass, o.Class, a)
		default:
			if !slices.Contains(sqlclass.Nodes(), o.Statement) {
				return r, fmt.Errorf("overrides[%d]: %q is no statement of the grammar", i, o.Statement)
			}
			put(r.byNode, o.Statement, a)
		}
	}
	return r, nil
}

// put keeps the stricter of two answers to the same thing.
func put(m map[string]answer, key string, a answer) {
	if old, ok := m[key]; ok {
		a = stricter(old, a)
	}
	m[key] = a
}

// answer returns what a finding leads to, and whether an override of the
// policy made it stricter than it is by itself.
func (r *rules) answer(f *sqlclass.Finding) (a answer, tightened bool) {
	if f.Unknown {
		return r.unknownFunctions, false
	}
	return r.answerTo(f.Node, f.Class)
}

// answerTo returns what a node of a class leads to.
func (r *rules) answerTo(node string, class sqlclass.Class) (a answer, tightened bool) {
	base := deny
	switch class {
	case sqlclass.Read, sqlclass.Write:
		base = allow
	case sqlclass.Destructive, sqlclass.Admin:
		base = ask
	default: // Forbidden, and what has no class
	}
	if base == deny {
		return deny, false
	}
	a = base
	byClass, ok := r.byClass[class.String()]
	if ok {
		a = byClass
	}
	if byNode, hasNode := r.byNode[node]; hasNode {
		a = byNode
		if ok && byClass == deny { // nothing loosens Deny
			a = deny
		}
	}
	return a, a < base
}

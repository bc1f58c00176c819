// Package stmtclass is the table of PostgreSQL's statement nodes: which class
// each belongs to and what is answered for it by default.
//
// The table covers every statement node of the PostgreSQL 16 grammar, by the
// node's name in the parse tree, such as InsertStmt. A node that it lacks has
// no class, and what has no class is denied. The table says what a node means
// by itself; what stands within the statement may make it worse, and that is
// for the classifier to find.
package stmtclass

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// The classes, from harmless to refused. A node whose class depends wholly on
// what it holds has the empty class.
const (
	Read        = "read"
	Write       = "write"
	Destructive = "destructive"
	Admin       = "admin"
	Forbidden   = "forbidden"
)

// The decisions. Allow, Ask and Deny are spelled as package plan's verdicts.
const (
	Allow = "Allow"
	Ask   = "Ask"
	Deny  = "Deny"
	// Inner: the statement within decides.
	Inner = "Inner"
	// ByForm: the form of the statement decides, as for COPY.
	ByForm = "ByForm"
)

// Classes returns the names of the classes, from harmless to refused.
func Classes() []string { return []string{Read, Write, Destructive, Admin, Forbidden} }

// Class returns the class of a statement node and the decision for it by
// default; ok is false for a name that is no statement node.
func Class(node string) (class, decision string, ok bool) {
	e, ok := table()[node]
	return e.class, e.decision, ok
}

// ClassDecision returns what is answered for a class by default. ok is false
// for a name that is no class.
func ClassDecision(class string) (decision string, ok bool) {
	switch class {
	case Read, Write:
		return Allow, true
	case Destructive, Admin:
		return Ask, true
	case Forbidden:
		return Deny, true
	default:
		return "", false
	}
}

// Nodes returns the names of all statement nodes, sorted.
func Nodes() []string { return slices.Sorted(maps.Keys(table())) }

type entry struct{ class, decision string }

//go:embed stmt_classes.json
var source []byte

// table is read once, at its first use, and never changed.
var table = sync.OnceValue(func() map[string]entry {
	var raw map[string]struct{ Class, Decision string }
	if err := json.Unmarshal(source, &raw); err != nil {
		// Impossible: the table is part of the program and a test reads it.
		panic(fmt.Sprintf("stmtclass: read the table: %v", err))
	}
	t := make(map[string]entry, len(raw))
	for node, r := range raw {
		t[node] = normalize(r.Class, r.Decision)
	}
	return t
})

// normalize turns the words of the published table into this package's. A word
// that it does not know becomes Deny.
func normalize(class, decision string) entry {
	e := entry{class: class}
	if _, ok := ClassDecision(class); !ok {
		e.class = ""
	}
	switch decision {
	case "Allow":
		e.decision = Allow
	case "AskUser":
		e.decision = Ask
	case "inner":
		e.decision = Inner
	case "split":
		e.decision = ByForm
	default:
		e.decision = Deny
	}
	if e.class == "" && e.decision == Deny {
		e.class = Forbidden
	}
	return e
}

// Package sql is the destructiveSQL hook: it holds back or refuses texts of
// SQL by what they would do.
//
// Every judged argument of a guarded tool must be there and must be a text, or
// a list of texts, each of which is judged. Reading and adding pass; changing
// or removing what is there, and acting on the server, asks a person; what
// never runs, or cannot be judged, is denied. The strictest answer wins.
//
// A policy's overrides change the answer to a class or to a kind of statement.
// They may tighten anything and loosen Ask to Allow; nothing loosens Deny. The
// answer to a kind of statement counts before the answer to its class. Its
// functions say what functions do that the catalogue does not know.
//
// A policy may also bound the tables that texts may name, and require that
// UPDATE and DELETE have a condition that chooses rows. Where it bounds tables,
// a text that may reach one without naming it is denied. What views, triggers
// and functions reach is not known to anybody who only sees the text.
package sql

import (
	"context"
	"errors"
	"fmt"

	"github.com/hookpolicy/hookpolicy/internal/argpath"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

// Codes of this hook's own refusals. Those of texts are package sqlclass's.
const (
	CodeMissing         = "sql.missing"  // a judged argument is not there
	CodeNotText         = "sql.not_text" // it is no text and no list of texts
	CodeDestructive     = "sql.destructive"
	CodeAdmin           = "sql.admin"
	CodeUnknownFunction = "sql.unknown_function"
	CodeOverride        = "sql.override" // the policy denies or asks where nothing else does
	CodeTable           = "sql.table_not_allowed"
	CodeTablesHidden    = "sql.tables_undecidable" // the text may reach tables that it does not name
	CodeNames           = "sql.too_many_names"     // more than can be held against the policy's lists
	CodeWhere           = "sql.where_required"
)

// A Classifier says what a text of one dialect would do.
type Classifier interface {
	Classify(ctx context.Context, text string, maxBytes int) (*sqlclass.Report, error)
	// IsSystemRelation reports whether a name without a schema means one of
	// the server's own relations.
	IsSystemRelation(name string) bool
}

// Classifiers are the dialects that there are.
type Classifiers map[plan.SQLDialect]Classifier

// New returns the constructor of hooks that share the classifiers.
func New(dialects Classifiers) chain.Constructor {
	return func(_ *plan.Segment, h *plan.Hook) (chain.Hook, error) {
		if h.DestructiveSQL == nil {
			return nil, errors.New("the hook has no destructiveSQL settings")
		}
		c, ok := dialects[h.DestructiveSQL.Dialect]
		if !ok {
			return nil, fmt.Errorf("no SQL of the dialect %q can be judged", h.DestructiveSQL.Dialect)
		}
		rules, err := newRules(h.DestructiveSQL, c.IsSystemRelation)
		if err != nil {
			return nil, err
		}
		hook := &Hook{classifier: c, rules: rules, maxBytes: int(h.DestructiveSQL.MaxBytes), judged: make(map[string][]argpath.Path)}
		for i := range h.Guards {
			g := &h.Guards[i]
			if len(g.Judged) == 0 {
				return nil, fmt.Errorf("the tool %s has no argument to judge", g.Tool)
			}
			for _, text := range g.Judged {
				p, err := argpath.Parse(text)
				if err != nil {
					return nil, fmt.Errorf("argument path %q: %w", text, err)
				}
				hook.judged[g.Tool] = append(hook.judged[g.Tool], p)
			}
		}
		return hook, nil
	}
}

// Hook judges the SQL texts of calls. It is safe for concurrent use.
type Hook struct {
	classifier Classifier
	rules      rules
	maxBytes   int
	judged     map[string][]argpath.Path // by tool
}

var _ chain.PromptHook = (*Hook)(nil)

// Prompt reports that the hook never waits: texts are bounded, and so is what
// the parser makes of them.
func (h *Hook) Prompt() bool { return true }

// Decide judges every SQL text of a call. A tool that the hook does not guard
// passes.
func (h *Hook) Decide(ctx context.Context, call *chain.Call) (chain.Decision, error) {
	paths, guarded := h.judged[call.Tool]
	if !guarded {
		return chain.Allow{Basis: chain.Basis{Rule: "sql.not_guarded"}}, nil
	}
	var o outcome
	for _, p := range paths {
		texts, refused := textsAt(p, call.Args)
		if refused != nil {
			return *refused, nil
		}
		for _, text := range texts {
			report, err := h.classifier.Classify(ctx, text, h.maxBytes)
			if err != nil {
				return nil, fmt.Errorf("classify SQL: %w", err)
			}
			o.add(&h.rules, report)
		}
	}
	return o.decision(), nil
}

// textsAt returns the texts that a path leads to. There must be one, and
// nothing but texts and lists of texts.
func textsAt(p argpath.Path, args map[string]any) ([]string, *chain.Deny) {
	matches := p.Find(args)
	if len(matches) == 0 {
		return nil, refuse(CodeMissing, p, "the argument "+p.String()+" is required and must be SQL text")
	}
	texts := make([]string, 0, len(matches))
	for _, m := range matches {
		switch v := m.Value.(type) {
		case string:
			texts = append(texts, v)
		case []any:
			for _, e := range v {
				s, ok := e.(string)
				if !ok {
					return nil, refuse(CodeNotText, p, "the argument "+p.String()+" must be SQL text")
				}
				texts = append(texts, s)
			}
		default:
			return nil, refuse(CodeNotText, p, "the argument "+p.String()+" must be SQL text")
		}
	}
	if len(texts) == 0 {
		return nil, refuse(CodeMissing, p, "the argument "+p.String()+" holds no SQL text")
	}
	return texts, nil
}

func refuse(code string, p argpath.Path, message string) *chain.Deny {
	return &chain.Deny{
		Basis:   chain.Basis{Rule: code, Facts: map[string]any{"argument": p.String()}},
		Code:    code,
		Message: message,
	}
}

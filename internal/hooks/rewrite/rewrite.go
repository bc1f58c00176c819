// Package rewrite is the rewrite hook: it removes and sets arguments as the
// policy says, and judges nothing.
//
// Removals come first and then the assignments, each in the order of the
// policy, so that what is set stands; then SQL texts get their limit of rows.
// Rewriting twice is rewriting once. A text that gives too many rows and into
// which no limit can be put is denied.
// Nothing is changed beside the places named and the objects on the way to
// them. A call in which something that is no object stands in the way of an
// assignment is denied: the tool must not run without what the policy sets.
package rewrite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/hookpolicy/hookpolicy/internal/argpath"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// CodeImpossible denies a call whose arguments leave no place for what is set.
const CodeImpossible = "rewrite.impossible"

// CodeNotText denies a call whose argument is to be limited and is no text and
// no list of texts.
const CodeNotText = "sql.not_text"

// A Limiter puts limits into texts of SQL. The package sqlclass has one.
type Limiter interface {
	// LimitRows returns the text so that no query in it gives more than maxRows
	// rows. A code says that it cannot; the hint, how to write it so that it
	// can. The error is not nil only when the context was over.
	LimitRows(ctx context.Context, text string, maxRows int) (limited, code, hint string, err error)
}

type hook struct {
	remove  []argpath.Path
	set     []assignment
	limiter Limiter
	limit   *argpath.Path // nil: no limit
	maxRows int
}

type assignment struct {
	at    argpath.Path
	value any // never handed out: calls get copies
}

// New returns the constructor of hooks that share a limiter.
func New(l Limiter) chain.Constructor {
	return func(_ *plan.Segment, h *plan.Hook) (chain.Hook, error) { return newHook(l, h) }
}

// newHook makes the hook that a plan's Rewrite describes.
func newHook(l Limiter, h *plan.Hook) (chain.Hook, error) {
	if h.Rewrite == nil {
		return nil, errors.New("rewrite: no settings")
	}
	var errs []error
	r := hook{limiter: l}
	if s := h.Rewrite.SQLLimit; s != nil {
		if err := r.limitTo(s); err != nil {
			errs = append(errs, fmt.Errorf("sqlLimit: %w", err))
		}
	}
	for _, text := range h.Rewrite.Remove {
		p, err := argpath.Parse(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("remove %q: %w", text, err))
			continue
		}
		r.remove = append(r.remove, p)
	}
	for _, a := range h.Rewrite.Set {
		if err := r.add(a); err != nil {
			errs = append(errs, fmt.Errorf("set %q: %w", a.Path, err))
		}
	}
	if len(errs) == 0 && !r.assign(map[string]any{}) {
		errs = append(errs, errors.New("set: an assignment needs an object where another one puts something else"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("rewrite: %w", err)
	}
	return &r, nil
}

// add takes an assignment, unless it would undo one before it: the next pass
// of the chain would then find its own work in the way.
func (r *hook) add(a plan.Assignment) error {
	at, err := argpath.Parse(a.Path)
	if err != nil {
		return err
	}
	value, err := strictjson.Parse([]byte(a.Value))
	if err != nil {
		return fmt.Errorf("value: %w", err)
	}
	for _, before := range r.set {
		if at.Covers(before.at) {
			return fmt.Errorf("overwrites what %q sets", before.at)
		}
	}
	r.set = append(r.set, assignment{at: at, value: value})
	return nil
}

// Prompt reports that the hook never waits.
func (r *hook) Prompt() bool { return true }

// Decide rewrites the call's arguments.
func (r *hook) Decide(ctx context.Context, call *chain.Call) (chain.Decision, error) {
	args := strictjson.CloneObject(call.Args)
	if args == nil {
		args = map[string]any{}
	}
	removed := []any{}
	for _, p := range r.remove {
		if p.Remove(args) {
			removed = append(removed, p.String())
		}
	}
	if !r.assign(args) {
		return chain.Deny{
			Basis:   chain.Basis{Rule: CodeImpossible},
			Code:    CodeImpossible,
			Message: "the arguments leave no place for what the policy sets",
		}, nil
	}
	switch refused, err := r.limitSQL(ctx, args); {
	case err != nil:
		return nil, err
	case refused != nil:
		return *refused, nil
	}
	if strictjson.Equal(args, call.Args) {
		return chain.Allow{Basis: chain.Basis{Rule: "rewrite.unchanged"}}, nil
	}
	set := make([]any, len(r.set))
	for i, a := range r.set {
		set[i] = a.at.String()
	}
	facts := map[string]any{"removed": removed, "set": set}
	if r.limit != nil {
		facts["sqlLimit"] = json.Number(strconv.Itoa(r.maxRows))
	}
	return chain.Rewrite{Basis: chain.Basis{Rule: "rewrite.changed", Facts: facts}, Args: args}, nil
}

func (r *hook) assign(args map[string]any) bool {
	for _, a := range r.set {
		if !a.at.Set(args, strictjson.Clone(a.value)) {
			return false
		}
	}
	return true
}

// Package paths is the pathAllowlist hook: it keeps the paths in a call's
// arguments beneath the policy's roots.
//
// Every judged argument is a string, or an array of them to any depth. Each
// path is refused by its form first (see form.go), then resolved, then
// compared with the roots name by name. If every path lies inside and is
// already what it resolves to, the answer is Allow. If one resolves to
// something else, the answer is a Rewrite to the resolved paths, so that what
// was checked is what is opened; judged again, that call is allowed unchanged.
// All else is a Deny. A relative path is one of the working directory that the
// policy declares; without one it is refused.
//
// # Who resolves
//
// In mode Service the hook resolves a path itself, as the kernel would: name
// by name, ".." after a link going up from the link's target. It holds an open
// handle of every directory on the way and looks up each name relative to the
// handle before it, never following a link without having read it. So, however
// the tree changes meanwhile, each name of the answer was seen as no link, in
// the directory seen before it; a swap can make the answer stale, but cannot
// make it lie outside. What does not exist yet is named by its deepest existing
// ancestor. Roots may be links; one that cannot be seen holds nothing.
//
// In mode Agent the enforcement point has resolved the paths and says so in
// the call's Resolved. That is a claim; the hook holds the caller to it by
// rewriting to the claimed path. So a relative path needs no working directory
// there, and a root that is a link in the agent's file system must be written
// as what it leads to.
//
// In mode Lexical nobody resolves: the path is cleaned, and links are not
// seen. The tool is given the cleaned path.
//
// # What no mode can promise
//
// The tool opens the path after the decision. Only a tool that opens beneath
// the root without following links out of it (os.Root, openat2 with
// RESOLVE_BENEATH) is safe from a change in between. A hard link to a file
// outside is an ordinary file inside, a mount inside is a directory inside,
// and a tool in another mount namespace may see another tree at the same path.
package paths

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/hookpolicy/hookpolicy/internal/argpath"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// Codes of this hook's decisions.
const (
	CodeMissing        = "path.missing"          // the call has no path to judge
	CodeNotText        = "path.not_text"         // a judged argument is no string
	CodeTooMany        = "path.too_many"         // more than MaxPaths
	CodeForm           = "path.form"             // could be read as another path
	CodeRelative       = "path.relative"         // relative to an unknown directory
	CodeUnresolved     = "path.unresolved"       // does not lead anywhere that is known
	CodeSpecial        = "path.special"          // no place or kind of file for tools
	CodeOutside        = "path.outside"          // outside every root
	CodeRootNotVisible = "path.root_not_visible" // outside every root that can be seen
)

// MaxPaths bounds the paths of one call.
const MaxPaths = 1000

// A refusal is why a path is denied. Rule is its code or more precise.
type refusal struct {
	code, rule, message string
}

func refuse(code, message string) *refusal {
	return &refusal{code: code, rule: code, message: message}
}

// A resolver finds out what one path means.
type resolver interface {
	// resolve returns the path that a path means and the root that holds it.
	// The error says that it could not be judged.
	resolve(ctx context.Context, path string) (resolved, root string, no *refusal, err error)
}

type hook struct {
	mode   plan.Resolve
	judged map[string][]argpath.Path // by tool
	start  func(call *chain.Call) resolver
}

var _ chain.Constructor = New

// New returns the hook that a plan's PathAllowlist describes.
func New(_ *plan.Segment, h *plan.Hook) (chain.Hook, error) {
	if h.PathAllowlist == nil {
		return nil, errors.New("pathAllowlist: no settings")
	}
	guard := &hook{mode: h.PathAllowlist.Resolve, judged: make(map[string][]argpath.Path)}
	p, err := newPlaces(h.PathAllowlist)
	errs := []error{err}
	for _, g := range h.Guards {
		judged, err := parseJudged(g)
		guard.judged[g.Tool] = judged
		errs = append(errs, err)
	}
	for _, tool := range h.Tools {
		if h.GuardOf(tool) == nil {
			errs = append(errs, fmt.Errorf("tool %q: no argument is declared", tool))
		}
	}
	switch guard.mode {
	case plan.ResolveService:
		guard.start = func(*chain.Call) resolver { return &service{places: p} }
	case plan.ResolveAgent:
		guard.start = func(c *chain.Call) resolver { return newAgent(p, c.Resolved) }
	case plan.ResolveLexical:
		guard.start = func(*chain.Call) resolver { return lexical{p} }
	default:
		errs = append(errs, fmt.Errorf("resolve: unknown mode %q", guard.mode))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("pathAllowlist: %w", err)
	}
	return guard, nil
}

func parseJudged(g plan.Guard) ([]argpath.Path, error) {
	var errs []error
	if len(g.Judged) == 0 {
		errs = append(errs, fmt.Errorf("tool %q: no argument is judged", g.Tool))
	}
	judged := make([]argpath.Path, 0, len(g.Judged))
	for _, text := range g.Judged {
		p, err := argpath.Parse(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("tool %q: argument %q: %w", g.Tool, text, err))
			continue
		}
		judged = append(judged, p)
	}
	return judged, errors.Join(errs...)
}

// Prompt reports whether the hook never waits: only a file system can keep it
// waiting, and only in mode Service does it look at one.
func (h *hook) Prompt() bool { return h.mode != plan.ResolveService }

// Decide judges every path of a call.
func (h *hook) Decide(ctx context.Context, call *chain.Call) (chain.Decision, error) {
	judged := h.judged[call.Tool]
	paths, no := collect(judged, call.Args)
	if no != nil {
		return h.deny(no, len(paths)), nil
	}
	for _, p := range paths {
		if no := checkForm(p); no != nil {
			return h.deny(no, len(paths)), nil
		}
	}
	var (
		r       = h.start(call)
		changed map[string]string // original to resolved, where they differ
		roots   []string
	)
	for _, p := range paths {
		resolved, root, no, err := r.resolve(ctx, p)
		switch {
		case err != nil:
			return nil, fmt.Errorf("resolve path: %w", err)
		case no != nil:
			return h.deny(no, len(paths)), nil
		}
		if !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
		if resolved != p {
			if changed == nil {
				changed = make(map[string]string)
			}
			changed[p] = resolved
		}
	}
	basis := h.basis("path.inside", len(paths))
	basis.Facts["roots"] = texts(roots)
	if changed == nil {
		return chain.Allow{Basis: basis}, nil
	}
	return chain.Rewrite{Basis: basis, Args: replace(judged, call.Args, changed)}, nil
}

func (h *hook) deny(no *refusal, paths int) chain.Deny {
	return chain.Deny{Basis: h.basis(no.rule, paths), Code: no.code, Message: no.message}
}

func (h *hook) basis(rule string, paths int) chain.Basis {
	return chain.Basis{Rule: rule, Facts: map[string]any{
		"mode":  string(h.mode),
		"paths": json.Number(strconv.Itoa(paths)),
	}}
}

func texts(list []string) []any {
	values := make([]any, len(list))
	for i, s := range list {
		values[i] = s
	}
	return values
}

// collect returns the paths in the judged arguments, in order.
func collect(judged []argpath.Path, args map[string]any) ([]string, *refusal) {
	var paths []string
	for _, p := range judged {
		for _, m := range p.Find(args) {
			var no *refusal
			if paths, no = appendPaths(paths, m.Value); no != nil {
				return paths, no
			}
		}
	}
	if len(paths) == 0 {
		return nil, refuse(CodeMissing, "the call names no path")
	}
	return paths, nil
}

func appendPaths(paths []string, v any) ([]string, *refusal) {
	switch v := v.(type) {
	case string:
		if len(paths) == MaxPaths {
			return paths, refuse(CodeTooMany, fmt.Sprintf("more than %d paths in one call", MaxPaths))
		}
		return append(paths, v), nil
	case []any:
		for _, e := range v {
			var no *refusal
			if paths, no = appendPaths(paths, e); no != nil {
				return paths, no
			}
		}
		return paths, nil
	default:
		return paths, refuse(CodeNotText, "a path must be a string")
	}
}

// replace returns a copy of the arguments with other paths in the judged ones.
func replace(judged []argpath.Path, args map[string]any, changed map[string]string) map[string]any {
	args = strictjson.CloneObject(args)
	for _, p := range judged {
		p.Replace(args, func(v any) any { return replaceIn(v, changed) })
	}
	return args
}

func replaceIn(v any, changed map[string]string) any {
	switch v := v.(type) {
	case string:
		if resolved, ok := changed[v]; ok {
			return resolved
		}
	case []any:
		for i, e := range v {
			v[i] = replaceIn(e, changed)
		}
	}
	return v
}

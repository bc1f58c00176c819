// Package risk is the risk hook: it ranks a call by its tool, its arguments and
// the trusted context of the policy, and asks a person about a risky one.
//
// The level of a call is the highest of the rules that match it, or the default.
// It is raised, up to High and never lowered,
//
//   - by one level if the policy's context says production, a protected branch, or
//     a project in finance, health care, infrastructure or authentication;
//   - by one level if the arguments name a protected branch, or hold a sensitive
//     word as a word: prod is none in product, nor in non-prod.
//
// High asks, Low passes, Medium does what the policy says. What a client says of
// itself (session, hints) counts for nothing.
package risk

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/hookpolicy/hookpolicy/internal/argpath"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/toolpattern"
)

// Codes of the questions.
const (
	CodeHigh   = "risk.high"
	CodeMedium = "risk.medium"
)

// A guard ranks calls.
type guard struct {
	rules    []rule
	fallback chain.Risk
	medium   plan.Verdict
	words    map[string]bool
	context  []string // why the policy's context raises every call, if it does
}

type rule struct {
	match      toolpattern.Pattern
	text       string
	conditions []condition
	level      chain.Risk
}

type condition struct {
	at      argpath.Path
	values  []string
	matches *regexp.Regexp
}

var _ chain.PromptHook = (*guard)(nil)

// New makes the hook that a plan's Risk describes.
func New(s *plan.Segment, h *plan.Hook) (chain.Hook, error) {
	r := h.Risk
	if r == nil {
		return nil, errors.New("risk: no settings")
	}
	g := &guard{fallback: chain.Risk(r.Default), medium: r.Medium, words: make(map[string]bool), context: reasonsOf(s.Context)}
	for _, w := range r.SensitiveWords {
		g.words[w] = true
	}
	var errs []error
	for i := range r.Rules {
		made, err := newRule(&r.Rules[i])
		errs = append(errs, err)
		g.rules = append(g.rules, made)
	}
	return g, errors.Join(errs...)
}

func newRule(r *plan.RiskRule) (rule, error) {
	made := rule{match: toolpattern.New(r.Match), text: r.Match, level: chain.Risk(r.Level)}
	for _, c := range r.Conditions {
		at, err := argpath.Parse(c.Path)
		if err != nil {
			return made, fmt.Errorf("risk: rule %q: %w", r.Match, err)
		}
		one := condition{at: at, values: c.Values}
		if c.Matches != "" {
			if one.matches, err = regexp.Compile(`^(?:` + c.Matches + `)$`); err != nil {
				return made, fmt.Errorf("risk: rule %q: %w", r.Match, err)
			}
		}
		made.conditions = append(made.conditions, one)
	}
	return made, nil
}

// Prompt reports that the hook never waits.
func (g *guard) Prompt() bool { return true }

// Decide ranks the call.
func (g *guard) Decide(_ context.Context, call *chain.Call) (chain.Decision, error) {
	level, reasons := g.rank(call)
	facts := map[string]any{"level": string(level)}
	if len(reasons) > 0 {
		facts["reasons"] = list(reasons)
	}
	basis := chain.Basis{Rule: "risk." + string(level), Facts: facts}
	switch {
	case level == chain.RiskLow, level == chain.RiskMedium && g.medium == plan.VerdictAllow:
		return chain.Allow{Basis: basis}, nil
	case level == chain.RiskMedium:
		return g.ask(call, basis, CodeMedium, level, reasons), nil
	default:
		return g.ask(call, basis, CodeHigh, chain.RiskHigh, reasons), nil
	}
}

func (g *guard) ask(call *chain.Call, basis chain.Basis, code string, level chain.Risk, reasons []string) chain.AskUser {
	name := map[chain.Risk]string{chain.RiskMedium: "medium"}[level]
	if name == "" {
		name = "high"
	}
	return chain.AskUser{
		Basis: basis, Code: code, Risk: level, RiskReasons: reasons,
		Prompt: fmt.Sprintf("The agent wants to call %s, a call of %s risk", call.Tool, name),
	}
}

// rank returns the level of a call, and why it is that.
func (g *guard) rank(call *chain.Call) (chain.Risk, []string) {
	level, reasons := g.ruled(call)
	if len(g.context) > 0 {
		level = raised(level)
		reasons = append(reasons, g.context...)
	}
	if found := g.sensitive(call.Args); found != "" {
		level = raised(level)
		reasons = append(reasons, found)
	}
	return level, reasons
}

// ruled is what the rules say, or the default.
func (g *guard) ruled(call *chain.Call) (chain.Risk, []string) {
	var level chain.Risk
	var by string
	for i := range g.rules {
		r := &g.rules[i]
		if !r.holds(call) {
			continue
		}
		if level == "" || level.Max(r.level) != level {
			level, by = r.level, r.text
		}
	}
	if level == "" {
		return g.fallback, nil
	}
	return level, []string{"the policy ranks " + by + " so"}
}

func (r *rule) holds(call *chain.Call) bool {
	if !r.match.Match(call.Tool) && !r.match.Match(call.ToolAsCalled) {
		return false
	}
	return !slices.ContainsFunc(r.conditions, func(c condition) bool { return !c.holds(call.Args) })
}

// raised is the next level.
func raised(level chain.Risk) chain.Risk {
	if level == chain.RiskLow {
		return chain.RiskMedium
	}
	return chain.RiskHigh
}

func list(reasons []string) []any {
	all := make([]any, len(reasons))
	for i, r := range reasons {
		all[i] = r
	}
	return all
}

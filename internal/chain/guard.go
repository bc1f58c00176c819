package chain

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/argpath"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// A guard knows which arguments one tool may have.
type guard struct {
	segment  *plan.Segment // of the first hook that guards the tool
	hook     string
	declared *argpath.Tree // nil: any argument goes
	data     []datum
}

type datum struct {
	path    argpath.Path
	kind    plan.DataType
	pattern *regexp.Regexp
}

// newGuards makes the guards of the tools that the hooks of own guard. What
// the hooks of declaring declare counts as declared.
func newGuards(own, declaring []*segment) (map[string]*guard, error) {
	guards := make(map[string]*guard)
	for _, seg := range own {
		for _, st := range seg.steps {
			for _, g := range st.hook.Guards {
				have := guards[g.Tool]
				if have == nil {
					have = &guard{segment: seg.plan, hook: st.hook.Name}
					guards[g.Tool] = have
				}
				if err := have.add(g); err != nil {
					return nil, fmt.Errorf("policy %s, hook %s, tool %s: %w", seg.plan.Source.Tenant(), st.hook.Name, g.Tool, err)
				}
			}
		}
	}
	for tool, g := range guards {
		if g.declared == nil {
			continue
		}
		for _, seg := range declaring {
			if err := declare(g.declared, seg, tool); err != nil {
				return nil, fmt.Errorf("policy %s, tool %s: %w", seg.plan.Source.Tenant(), tool, err)
			}
		}
	}
	return guards, nil
}

func (g *guard) add(p plan.Guard) error {
	if p.Undeclared != plan.VerdictAllow && g.declared == nil {
		g.declared = &argpath.Tree{} // one hook that refuses is enough
	}
	g.data = slices.Grow(g.data, len(p.Data))
	for _, d := range p.Data {
		path, err := argpath.Parse(d.Path)
		if err != nil {
			return fmt.Errorf("argument path %q: %w", d.Path, err)
		}
		var pattern *regexp.Regexp
		if d.Pattern != "" {
			if pattern, err = regexp.Compile(`\A(?:` + d.Pattern + `)\z`); err != nil {
				return fmt.Errorf("pattern of %q: %w", d.Path, err)
			}
		}
		g.data = append(g.data, datum{path: path, kind: d.Type, pattern: pattern})
	}
	return nil
}

// declare adds to a tree everything that a segment declares for a tool: what
// its hooks judge, what they call data, and what they set themselves.
func declare(tree *argpath.Tree, seg *segment, tool string) error {
	for _, st := range seg.steps {
		var paths []string
		if g := st.hook.GuardOf(tool); g != nil {
			paths = append(paths, g.Judged...)
			for _, d := range g.Data {
				paths = append(paths, d.Path)
			}
		}
		if st.looksAt(tool) {
			paths = append(paths, st.hook.Sets...)
		}
		for _, text := range paths {
			p, err := argpath.Parse(text)
			if err != nil {
				return fmt.Errorf("argument path %q: %w", text, err)
			}
			tree.Add(p)
		}
	}
	return nil
}

// check returns the refusal of arguments that are not as declared, else nil.
func (g *guard) check(args map[string]any) *Deny {
	if g.declared != nil {
		if _, found := g.declared.Outside(args); found {
			// The name is the agent's text: it goes nowhere, not even into a fact.
			return &Deny{
				Basis: Basis{Rule: CodeArgumentsUndeclared},
				Code:  CodeArgumentsUndeclared, Message: "the call has an argument that the policy does not know",
			}
		}
	}
	for _, d := range g.data {
		for _, m := range d.path.Find(args) {
			if !d.holds(m.Value) {
				return &Deny{
					Basis: Basis{Rule: CodeArgumentsInvalid, Facts: map[string]any{"argument": d.path.String(), "type": string(d.kind)}},
					Code:  CodeArgumentsInvalid, Message: fmt.Sprintf("argument %s is not what the policy expects (%s)", d.path, d.kind),
				}
			}
		}
	}
	return nil
}

func (d *datum) holds(v any) bool {
	text, isText := v.(string)
	if d.pattern != nil && (!isText || !d.pattern.MatchString(text)) {
		return false
	}
	switch d.kind {
	case plan.TypeAny:
		return true
	case plan.TypeString:
		return isText
	case plan.TypeBoolean:
		_, ok := v.(bool)
		return ok
	case plan.TypeInteger:
		n, ok := v.(json.Number)
		return ok && !strings.ContainsAny(string(n), ".eE")
	case plan.TypeNumber:
		_, ok := v.(json.Number)
		return ok
	case plan.TypeIdentifier:
		return isText && isIdentifier(text)
	default:
		return false
	}
}

// isIdentifier reports whether a text is a plain identifier, or several with
// dots between them: nothing that any SQL or shell would read as more.
func isIdentifier(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || len(part) > 63 || part[0] >= '0' && part[0] <= '9' {
			return false
		}
		for i := range len(part) {
			c := part[i]
			isWord := c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
			if !isWord {
				return false
			}
		}
	}
	return true
}

package risk

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/hookpolicy/hookpolicy/internal/argpath"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// What a policy's context may say that raises the risk of every call.
var (
	productions  = []string{"live", "prod", "production", "prd"}
	riskyKinds   = []string{"auth", "authentication", "finance", "health", "healthcare", "infra", "infrastructure", "payments"}
	protected    = []string{"main", "master", "prod", "production", "trunk"}
	branchNames  = []string{"base", "base_branch", "branch", "ref", "target", "target_branch"}
	negations    = []string{"non", "not", "no", "pre"}
	headPrefixes = []string{"refs/heads/", "origin/"}
)

// reasonsOf says why a context raises the risk, if it does.
func reasonsOf(c plan.Context) (reasons []string) {
	if slices.Contains(productions, strings.ToLower(c.Environment)) {
		reasons = append(reasons, "the environment is "+c.Environment)
	}
	if isProtected(c.Branch) {
		reasons = append(reasons, "the branch is "+c.Branch)
	}
	if slices.Contains(riskyKinds, strings.ToLower(c.ProjectKind)) {
		reasons = append(reasons, "the project is of kind "+c.ProjectKind)
	}
	return reasons
}

// isProtected reports whether a branch is one that others build on.
func isProtected(branch string) bool {
	branch = strings.ToLower(branch)
	for _, p := range headPrefixes {
		branch = strings.TrimPrefix(branch, p)
	}
	return slices.Contains(protected, branch) || strings.HasPrefix(branch, "release/") || strings.HasPrefix(branch, "releases/")
}

// sensitive says what in the arguments raises the risk, if anything does. It
// names the policy's own word, never the text around it.
func (g *guard) sensitive(args map[string]any) string {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if found := g.inValue(name, args[name]); found != "" {
			return found
		}
	}
	return ""
}

func (g *guard) inValue(name string, v any) string {
	switch v := v.(type) {
	case string:
		if slices.Contains(branchNames, strings.ToLower(name)) && isProtected(v) {
			return "an argument names a protected branch"
		}
		if w := g.wordIn(v); w != "" {
			return "an argument holds the word " + w
		}
	case map[string]any:
		return g.sensitive(v)
	case []any:
		for _, e := range v {
			if found := g.inValue(name, e); found != "" {
				return found
			}
		}
	}
	return ""
}

// wordIn returns the first sensitive word in a text. A word that begins with a
// hyphen is an option, and is one between white space; any other is one between
// characters that are neither letters nor digits, unless a negation stands right
// before it, as in non-prod.
func (g *guard) wordIn(text string) string {
	if len(g.words) == 0 {
		return ""
	}
	for field := range strings.FieldsSeq(strings.ToLower(text)) {
		if g.words[strings.Trim(field, `"'`)] {
			return strings.Trim(field, `"'`)
		}
		before := ""
		for part := range strings.FieldsFuncSeq(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			if g.words[part] && !slices.Contains(negations, before) {
				return part
			}
			before = part
		}
	}
	return ""
}

// holds reports whether some value at the condition's place is as it says.
func (c *condition) holds(args map[string]any) bool {
	return slices.ContainsFunc(c.at.Find(args), func(m argpath.Match) bool {
		text, ok := textOf(m.Value)
		switch {
		case !ok:
			return false
		case c.matches != nil:
			return c.matches.MatchString(text)
		default:
			return slices.Contains(c.values, text)
		}
	})
}

// textOf is a plain value as a text.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return map[bool]string{true: "true", false: "false"}[v], true
	default:
		return "", false
	}
}

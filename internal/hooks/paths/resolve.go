package paths

import (
	"context"
	"path"
	"strings"
)

// A lexical resolver cleans paths and looks at nothing.
type lexical struct{ places }

func (l lexical) resolve(_ context.Context, text string) (string, string, *refusal, error) {
	text, no := l.absolute(text)
	if no != nil {
		return "", "", no, nil
	}
	names := split(text)
	root, no := l.contain(names)
	return join(names), root, no, nil
}

// An agent resolver takes the enforcement point's word.
type agent struct {
	places
	claims map[string]string
	// results are the claims' values: they count as resolved when a chain
	// judges a call again after a rewrite.
	results map[string]bool
}

func newAgent(p places, claims map[string]string) *agent {
	a := &agent{places: p, claims: claims, results: make(map[string]bool, len(claims))}
	for _, v := range claims {
		a.results[v] = true
	}
	return a
}

func (a *agent) resolve(_ context.Context, text string) (string, string, *refusal, error) {
	unresolved := refuse(CodeUnresolved, "path was not resolved by the caller")
	resolved, claimed := a.claims[text]
	switch {
	case claimed:
	case a.results[text]:
		resolved = text
	default:
		return "", "", unresolved, nil
	}
	if again, ok := a.claims[resolved]; ok && again != resolved {
		return "", "", unresolved, nil // what is resolved resolves to itself
	}
	if !strings.HasPrefix(resolved, "/") || path.Clean(resolved) != resolved {
		return "", "", unresolved, nil
	}
	if no := checkForm(resolved); no != nil {
		return "", "", no, nil
	}
	root, no := a.contain(split(resolved))
	return resolved, root, no, nil
}

package rewrite_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/hooks/rewrite"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// shorten is a limiter that needs no parser: a text that ends in LIMIT is
// bounded, one that starts with a ! cannot be.
type shorten struct{ err error }

func (s shorten) LimitRows(_ context.Context, text string, maxRows int) (limited, code, hint string, err error) {
	switch {
	case s.err != nil:
		return "", "", "", s.err
	case strings.HasPrefix(text, "!"):
		return "", "sql.limit", "write less", nil
	case strings.HasSuffix(text, "LIMIT"):
		return text, "", "", nil
	default:
		return text + strings.Repeat(" ", maxRows) + "LIMIT", "", "", nil
	}
}

func limitHook(t *testing.T, l rewrite.Limiter, path string) chain.Hook {
	t.Helper()
	h, err := rewrite.New(l)(nil, hookFor(plan.Rewrite{SQLLimit: &plan.SQLLimit{Path: path, Max: 2}}))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestEveryTextGetsItsLimit(t *testing.T) {
	for name, tc := range map[string]struct{ path, args, want, code string }{
		"a text":                      {"sql", `{"sql":"a"}`, `{"sql":"a  LIMIT"}`, ""},
		"one that is bounded":         {"sql", `{"sql":"a LIMIT"}`, "", ""},
		"a list":                      {"sql", `{"sql":["a","b LIMIT"]}`, `{"sql":["a  LIMIT","b LIMIT"]}`, ""},
		"every element":               {"q[*].sql", `{"q":[{"sql":"a"},{"sql":"b"}]}`, `{"q":[{"sql":"a  LIMIT"},{"sql":"b  LIMIT"}]}`, ""},
		"none":                        {"sql", `{"other":"a"}`, "", ""},
		"one that cannot be":          {"sql", `{"sql":"!"}`, "", "sql.limit"},
		"one that cannot be, in many": {"sql", `{"sql":["a","!","b"]}`, "", "sql.limit"},
		"a number":                    {"sql", `{"sql":1}`, "", rewrite.CodeNotText},
		"null":                        {"sql", `{"sql":null}`, "", rewrite.CodeNotText},
		"a list with a number":        {"sql", `{"sql":["a",1]}`, "", rewrite.CodeNotText},
	} {
		t.Run(name, func(t *testing.T) {
			switch d := decide(t, limitHook(t, shorten{}, tc.path), parse(t, tc.args)).(type) {
			case chain.Deny:
				if d.Code != tc.code || d.Message == "" {
					t.Errorf("denied %q, want %q", d.Code, tc.code)
				}
			case chain.Rewrite:
				if tc.want == "" {
					t.Fatalf("rewritten to %v", d.Args)
				}
				if diff := cmp.Diff(parse(t, tc.want), d.Args); diff != "" {
					t.Errorf("arguments (-want +got):\n%s", diff)
				}
				if again := decide(t, limitHook(t, shorten{}, tc.path), d.Args); again.Effect() != chain.EffectAllow {
					t.Errorf("rewritten again: %#v", again)
				}
			default:
				if tc.want != "" || tc.code != "" {
					t.Errorf("decided %#v", d)
				}
			}
		})
	}
}

func TestALimiterThatFailsIsNoDecision(t *testing.T) {
	want := errors.New("no time left")
	d, err := limitHook(t, shorten{want}, "sql").Decide(t.Context(), &chain.Call{Args: parse(t, `{"sql":"a"}`)})
	if d != nil || !errors.Is(err, want) {
		t.Errorf("%v, %v", d, err)
	}
}

func TestLimitsThatCannotWorkAreRefused(t *testing.T) {
	for name, s := range map[string]plan.SQLLimit{"no path": {Max: 1}, "no rows": {Path: "sql"}} {
		if _, err := rewrite.New(shorten{})(nil, hookFor(plan.Rewrite{SQLLimit: &s})); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := rewrite.New(nil)(nil, hookFor(plan.Rewrite{SQLLimit: &plan.SQLLimit{Path: "sql", Max: 1}})); err == nil {
		t.Error("a limit without a limiter: accepted")
	}
}

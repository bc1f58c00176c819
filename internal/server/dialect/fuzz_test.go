package dialect_test

import (
	"encoding/json"
	"strings"
	"testing"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/server/dialect"
	"github.com/hookpolicy/hookpolicy/internal/server/request"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// Whatever was taken for an event keeps the promises that the engine builds on
// and has its answers; whatever was not has a code.
func fuzz(f *testing.F, name string, seeds ...string) {
	f.Helper()
	for _, seed := range append(seeds, whole[name], `{}`, `[]`, `{"tool_input":{}`) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		q, err := read(t, name, string(doc))
		if err != nil {
			if !strings.HasPrefix(codeOf(err), "request.") {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		c := q.Call
		if c.Tool == "" || len(c.Tool) > request.MaxToolBytes || c.Args == nil || c.Wait != 0 || c.Resolved != nil ||
			len(c.CallID) > request.MaxCallIDBytes || len(c.Session) > request.MaxSessionBytes ||
			(c.CallID != "" && !strings.HasPrefix(c.CallID, name+":")) || c.Hints["dialect"] != name {
			t.Fatalf("took %+v", c)
		}
		args, err := strictjson.Append(nil, c.Args)
		if err != nil {
			t.Fatal(err)
		}
		checkAnswers(t, q, args)
	})
}

// checkAnswers checks that the arguments as they were sent pass, others pass
// with themselves or not at all, and a deny is one.
func checkAnswers(t *testing.T, q *dialect.Question, args []byte) {
	t.Helper()
	pass, err := q.Answer(&decisionv1.Response{Decision: decisionv1.Allow, Args: args}, false)
	if err != nil || !json.Valid(pass) || strings.Contains(string(pass), "deny") {
		t.Fatalf("an Allow is %s, %v", pass, err)
	}
	other := append([]byte(`{"\u0000fuzz":1`), args[1:]...)
	if len(args) > 2 {
		other = append([]byte(`{"\u0000fuzz":1,`), args[1:]...)
	}
	doc, err := q.Answer(&decisionv1.Response{Decision: decisionv1.Allow, Args: other}, false)
	if err == nil && !strings.Contains(string(doc), `"\u0000fuzz":1`) {
		t.Fatalf("other arguments pass as %s", doc)
	}
	for _, resp := range []*decisionv1.Response{denied, asked, {}} {
		doc, err := q.Answer(resp, false)
		if err != nil || !json.Valid(doc) || !strings.Contains(string(doc), `"deny"`) {
			t.Fatalf("%s is %s, %v", resp.Decision, doc, err)
		}
	}
}

func FuzzClaudeCode(f *testing.F) { fuzz(f, "claude-code") }

func FuzzCodex(f *testing.F) { fuzz(f, "codex") }

func FuzzGemini(f *testing.F) { fuzz(f, "gemini") }

func FuzzCursor(f *testing.F) { fuzz(f, "cursor", cursorShell, cursorRead, cursorTool) }

func FuzzCopilot(f *testing.F) { fuzz(f, "copilot") }

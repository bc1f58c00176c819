package dialect_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/server/dialect"
	"github.com/hookpolicy/hookpolicy/internal/server/request"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

var names = []string{"claude-code", "codex", "gemini", "cursor", "copilot", "copilot-cli"}

// The decisions that the tables put into each dialect's words.
var (
	denied = &decisionv1.Response{
		Decision: decisionv1.Deny, Reason: &decisionv1.Reason{Code: "path.outside", Message: "outside of the roots"},
	}
	bareDeny = &decisionv1.Response{Decision: decisionv1.Deny}
	asked    = &decisionv1.Response{
		Decision: decisionv1.AskUser, Reason: &decisionv1.Reason{Code: "sql.destructive", Message: "a person must approve this call"},
		Approval: &decisionv1.Approval{ID: "ap-1", State: decisionv1.Pending, Prompt: "Drop the table t?"},
	}
)

func allowed(args string) *decisionv1.Response {
	return &decisionv1.Response{Decision: decisionv1.Allow, Args: json.RawMessage(args)}
}

func rewritten(args string) *decisionv1.Response {
	return &decisionv1.Response{Decision: decisionv1.Rewrite, Args: json.RawMessage(args)}
}

const (
	wordsDenied   = "HookPolicy: outside of the roots (path.outside)"
	wordsBareDeny = "HookPolicy: the call is denied"
	wordsPending  = "HookPolicy: a person must approve this call; approval ap-1 is pending, repeat the identical call once it is approved (sql.destructive)"
	wordsAsk      = "HookPolicy: Drop the table t? (sql.destructive)"
)

// noRewrite stands for the error that an answer cannot be passed on.
const noRewrite = "error: " + dialect.CodeNoRewrite

// A pair is an event with a decision, and the answer to it.
type pair struct {
	event   string
	resp    *decisionv1.Response
	askUser bool
	want    string
}

func checkPairs(t *testing.T, name string, pairs map[string]pair) {
	t.Helper()
	for what, p := range pairs {
		t.Run(what, func(t *testing.T) {
			q, err := read(t, name, p.event)
			if err != nil {
				t.Fatal(err)
			}
			got := answer(t, q, p.resp, p.askUser)
			if got != p.want {
				t.Errorf("answer\n%s, want\n%s", got, p.want)
			}
		})
	}
}

func answer(t *testing.T, q *dialect.Question, resp *decisionv1.Response, askUser bool) string {
	t.Helper()
	doc, err := q.Answer(resp, askUser)
	if e, ok := errors.AsType[*request.Error](err); ok {
		return "error: " + e.Code
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(doc), "\n")
}

func read(tb testing.TB, name, event string) (*dialect.Question, error) {
	tb.Helper()
	d, ok := dialect.Find(name)
	if !ok {
		tb.Fatalf("no dialect %s", name)
	}
	return d.Read([]byte(event))
}

// checkCall checks what an event becomes.
func checkCall(t *testing.T, name, event string, want engine.Request) {
	t.Helper()
	q, err := read(t, name, event)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, q.Call); diff != "" {
		t.Errorf("call (-want +got):\n%s", diff)
	}
}

// checkRefusals checks that events are refused with a code.
func checkRefusals(t *testing.T, name string, events map[string]struct{ event, code string }) {
	t.Helper()
	for what, tc := range events {
		t.Run(what, func(t *testing.T) {
			_, err := read(t, name, tc.event)
			if got := codeOf(err); got != tc.code {
				t.Errorf("refused with %q (%v), want %s", got, err, tc.code)
			}
		})
	}
}

func codeOf(err error) string {
	if e, ok := errors.AsType[*request.Error](err); ok {
		return e.Code
	}
	if e, ok := errors.AsType[*strictjson.Error](err); ok {
		return string(e.Code)
	}
	return ""
}

func TestAnEventThatCannotBeReadIsDeniedInItsDialect(t *testing.T) {
	const reason = `"HookPolicy: no (request.syntax)"`
	for name, want := range map[string]string{
		"claude-code": `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":` + reason + `}}`,
		"codex":       `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":` + reason + `}}`,
		"gemini":      `{"decision":"deny","reason":` + reason + `}`,
		"cursor":      `{"permission":"deny","user_message":` + reason + `,"agent_message":` + reason + `}`,
		"copilot":     `{"permissionDecision":"deny","permissionDecisionReason":` + reason + `}`,
		"copilot-cli": `{"permissionDecision":"deny","permissionDecisionReason":` + reason + `}`,
	} {
		d, ok := dialect.Find(name)
		if !ok {
			t.Fatalf("no dialect %s", name)
		}
		if got := string(d.Deny("request.syntax", "no")); got != want+"\n" {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestOnlyExactNamesAreDialects(t *testing.T) {
	for _, name := range []string{"", "Claude-Code", "claude", "claude-code/", "cursor ", "openclaw"} {
		if _, ok := dialect.Find(name); ok {
			t.Errorf("%q is a dialect", name)
		}
	}
}

// The agent gives its hook 30 seconds, Gemini CLI 60, in the settings that the
// documentation shows.
func TestAWaitEndsBeforeTheAgentGivesUp(t *testing.T) {
	for _, name := range names {
		limit := 25 * time.Second
		if name == "gemini" {
			limit = 50 * time.Second
		}
		if d, _ := dialect.Find(name); d.Wait() <= 0 || d.Wait() >= limit {
			t.Errorf("%s waits %v", name, d.Wait())
		}
	}
}

func TestTheOpenAPIDocumentAndTheDocumentationNameTheDialects(t *testing.T) {
	api, err := os.ReadFile("../../../api/decision/v1/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if want := "enum: [" + strings.Join(names, ", ") + "]"; !strings.Contains(string(api), want) {
		t.Errorf("the OpenAPI document does not have %q", want)
	}
	docs, err := os.ReadFile("../../../docs/dialects.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.Contains(string(docs), decisionv1.PathHooks+name) {
			t.Errorf("the documentation has no settings for %s", name)
		}
	}
	for i, part := range strings.Split(string(docs), "```") {
		if settings, ok := strings.CutPrefix(part, "json\n"); i%2 == 1 && (!ok || !json.Valid([]byte(settings))) {
			t.Errorf("block %d of the documentation is not JSON:\n%s", i/2+1, part)
		}
	}
}

// What no dialect takes, whatever it calls its members.
func TestAnEventThatTwoReadersCouldDisagreeAboutIsRefused(t *testing.T) {
	for name, event := range whole {
		inner := strings.TrimSuffix(event, "}")
		toolMember := "tool_name"
		if strings.HasPrefix(name, "copilot") {
			toolMember = "toolName"
		}
		for what, tc := range map[string]struct{ event, code string }{
			"a member twice":           {inner + `,"` + toolMember + `":"other"}`, "request.duplicate_key"},
			"a member in another case": {inner + `,"` + strings.ToUpper(toolMember) + `":"other"}`, "request.case_variant"},
			"two documents":            {event + event, "request.syntax"},
			"half a document":          {inner, "request.syntax"},
			"an array":                 {"[" + event + "]", "request.not_object"},
			"a message of JSON-RPC":    {inner + `,"jsonrpc":"2.0"}`, "request.jsonrpc"},
			"nothing":                  {"", "request.syntax"},
			"an empty object":          {"{}", emptyCode(name)},
			"bytes that are no text":   {inner + `,"x":"` + "\xff" + `"}`, "request.encoding"},
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				_, err := read(t, name, tc.event)
				if got := codeOf(err); got != tc.code {
					t.Errorf("refused with %q (%v), want %s", got, err, tc.code)
				}
			})
		}
	}
}

func emptyCode(name string) string {
	if strings.HasPrefix(name, "copilot") {
		return request.CodeTool
	}
	return dialect.CodeDialect
}

// whole is an event of each dialect with a member that nobody knows.
var whole = map[string]string{
	"claude-code": claudeEvent,
	"codex":       codexEvent,
	"gemini":      geminiEvent,
	"cursor":      cursorEvent,
	"copilot":     copilotEvent,
	"copilot-cli": copilotEvent,
}

func TestIdentityIsNotReadFromAnEvent(t *testing.T) {
	for name, event := range whole {
		q, err := read(t, name, strings.TrimSuffix(event, "}")+`,"agent":"admin","namespace":"kube-system"}`)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(q.Call.Hints)
		if err != nil {
			t.Fatal(err)
		}
		for _, claim := range []string{"u@example.com", "admin", "kube-system"} {
			if strings.Contains(string(text), claim) {
				t.Errorf("%s: hints %s", name, text)
			}
		}
	}
}

// An Allow runs with other arguments than it was sent with where consent was
// taken off them: that is a rewrite to the agent.
func TestAnAllowOfOtherArgumentsIsNotPassedOnAsItIs(t *testing.T) {
	for name, event := range whole {
		q, err := read(t, name, event)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := q.Answer(allowed(`{"other":1}`), true)
		if err == nil && !strings.Contains(string(doc), `{"other":1}`) {
			t.Errorf("%s: answer %s", name, doc)
		}
	}
}

func TestAnAnswerThatSaysNothingIsNoAllow(t *testing.T) {
	for name, event := range whole {
		q, err := read(t, name, event)
		if err != nil {
			t.Fatal(err)
		}
		for _, resp := range []*decisionv1.Response{{}, {Decision: "allow"}, bareDeny} {
			if got, want := answer(t, q, resp, true), strings.TrimSpace(string(q.Deny("", ""))); got != want {
				t.Errorf("%s: %+v is %s", name, resp, got)
			}
		}
		for _, args := range []string{"", "null", "[]", "{", `{"a":1,"a":2}`} {
			if doc, err := q.Answer(allowed(args), true); err == nil {
				t.Errorf("%s: an Allow of %q is %s", name, args, doc)
			}
		}
	}
}

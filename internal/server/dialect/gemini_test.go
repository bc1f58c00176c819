package dialect_test

import (
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/engine"
)

const geminiEvent = `{"session_id":"s","transcript_path":"/x","cwd":"/work","hook_event_name":"BeforeTool","timestamp":"2026-08-21T00:00:00Z",` +
	`"tool_name":"mcp_db_query","tool_input":{"sql":"SELECT 1","limit":{"n":5}},` +
	`"mcp_context":{"server_name":"db","tool_name":"query","url":"https://db.example"}}`

func TestGeminiAsksOfACall(t *testing.T) {
	args := map[string]any{"dir_path": "/x"}
	hints := map[string]any{"dialect": "gemini", "cwd": "/work"}
	checkCall(t, "gemini", `{"session_id":"s","cwd":"/work","hook_event_name":"BeforeTool","tool_name":"list_directory","tool_input":{"dir_path":"/x"}}`,
		engine.Request{Tool: "list_directory", Session: "s", Args: args, Hints: hints})
	q, err := read(t, "gemini", geminiEvent)
	if err != nil {
		t.Fatal(err)
	}
	if q.Call.Tool != "mcp__db__query" {
		t.Errorf("tool %s, want the name that the server gave it", q.Call.Tool)
	}
}

func TestGeminiGetsItsAnswers(t *testing.T) {
	checkPairs(t, "gemini", map[string]pair{
		"an allow":                 {event: geminiEvent, resp: allowed(`{"limit":{"n":5},"sql":"SELECT 1"}`), want: `{"decision":"allow"}`},
		"a deny":                   {event: geminiEvent, resp: denied, want: `{"decision":"deny","reason":"` + wordsDenied + `"}`},
		"a held call names its id": {event: geminiEvent, resp: asked, askUser: true, want: `{"decision":"deny","reason":"` + wordsPending + `"}`},
		"a rewrite that adds and changes": {
			event: geminiEvent, resp: rewritten(`{"limit":{},"read_only":true,"sql":"SELECT 2"}`),
			want: `{"decision":"allow","hookSpecificOutput":{"tool_input":{"limit":{},"read_only":true,"sql":"SELECT 2"}}}`,
		},
		"a rewrite that takes away cannot be passed on": {event: geminiEvent, resp: rewritten(`{"sql":"SELECT 1"}`), want: noRewrite},
	})
}

func TestGeminiIsRefusedWhatIsNoCall(t *testing.T) {
	with := func(old, replacement string) string { return strings.Replace(geminiEvent, old, replacement, 1) }
	checkRefusals(t, "gemini", map[string]struct{ event, code string }{
		"another event":                    {with("BeforeTool", "AfterTool"), "request.dialect"},
		"a context that is a string":       {with(`{"server_name":"db","tool_name":"query","url":"https://db.example"}`, `"db"`), "request.tool"},
		"a context without a tool":         {with(`"tool_name":"query",`, ""), "request.tool"},
		"a context with two tools":         {with(`"tool_name":"query",`, `"tool_name":"query","Tool_Name":"other",`), "request.case_variant"},
		"a server's name without an end":   {with(`"db"`, `"`+strings.Repeat("d", 512)+`"`), "request.tool"},
		"a tool's name that is not a text": {with(`"mcp_db_query"`, "{}"), "request.tool"},
	})
}

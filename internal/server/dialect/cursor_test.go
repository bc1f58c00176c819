package dialect_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/engine"
)

const (
	cursorBase  = `"conversation_id":"c","generation_id":"g","workspace_roots":["/w"],"model":"m","cursor_version":"2","user_email":"u@example.com"`
	cursorEvent = `{"hook_event_name":"beforeMCPExecution",` + cursorBase + `,"tool_name":"query","tool_input":"{\"id\":1.0}","url":"https://db.example"}`
	cursorShell = `{"hook_event_name":"beforeShellExecution",` + cursorBase + `,"command":"rm -rf x","cwd":"/w"}`
	cursorRead  = `{"hook_event_name":"beforeReadFile",` + cursorBase + `,"file_path":"/w/.env","content":"KEY=secret","attachments":[]}`
	cursorTool  = `{"hook_event_name":"preToolUse",` + cursorBase + `,"tool_name":"MCP:query","tool_input":{"id":1.0},"tool_use_id":"u1","cwd":"/w"}`
)

func TestCursorAsksOfACall(t *testing.T) {
	hints := map[string]any{"dialect": "cursor", "model": "m"}
	inDir := map[string]any{"dialect": "cursor", "model": "m", "cwd": "/w"}
	for event, want := range map[string]engine.Request{
		cursorEvent: {Tool: "query", Session: "c", Args: map[string]any{"id": json.Number("1.0")}, Hints: hints},
		cursorShell: {Tool: "Shell", Session: "c", Args: map[string]any{"command": "rm -rf x", "cwd": "/w"}, Hints: inDir},
		cursorRead:  {Tool: "Read", Session: "c", Args: map[string]any{"file_path": "/w/.env"}, Hints: hints},
		cursorTool:  {CallID: "cursor:u1", Tool: "query", Session: "c", Args: map[string]any{"id": json.Number("1.0")}, Hints: inDir},
	} {
		checkCall(t, "cursor", event, want)
	}
}

func TestCursorGetsItsAnswers(t *testing.T) {
	say := func(word, reason string) string {
		return `{"permission":"` + word + `","user_message":"` + reason + `","agent_message":"` + reason + `"}`
	}
	const allow = `{"permission":"allow"}`
	checkPairs(t, "cursor", map[string]pair{
		"a command, allowed":                  {event: cursorShell, resp: allowed(`{"command":"rm -rf x","cwd":"/w"}`), want: allow},
		"a command, denied":                   {event: cursorShell, resp: denied, want: say("deny", wordsDenied)},
		"a command, held":                     {event: cursorShell, resp: asked, want: say("deny", wordsPending)},
		"a command, left to the user":         {event: cursorShell, resp: asked, askUser: true, want: say("ask", wordsAsk)},
		"a command, rewritten":                {event: cursorShell, resp: rewritten(`{"command":"ls","cwd":"/w"}`), want: noRewrite},
		"a tool of a server, allowed":         {event: cursorEvent, resp: allowed(`{"id":1.0}`), want: allow},
		"a tool of a server, denied":          {event: cursorEvent, resp: denied, want: say("deny", wordsDenied)},
		"a tool of a server, left to user":    {event: cursorEvent, resp: asked, askUser: true, want: say("ask", wordsAsk)},
		"a tool of a server, rewritten":       {event: cursorEvent, resp: rewritten(`{"id":1}`), want: noRewrite},
		"a file, allowed":                     {event: cursorRead, resp: allowed(`{"file_path":"/w/.env"}`), want: allow},
		"a file, denied, has one member":      {event: cursorRead, resp: denied, want: `{"permission":"deny"}`},
		"a file, held, is never an ask":       {event: cursorRead, resp: asked, askUser: true, want: `{"permission":"deny"}`},
		"any tool, allowed":                   {event: cursorTool, resp: allowed(`{"id":1.0}`), want: allow},
		"any tool, held, is denied":           {event: cursorTool, resp: asked, askUser: true, want: say("deny", wordsPending)},
		"any tool, denied without any reason": {event: cursorTool, resp: bareDeny, want: say("deny", wordsBareDeny)},
	})
}

func TestCursorIsRefusedWhatIsNoCall(t *testing.T) {
	with := func(event, old, replacement string) string { return strings.Replace(event, old, replacement, 1) }
	input := func(text string) string { return with(cursorEvent, `"{\"id\":1.0}"`, text) }
	checkRefusals(t, "cursor", map[string]struct{ event, code string }{
		"another event":                {with(cursorTool, "preToolUse", "postToolUse"), "request.dialect"},
		"a command that is missing":    {with(cursorShell, `"command":"rm -rf x",`, ""), "request.args"},
		"a command that is a list":     {with(cursorShell, `"rm -rf x"`, `["rm","-rf","x"]`), "request.args"},
		"a file that is missing":       {with(cursorRead, `"file_path":"/w/.env",`, ""), "request.args"},
		"input with a member twice":    {input(`"{\"id\":1,\"id\":2}"`), "request.duplicate_key"},
		"input with something after":   {input(`"{}{}"`), "request.syntax"},
		"input that is text":           {input(`"id=1"`), "request.syntax"},
		"input that is empty":          {input(`""`), "request.syntax"},
		"input that is a list":         {input(`"[1]"`), "request.args"},
		"input in a string in another": {input(`"\"{}\""`), "request.args"},
		"input that is a number":       {input(`1`), "request.args"},
		"a name that is a prefix only": {with(cursorTool, "MCP:query", "MCP:"), "request.tool"},
	})
}

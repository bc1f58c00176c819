package dialect_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/engine"
)

const claudeEvent = `{"session_id":"abc","prompt_id":"p","transcript_path":"/x.jsonl","cwd":"/work","permission_mode":"default",` +
	`"hook_event_name":"PreToolUse","tool_name":"mcp__db__query","tool_input":{"id":9007199254740993,"sql":"DROP TABLE t"},` +
	`"tool_use_id":"toolu_01","agent_id":"a1","agent_type":"explore","effort":{"level":"high"}}`

func TestClaudeCodeAsksOfACall(t *testing.T) {
	checkCall(t, "claude-code", claudeEvent, engine.Request{
		CallID: "claude-code:toolu_01", Tool: "mcp__db__query", Session: "abc",
		Args: map[string]any{"id": json.Number("9007199254740993"), "sql": "DROP TABLE t"},
		Hints: map[string]any{
			"dialect": "claude-code", "permission_mode": "default", "cwd": "/work", "agent_id": "a1", "agent_type": "explore",
		},
	})
	checkCall(t, "claude-code", `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}}`, engine.Request{
		Tool: "Bash", Args: map[string]any{}, Hints: map[string]any{"dialect": "claude-code"},
	})
}

func TestClaudeCodeGetsItsAnswers(t *testing.T) {
	const same = `{"id":9007199254740993,"sql":"DROP TABLE t"}`
	deny := func(reason string) string {
		return `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"` + reason + `"}}`
	}
	mode := func(name string) string {
		return strings.Replace(claudeEvent, `"permission_mode":"default"`, `"permission_mode":"`+name+`"`, 1)
	}
	const ask = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"` + wordsAsk + `"}}`
	checkPairs(t, "claude-code", map[string]pair{
		"an allow is no objection":     {event: claudeEvent, resp: allowed(same), want: `{}`},
		"a deny":                       {event: claudeEvent, resp: denied, want: deny(wordsDenied)},
		"a deny without a reason":      {event: claudeEvent, resp: bareDeny, want: deny(wordsBareDeny)},
		"a held call names its id":     {event: claudeEvent, resp: asked, want: deny(wordsPending)},
		"a held call, by the user":     {event: claudeEvent, resp: asked, askUser: true, want: ask},
		"… who accepts edits":          {event: mode("acceptEdits"), resp: asked, askUser: true, want: ask},
		"… who is not asked":           {event: mode("bypassPermissions"), resp: asked, askUser: true, want: deny(wordsPending)},
		"… whom a classifier replaces": {event: mode("auto"), resp: asked, askUser: true, want: deny(wordsPending)},
		"… in a mode that is new":      {event: mode("next"), resp: asked, askUser: true, want: deny(wordsPending)},
		"a rewrite replaces the input": {
			event: claudeEvent, resp: rewritten(`{"id":9007199254740993,"sql":"SELECT 1"}`),
			want: `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow",` +
				`"updatedInput":{"id":9007199254740993,"sql":"SELECT 1"}}}`,
		},
		"a rewrite to nothing": {
			event: claudeEvent, resp: rewritten(`{}`),
			want: `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{}}}`,
		},
		"a rewrite of a number's last digit": {
			event: claudeEvent, resp: rewritten(`{"id":9007199254740992,"sql":"DROP TABLE t"}`),
			want: `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow",` +
				`"updatedInput":{"id":9007199254740992,"sql":"DROP TABLE t"}}}`,
		},
	})
}

func TestClaudeCodeIsRefusedWhatIsNoCall(t *testing.T) {
	with := func(old, replacement string) string { return strings.Replace(claudeEvent, old, replacement, 1) }
	checkRefusals(t, "claude-code", map[string]struct{ event, code string }{
		"another event":           {with("PreToolUse", "PostToolUse"), "request.dialect"},
		"an event in lower case":  {with("PreToolUse", "pretooluse"), "request.dialect"},
		"no event":                {with(`"hook_event_name":"PreToolUse",`, ""), "request.dialect"},
		"no tool":                 {with(`"mcp__db__query"`, `""`), "request.tool"},
		"a tool that is a list":   {with(`"mcp__db__query"`, `["Bash"]`), "request.tool"},
		"input that is a string":  {with(`{"id":9007199254740993,"sql":"DROP TABLE t"}`, `"{}"`), "request.args"},
		"input that is null":      {with(`{"id":9007199254740993,"sql":"DROP TABLE t"}`, `null`), "request.args"},
		"a session that is long":  {with("abc", strings.Repeat("s", 257)), "request.session"},
		"an id that is long":      {with("toolu_01", strings.Repeat("i", 117)), "request.call_id"},
		"an id that is a number":  {with(`"toolu_01"`, `1`), "request.call_id"},
		"a mode that is a number": {with(`"default"`, `1`), "request.hints"},
		"a directory without end": {with("/work", strings.Repeat("d", 4097)), "request.hints"},
	})
}

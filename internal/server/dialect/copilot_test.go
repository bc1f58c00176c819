package dialect_test

import (
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/engine"
)

const copilotEvent = `{"sessionId":"s","timestamp":1704614600000,"cwd":"/w","toolName":"bash","toolArgs":"{\"command\":\"ls\"}"}`

func TestCopilotAsksOfACall(t *testing.T) {
	want := engine.Request{
		Tool: "bash", Session: "s", Args: map[string]any{"command": "ls"}, Hints: map[string]any{"dialect": "copilot", "cwd": "/w"},
	}
	checkCall(t, "copilot", copilotEvent, want)
	checkCall(t, "copilot", strings.Replace(copilotEvent, `"{\"command\":\"ls\"}"`, `{"command":"ls"}`, 1), want)
}

func TestCopilotGetsItsAnswers(t *testing.T) {
	deny := func(reason string) string {
		return `{"permissionDecision":"deny","permissionDecisionReason":"` + reason + `"}`
	}
	for _, name := range []string{"copilot", "copilot-cli"} {
		checkPairs(t, name, map[string]pair{
			name + ": an allow is no objection":    {event: copilotEvent, resp: allowed(`{"command":"ls"}`), want: `{}`},
			name + ": a deny":                      {event: copilotEvent, resp: denied, want: deny(wordsDenied)},
			name + ": a deny without a reason":     {event: copilotEvent, resp: bareDeny, want: deny(wordsBareDeny)},
			name + ": a held call is never an ask": {event: copilotEvent, resp: asked, askUser: true, want: deny(wordsPending)},
		})
	}
	checkPairs(t, "copilot", map[string]pair{
		"a rewrite cannot be passed on to all that speak it": {event: copilotEvent, resp: rewritten(`{"command":"ls -l"}`), want: noRewrite},
	})
	checkPairs(t, "copilot-cli", map[string]pair{
		"a rewrite replaces the arguments": {
			event: copilotEvent, resp: rewritten(`{"command":"ls -l"}`),
			want: `{"permissionDecision":"allow","modifiedArgs":{"command":"ls -l"}}`,
		},
	})
}

func TestCopilotIsRefusedWhatIsNoCall(t *testing.T) {
	with := func(old, replacement string) string { return strings.Replace(copilotEvent, old, replacement, 1) }
	checkRefusals(t, "copilot", map[string]struct{ event, code string }{
		"an event after the call":     {with(`{"s`, `{"toolResult":{"resultType":"success"},"s`), "request.dialect"},
		"a failure":                   {with(`{"s`, `{"error":"x","s`), "request.dialect"},
		"the format of an editor":     {`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{}}`, "request.dialect"},
		"arguments with a name twice": {with(`ls\"}`, `ls\",\"command\":\"rm\"}`), "request.duplicate_key"},
		"arguments that are text":     {with(`"{\"command\":\"ls\"}"`, `"ls"`), "request.syntax"},
		"no arguments":                {with(`,"toolArgs":"{\"command\":\"ls\"}"`, ""), "request.args"},
	})
}

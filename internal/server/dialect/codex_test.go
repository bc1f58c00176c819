package dialect_test

import (
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/engine"
)

const codexEvent = `{"session_id":"s","transcript_path":null,"cwd":"/work","hook_event_name":"PreToolUse","model":"m","permission_mode":"default",` +
	`"tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"call_1","turn_id":"t"}`

func TestCodexAsksOfACall(t *testing.T) {
	checkCall(t, "codex", codexEvent, engine.Request{
		CallID: "codex:call_1", Tool: "Bash", Session: "s", Args: map[string]any{"command": "ls"},
		Hints: map[string]any{"dialect": "codex", "permission_mode": "default", "cwd": "/work", "model": "m"},
	})
}

func TestCodexGetsItsAnswers(t *testing.T) {
	deny := func(reason string) string {
		return `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"` + reason + `"}}`
	}
	checkPairs(t, "codex", map[string]pair{
		"an allow is no objection":           {event: codexEvent, resp: allowed(`{"command":"ls"}`), want: `{}`},
		"a deny":                             {event: codexEvent, resp: denied, want: deny(wordsDenied)},
		"a deny without a reason has one":    {event: codexEvent, resp: bareDeny, want: deny(wordsBareDeny)},
		"a held call names its id":           {event: codexEvent, resp: asked, want: deny(wordsPending)},
		"a held call is never an ask":        {event: codexEvent, resp: asked, askUser: true, want: deny(wordsPending)},
		"a rewrite cannot be passed on":      {event: codexEvent, resp: rewritten(`{"command":"ls /"}`), want: noRewrite},
		"an allow that takes consent off it": {event: codexEvent, resp: allowed(`{}`), want: noRewrite},
	})
}

func TestCodexIsRefusedWhatIsNoCall(t *testing.T) {
	checkRefusals(t, "codex", map[string]struct{ event, code string }{
		"another event": {strings.Replace(codexEvent, "PreToolUse", "PermissionRequest", 1), "request.dialect"},
		"no input":      {strings.Replace(codexEvent, `"tool_input":{"command":"ls"},`, "", 1), "request.args"},
	})
}

package dialect

import (
	"slices"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/server/request"
)

// preToolUse is the event's name in both dialects that share an envelope.
const preToolUse = "PreToolUse"

// An envelope is what Claude Code and Codex expect. An empty one is no
// objection: an "allow" would skip the user's own permission prompt. Codex
// takes an answer with any other member for none.
type envelope struct {
	Output verdict `json:"hookSpecificOutput"`
}

type verdict struct {
	Event        string         `json:"hookEventName"`
	Decision     string         `json:"permissionDecision"`
	Reason       string         `json:"permissionDecisionReason,omitempty"`
	UpdatedInput map[string]any `json:"updatedInput,omitzero"` // of Claude Code only
}

func envelopeOf(decision string) func(reason string) any {
	return func(reason string) any {
		return envelope{verdict{Event: preToolUse, Decision: decision, Reason: reason}}
	}
}

// askingModes are the permission modes in which Claude Code shows its user
// what a hook asks. In the others nobody would be asked, or the answer would
// not be that of a person.
var askingModes = [...]string{"default", "plan", "acceptEdits"}

func claudeCode() *Dialect {
	return &Dialect{
		name: "claude-code",
		wait: 20 * time.Second,
		layout: layout{
			event: "hook_event_name", tool: "tool_name", input: "tool_input", session: "session_id", id: "tool_use_id",
			hints: []string{"permission_mode", "cwd", "agent_id", "agent_type"},
		},
		words: words{
			pass: none{},
			deny: envelopeOf("deny"),
			// The new input goes with "allow": without it, it is not taken over.
			rewrite: func(_, args map[string]any) any {
				return envelope{verdict{Event: preToolUse, Decision: "allow", UpdatedInput: args}}
			},
		},
		read: func(m *request.Members, e *event) {
			e.name(m, preToolUse)
			e.context(m)
			e.tool(m)
			mode, _ := e.call.Hints["permission_mode"].(string)
			if slices.Contains(askingModes[:], mode) {
				e.words.ask = envelopeOf("ask")
			}
		},
	}
}

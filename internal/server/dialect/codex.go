package dialect

import (
	"time"

	"github.com/hookpolicy/hookpolicy/internal/server/request"
)

// codex has Claude Code's envelope without two answers: "ask" makes the whole
// answer invalid, and then the tool runs; whether updatedInput is obeyed
// depends on a version that the event does not name.
func codex() *Dialect {
	return &Dialect{
		name: "codex",
		wait: 20 * time.Second,
		layout: layout{
			event: "hook_event_name", tool: "tool_name", input: "tool_input", session: "session_id", id: "tool_use_id",
			hints: []string{"permission_mode", "cwd", "model"},
		},
		words: words{pass: none{}, deny: envelopeOf("deny")},
		read: func(m *request.Members, e *event) {
			e.name(m, preToolUse)
			e.context(m)
			e.tool(m)
		},
	}
}

package dialect

import (
	"strings"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/server/request"
)

// A permission is what Cursor expects. It has no way to change a call.
type permission struct {
	Permission   string `json:"permission"`
	UserMessage  string `json:"user_message,omitempty"`
	AgentMessage string `json:"agent_message,omitempty"`
}

func permissionOf(decision string) func(reason string) any {
	return func(reason string) any { return permission{decision, reason, reason} }
}

// Names under which policies know what Cursor has events of their own for.
// They are those of its preToolUse.
const (
	cursorShell = "Shell"
	cursorRead  = "Read"
)

// maxTextBytes bounds nothing more than the body does.
const maxTextBytes = 1 << 20

func cursor() *Dialect {
	return &Dialect{
		name: "cursor",
		wait: 20 * time.Second,
		layout: layout{
			event: "hook_event_name", tool: "tool_name", input: "tool_input", session: "conversation_id", id: "tool_use_id",
			hints: []string{"model", "cwd"}, others: []string{"command", "file_path"},
		},
		words: words{pass: permission{Permission: "allow"}, deny: permissionOf("deny")},
		read:  readCursor,
	}
}

func readCursor(m *request.Members, e *event) {
	name := e.name(m, "preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile")
	e.context(m)
	switch name {
	case "beforeShellExecution":
		e.call.Tool = cursorShell
		e.call.Args = cursorArgs(m, "command", "cwd")
		e.words.ask = permissionOf("ask")
	case "beforeReadFile":
		// The file's content is part of the event and of no call: it is
		// neither judged nor recorded. This answer has one member only.
		e.call.Tool = cursorRead
		e.call.Args = cursorArgs(m, "file_path")
		e.words.deny = func(string) any { return permission{Permission: "deny"} }
	default:
		// preToolUse knows "ask" but does not ask.
		e.toolOrText(m)
		e.call.Tool = strings.TrimPrefix(e.call.Tool, "MCP:")
		if name == "beforeMCPExecution" {
			e.words.ask = permissionOf("ask")
		}
	}
}

// cursorArgs makes arguments of members, the first of which is required.
func cursorArgs(m *request.Members, names ...string) map[string]any {
	args := make(map[string]any, len(names))
	for i, name := range names {
		text := m.Text(name, request.CodeArgs, maxTextBytes)
		if _, present := m.Value(name); present {
			args[name] = text
		} else if i == 0 {
			m.Fail(request.CodeArgs, name+" is missing")
		}
	}
	return args
}

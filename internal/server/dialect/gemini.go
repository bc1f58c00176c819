package dialect

import (
	"time"

	"github.com/hookpolicy/hookpolicy/internal/server/request"
)

// A ruling is what Gemini CLI expects.
type ruling struct {
	Decision string       `json:"decision"`
	Reason   string       `json:"reason,omitempty"`
	Output   *geminiInput `json:"hookSpecificOutput,omitempty"`
}

type geminiInput struct {
	ToolInput map[string]any `json:"tool_input"`
}

func gemini() *Dialect {
	return &Dialect{
		name: "gemini",
		wait: 40 * time.Second,
		layout: layout{
			event: "hook_event_name", tool: "tool_name", input: "tool_input", session: "session_id",
			hints: []string{"cwd"}, others: []string{"mcp_context"},
		},
		words: words{
			pass:    ruling{Decision: "allow"},
			deny:    func(reason string) any { return ruling{Decision: "deny", Reason: reason} },
			rewrite: geminiRewrite,
		},
		read: func(m *request.Members, e *event) {
			e.name(m, "BeforeTool")
			e.context(m)
			e.tool(m)
			if name := mcpTool(m); name != "" {
				e.call.Tool = name
			}
		},
	}
}

// mcpTool returns the name of a tool of an MCP server as policies expect it,
// "" if the call is for none. The name in tool_name has had its characters
// replaced and its length cut; those beside it have not.
func mcpTool(m *request.Members) string {
	obj := m.Object("mcp_context", request.CodeTool)
	if obj == nil {
		return ""
	}
	inner := m.Within(obj, "server_name", "tool_name")
	server := inner.Text("server_name", request.CodeTool, request.MaxToolBytes)
	tool := inner.Text("tool_name", request.CodeTool, request.MaxToolBytes)
	name := "mcp__" + server + "__" + tool
	if server == "" || tool == "" || len(name) > request.MaxToolBytes {
		inner.Fail(request.CodeTool, "mcp_context must name a server and its tool")
	}
	return name
}

// geminiRewrite sends new input. Its members are assigned to the old input, so
// none of the old ones can be taken away.
func geminiRewrite(sent, args map[string]any) any {
	for name := range sent {
		if _, kept := args[name]; !kept {
			return nil
		}
	}
	return ruling{Decision: "allow", Output: &geminiInput{args}}
}

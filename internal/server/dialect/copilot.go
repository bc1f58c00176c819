package dialect

import (
	"time"

	"github.com/hookpolicy/hookpolicy/internal/server/request"
)

// A copilotAnswer is what GitHub Copilot expects.
type copilotAnswer struct {
	Decision     string         `json:"permissionDecision"`
	Reason       string         `json:"permissionDecisionReason,omitempty"`
	ModifiedArgs map[string]any `json:"modifiedArgs,omitzero"`
}

// copilot is spoken by the command line, the SDK and the agent on GitHub,
// which read the same files in a repository and do not say which of them asks.
// The last one obeys denials and ignores everything else, new arguments
// included. So the dialect copilot never sends any; copilot-cli is for
// settings that only the others read. Neither asks the user: the event does
// not say whether there is one.
func copilot(name string, rewrite func(sent, args map[string]any) any) *Dialect {
	return &Dialect{
		name: name,
		wait: 20 * time.Second,
		layout: layout{
			tool: "toolName", input: "toolArgs", session: "sessionId",
			hints: []string{"cwd"}, others: []string{"hook_event_name", "toolResult", "error"},
		},
		words: words{
			pass:    none{},
			deny:    func(reason string) any { return copilotAnswer{Decision: "deny", Reason: reason} },
			rewrite: rewrite,
		},
		read: readCopilot,
	}
}

// readCopilot tells events apart by their members: only those of other events,
// and those in the format of another editor, have one of these.
func readCopilot(m *request.Members, e *event) {
	for _, name := range e.layout.others {
		if _, present := m.Value(name); present {
			m.Fail(CodeDialect, "the event is no preToolUse in Copilot's own format")
		}
	}
	e.context(m)
	e.toolOrText(m)
}

// copilotRewrite sends new arguments together with an "allow", as the
// documentation does.
func copilotRewrite(_, args map[string]any) any {
	return copilotAnswer{Decision: "allow", ModifiedArgs: args}
}

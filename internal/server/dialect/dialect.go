// Package dialect speaks the hook protocols of existing agents: it reads the
// event that an agent sends before a tool call, and writes the answer in the
// agent's own words. It knows wire formats only; who calls, what is decided
// and what is recorded are matters of others.
//
// What holds in every dialect:
//
//   - Identity is never read from an event, and nothing in an event is needed
//     for an Allow. What the agent says of itself becomes a hint.
//   - The event is read as strictly as the body of POST /v1/decide. What an
//     agent sends as JSON within a string is read as strictly once more.
//   - An Allow is "no objection" where the agent has such an answer, so that
//     its own permission prompts stay in place.
//   - A tool may run only with the arguments that were decided on. Where these
//     differ from those that the agent sent and the agent cannot be told so,
//     the answer is a deny.
//   - A call that a person must approve is denied with the approval's id. The
//     agent's own user is asked instead only if the one who set the hook up
//     said so, and only where the agent is known to ask: that user's word is
//     neither authenticated nor recorded.
//   - Every deny has a reason that is not empty: some agents ignore one
//     without.
package dialect

import (
	"encoding/json"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/server/request"
)

// Codes of what a dialect refuses by itself. They are stable.
const (
	// CodeDialect refuses a dialect or an event that nobody knows.
	CodeDialect = "request.dialect"
	// CodeNoRewrite refuses a call that may run with other arguments only,
	// from an agent that cannot be told which.
	CodeNoRewrite = "dialect.no_rewrite"
)

// A Dialect is the way in which one kind of agent asks.
type Dialect struct {
	name string
	wait time.Duration
	// read makes a question of an event that has the layout.
	read   func(m *request.Members, e *event)
	layout layout
	words  words // of an event that could not be read
}

// Find returns the dialect of a name.
func Find(name string) (*Dialect, bool) {
	switch name {
	case "claude-code":
		return claudeCode(), true
	case "codex":
		return codex(), true
	case "gemini":
		return gemini(), true
	case "cursor":
		return cursor(), true
	case "copilot":
		return copilot(name, nil), true
	case "copilot-cli":
		return copilot(name, copilotRewrite), true
	default:
		return nil, false
	}
}

// Wait is how long a held call waits for a person unless the hook's settings
// say otherwise. It is well below the time that the agent gives its hook in
// the settings of docs/dialects.md, since most agents take a hook that does
// not answer in time for one that has no objection.
func (d *Dialect) Wait() time.Duration { return d.wait }

// Read reads an event. An error is a *request.Error or a *strictjson.Error.
func (d *Dialect) Read(doc []byte) (*Question, error) {
	m, err := request.Read(doc, d.layout.names()...)
	if err != nil {
		return nil, err
	}
	e := &event{dialect: d.name, layout: d.layout, words: d.words}
	d.read(m, e)
	if e.call.Tool == "" {
		m.Fail(request.CodeTool, "the event names no tool")
	}
	if e.call.Args == nil {
		m.Fail(request.CodeArgs, "the tool's input must be an object")
	}
	if err := m.Err(); err != nil {
		return nil, err
	}
	return &Question{Call: e.call, words: e.words}, nil
}

// Deny returns the deny of an event that could not be read.
func (d *Dialect) Deny(code, message string) []byte { return d.words.refusal(code, message) }

// words are the answers to one event.
type words struct {
	pass any // the call may run as it is
	deny func(reason string) any
	// ask lets the agent's own user decide. Nil: the agent has no such answer,
	// or nobody would be asked.
	ask func(reason string) any
	// rewrite lets the call run with other arguments than it was sent with,
	// nil if the agent cannot do that with these. Nil: it never can.
	rewrite func(sent, args map[string]any) any
}

// A none is the answer of somebody who has no objection.
type none struct{}

func (w words) refusal(code, message string) []byte {
	return encode(w.deny(reason(code, message)))
}

// reason is what agent and user are told. It is never empty.
func reason(code, message string) string {
	if message == "" {
		message = "the call is denied"
	}
	if code == "" {
		return "HookPolicy: " + message
	}
	return "HookPolicy: " + message + " (" + code + ")"
}

// encode writes an answer. All answers are made of strings and parsed values,
// which always encode; if one did not, its absence is no answer at all, and
// whoever sends it must not.
func encode(answer any) []byte {
	doc, err := json.Marshal(answer)
	if err != nil {
		return nil
	}
	return append(doc, '\n')
}

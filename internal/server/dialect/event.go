package dialect

import (
	"errors"
	"slices"

	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/server/request"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// Limits of single members, in bytes.
const (
	maxEventBytes = 64
	maxHintBytes  = 4096 // a directory, at the most
)

// A layout names the members that hold the parts of a call. Members that an
// agent does not have are "".
type layout struct {
	event, tool, input, session, id string
	hints                           []string
	others                          []string // of single events
}

func (l layout) names() []string {
	names := slices.Concat([]string{l.event, l.tool, l.input, l.session, l.id}, l.hints, l.others)
	return slices.DeleteFunc(names, func(n string) bool { return n == "" })
}

// An event is a question that is being read.
type event struct {
	dialect string
	layout  layout
	call    engine.Request
	words   words
}

// name returns the event's name, which must be one of known.
func (e *event) name(m *request.Members, known ...string) string {
	name := m.Text(e.layout.event, CodeDialect, maxEventBytes)
	if !slices.Contains(known, name) {
		m.Fail(CodeDialect, "the event is none that asks before a tool call")
	}
	return name
}

// context reads what belongs to a call beside tool and input. The agent's
// identifier of a call is kept apart from those of other dialects.
func (e *event) context(m *request.Members) {
	if l := e.layout.session; l != "" {
		e.call.Session = m.Text(l, request.CodeSession, request.MaxSessionBytes)
	}
	if l := e.layout.id; l != "" {
		prefix := e.dialect + ":"
		if id := m.Text(l, request.CodeCallID, request.MaxCallIDBytes-len(prefix)); id != "" {
			e.call.CallID = prefix + id
		}
	}
	e.call.Hints = map[string]any{"dialect": e.dialect}
	for _, name := range e.layout.hints {
		if v, present := m.Value(name); present && v != nil {
			e.call.Hints[name] = m.Text(name, request.CodeHints, maxHintBytes)
		}
	}
}

// tool reads the tool's name and its input, which is an object.
func (e *event) tool(m *request.Members) {
	e.call.Tool = m.Text(e.layout.tool, request.CodeTool, request.MaxToolBytes)
	e.call.Args = m.Object(e.layout.input, request.CodeArgs)
}

// toolOrText is like tool where the input may be JSON within a string too.
func (e *event) toolOrText(m *request.Members) {
	v, _ := m.Value(e.layout.input)
	text, ok := v.(string)
	if !ok {
		e.tool(m)
		return
	}
	e.call.Tool = m.Text(e.layout.tool, request.CodeTool, request.MaxToolBytes)
	v, err := strictjson.Parse([]byte(text))
	if err != nil {
		code, detail := request.CodeArgs, "not JSON"
		if refused, ok := errors.AsType[*strictjson.Error](err); ok {
			code, detail = string(refused.Code), refused.Detail
		}
		m.Fail(code, e.layout.input+": "+detail)
		return
	}
	e.call.Args, ok = v.(map[string]any)
	if !ok {
		m.Fail(request.CodeArgs, e.layout.input+" must hold an object")
	}
}

package chain

import (
	"context"
	"maps"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// A Call is one tool call as hooks see it. Every hook gets a copy of its own.
type Call struct {
	// Tool is the name that policies use: the tool's own, without the MCP
	// prefix that the caller may have put before it.
	Tool string
	// ToolAsCalled is the name as the caller wrote it.
	ToolAsCalled string
	// Args are the arguments, values as package strictjson parses them.
	Args map[string]any
	// Resolved maps a path argument, as written, to what the enforcement
	// point resolved it to: the caller's claim.
	Resolved map[string]string
	// Session and Hints are the client's words: they may lead to Ask or Deny
	// and are never needed for one.
	Session string
	Hints   map[string]any
	Caller  Caller
}

// A Caller is who makes a call, known from the transport.
type Caller struct {
	Namespace      string
	ServiceAccount string
}

// String returns "namespace/serviceaccount".
func (c Caller) String() string { return c.Namespace + "/" + c.ServiceAccount }

// clone returns a copy that shares nothing that a hook could change.
func (c *Call) clone() *Call {
	d := *c
	d.Args = strictjson.CloneObject(c.Args)
	d.Hints = strictjson.CloneObject(c.Hints)
	d.Resolved = maps.Clone(c.Resolved)
	return &d
}

// A Hook judges calls. It is safe for concurrent use, keeps no call, and
// returns an error only when it could not judge.
type Hook interface {
	Decide(ctx context.Context, call *Call) (Decision, error)
}

// A PromptHook is a Hook that says of itself that it never waits: it does no
// I/O, and the size of a call bounds its work. It is run without a goroutine of
// its own, which costs more than most hooks do, and its context has a deadline
// that ends nothing by itself. A hook that could hang must not say so: nothing
// could give up on it.
type PromptHook interface {
	Hook
	Prompt() bool
}

// HookFunc adapts a function to a Hook.
type HookFunc func(ctx context.Context, call *Call) (Decision, error)

// Decide calls f.
func (f HookFunc) Decide(ctx context.Context, call *Call) (Decision, error) { return f(ctx, call) }

// An Observer is a Hook that wants to know what became of a call that it let
// pass. What it does with that loosens nothing.
type Observer interface {
	Observe(ctx context.Context, call *Call, outcome Outcome)
}

// An Outcome is what the enforcement point says the tool did.
type Outcome struct {
	Status   string // ok, error or unknown
	Duration time.Duration
}

// A Constructor makes the hook that a plan describes. It reports every setting
// that it cannot work with; it does no I/O.
type Constructor func(segment *plan.Segment, hook *plan.Hook) (Hook, error)

// Constructors bind kinds of hook to what makes them.
type Constructors map[plan.Kind]Constructor

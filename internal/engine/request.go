package engine

import (
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
)

// A Request is one call as a server read it: checked for form, not judged.
type Request struct {
	CallID  string // the caller's name for the call; may be empty
	Tool    string // as the caller wrote it
	Session string
	// Args and Hints are objects as package strictjson parses them. Hints may
	// be nil, Args is not.
	Args  map[string]any
	Hints map[string]any
	// Resolved maps paths to what the enforcement point resolved them to.
	Resolved map[string]string
	// Wait is how long a held call may wait for a person before it is
	// answered with AskUser; zero does not wait.
	Wait time.Duration
	// Stopping, once closed, ends a wait at once: a held call is answered
	// with AskUser. It cuts short nothing else. Nil never does.
	Stopping <-chan struct{}
}

// A RefusedError says why something other than a call was refused. Code is
// stable and for machines, Message is short and for the caller.
type RefusedError struct {
	Code    string
	Message string
}

func (e *RefusedError) Error() string { return e.Code + ": " + e.Message }

// An Event is one server-sent event: its name, one of the names in package
// decisionv1, and its data.
type Event struct {
	Name string
	Data decisionv1.Event
}

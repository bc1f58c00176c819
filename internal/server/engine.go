package server

import (
	"context"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/engine"
)

// An Engine decides and records. It is safe for concurrent use.
type Engine interface {
	// Decide judges one call and returns only once the decision is recorded.
	// It never fails: every problem is a Deny with a code. The context ends
	// when the client is gone.
	Decide(ctx context.Context, caller chain.Caller, req engine.Request) *decisionv1.Response
	// Refuse records an attempt that never became a call, within a rate
	// limit, and returns its Deny. The caller is nil when it is not known.
	Refuse(ctx context.Context, caller *chain.Caller, code, message string) *decisionv1.Response
	// Outcome records what a tool did. What it refuses is an
	// *engine.RefusedError, which it has recorded itself.
	Outcome(ctx context.Context, caller chain.Caller, outcome decisionv1.Outcome) (*decisionv1.OutcomeResponse, error)
	// Approval returns the state of one held call of this caller. With a
	// positive wait it returns when the call is decided, when the wait is over
	// or when the context ends, whichever comes first; none of these is an
	// error. An approval that this caller does not have is an
	// *engine.RefusedError.
	Approval(ctx context.Context, caller chain.Caller, id string, wait time.Duration) (*decisionv1.Approval, error)
	// Subscribe delivers the caller's own events until the context ends. The
	// channel has a bounded buffer and is closed when a subscriber falls
	// behind.
	Subscribe(ctx context.Context, caller chain.Caller) <-chan engine.Event
	// Ready returns why no call can be decided now, or nil. Its text is shown
	// to anyone who asks.
	Ready() error
}

package chain

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// maxStuck bounds, for one hook, the decisions that outlived their time and
// still run. Past it the hook fails at once: a hook that hangs must not eat the
// process one goroutine a call.
const maxStuck = 64

// errStuck is why a hook with maxStuck runs behind it is not started again.
var errStuck = errors.New("too many earlier runs of the hook have not ended")

// A step is one hook in its place.
type step struct {
	segment *plan.Segment
	hook    *plan.Hook
	impl    Hook
	prompt  bool // see PromptHook
	stuck   atomic.Int32
}

// looksAt reports whether the hook wants to see calls of a tool.
func (st *step) looksAt(tool string) bool {
	if st.hook.AllTools {
		return true
	}
	_, ok := slices.BinarySearch(st.hook.Tools, tool)
	return ok
}

// decide runs the hook on a copy of the call. It returns one of the four
// decisions by value; nil stands for a failure that the policy ignores.
func (st *step) decide(ctx context.Context, call *Call, r *Result) Decision {
	d, f := st.run(ctx, call)
	if f == nil {
		return d
	}
	// A call whose caller has left is not decided in its favour, whatever the
	// policy says of failures.
	f.Ignored = st.hook.FailurePolicy == plan.FailureIgnore && ctx.Err() == nil
	f.Policy, f.Hook = st.segment.Source.Tenant(), st.hook.Name
	r.Failures = append(r.Failures, *f)
	if f.Ignored {
		return nil
	}
	return Deny{
		Basis: Basis{Rule: CodeHookFailed, Facts: map[string]any{"cause": f.Cause}},
		Code:  CodeHookFailed, Message: "the call could not be checked",
	}
}

// run gives the hook its time and no more. The hook runs in a goroutine of its
// own, since nothing can interrupt one that does not look at its context.
func (st *step) run(ctx context.Context, call *Call) (Decision, *Failure) {
	if st.prompt {
		return st.runHere(ctx, call)
	}
	if st.stuck.Load() >= maxStuck {
		return nil, &Failure{Cause: "overloaded", Err: errStuck}
	}
	ctx, cancel := context.WithTimeout(ctx, st.hook.Timeout())
	defer cancel()
	type answer struct {
		decision Decision
		failure  *Failure
	}
	done := make(chan answer, 1)
	var state atomic.Int32 // 0 running, 1 ended, 2 given up
	theirs := call.clone()
	go func() {
		d, f := st.call(ctx, theirs)
		done <- answer{d, f}
		if !state.CompareAndSwap(0, 1) {
			st.stuck.Add(-1)
		}
	}()
	select {
	case a := <-done:
		if a.failure == nil && ctx.Err() != nil {
			// A decision that came too late is no decision.
			return nil, &Failure{Cause: "timeout", Err: ctx.Err()}
		}
		return a.decision, a.failure
	case <-ctx.Done():
		st.stuck.Add(1)
		if !state.CompareAndSwap(0, 2) {
			st.stuck.Add(-1) // it ended in this very moment
		}
		return nil, &Failure{Cause: "timeout", Err: ctx.Err()}
	}
}

// runHere runs a hook that never waits. Its time-out holds all the same: the
// hook can see when its time is over, and what it decides later does not count.
func (st *step) runHere(ctx context.Context, call *Call) (Decision, *Failure) {
	end := time.Now().Add(st.hook.Timeout())
	d, f := st.call(deadlineContext{ctx, end}, call.clone())
	switch {
	case f != nil:
		return nil, f
	case ctx.Err() != nil:
		return nil, &Failure{Cause: "timeout", Err: ctx.Err()}
	case time.Now().After(end):
		return nil, &Failure{Cause: "timeout", Err: context.DeadlineExceeded}
	}
	return d, nil
}

// A deadlineContext tells a deadline and keeps no timer for it: whoever needs to
// be woken makes a context with that deadline of its own.
type deadlineContext struct {
	context.Context //nolint:containedctx // it is one itself
	deadline        time.Time
}

func (c deadlineContext) Deadline() (time.Time, bool) {
	if d, ok := c.Context.Deadline(); ok && d.Before(c.deadline) {
		return d, true
	}
	return c.deadline, true
}

func (st *step) call(ctx context.Context, call *Call) (d Decision, f *Failure) {
	defer func() {
		if p := recover(); p != nil {
			// The value may hold arguments; its type does not.
			d, f = nil, &Failure{Cause: "panic", Err: fmt.Errorf("panic with a value of type %T", p), Stack: debug.Stack()}
		}
	}()
	d, err := st.impl.Decide(ctx, call)
	if err != nil {
		return nil, &Failure{Cause: "error", Err: err}
	}
	switch v := d.(type) {
	case Allow, Deny, AskUser:
		return d, nil
	case Rewrite:
		if v.Args == nil {
			return nil, &Failure{Cause: "undecided", Err: errors.New("rewrite without arguments")}
		}
		return d, nil
	default:
		// nil, and pointers to decisions, which would carry nil past the switch.
		return nil, &Failure{Cause: "undecided", Err: fmt.Errorf("decision of type %T", d)}
	}
}

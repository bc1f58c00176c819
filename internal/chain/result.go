package chain

import (
	"time"

	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// A Result is what a chain made of one call.
type Result struct {
	// Decision is the answer: an AskUser stands for all of Asks.
	Decision Decision
	// Tool is the name that policies use for the tool.
	Tool string
	// Args are the arguments that the decision is about: what the tool must
	// run with if it may.
	Args map[string]any
	// Segment and Hook say who denied, asked first or rewrote first. Segment is
	// nil and Hook empty where no policy's hook did.
	Segment *plan.Segment
	Hook    string
	// Asks are the questions of the last pass, in order.
	Asks []Ask
	// Steps are the hooks of the last pass that looked at the call. A hook that
	// rewrote it in an earlier pass stands here with what it did then.
	Steps []Step
	// Failures are the failed hooks of all passes, ignored ones included.
	Failures []Failure
	// Passes is how often the chain ran.
	Passes int
	// Mode is DryRun or Off where the tenant's hooks did not count.
	Mode plan.Enforcement
	// Would is, in DryRun, what would have been decided.
	Would *Result

	rewrites []rewrite // of all passes, in order
}

// A rewrite is a step that changed the arguments.
type rewrite struct {
	step Step
	by   *step
}

// Effect returns the effect of the result's decision.
func (r *Result) Effect() Effect { return r.Decision.Effect() }

// Risk returns the highest risk of the asks, empty where nothing asks.
func (r *Result) Risk() Risk {
	var risk Risk
	for i, a := range r.Asks {
		if i == 0 {
			risk = a.Risk
		} else {
			risk = risk.Max(a.Risk)
		}
	}
	return risk
}

// An Ask is one hook's question, with the policy whose settings hold for it.
type Ask struct {
	AskUser
	Segment *plan.Segment
	Hook    string
}

// Timeout is how long a person has to answer this question.
func (a *Ask) Timeout() time.Duration {
	s := a.Segment.Approvals.TimeoutMediumSeconds
	if a.Risk == RiskHigh {
		s = a.Segment.Approvals.TimeoutHighSeconds
	}
	return time.Duration(s) * time.Second
}

// A Step is what one hook made of the call in the last pass.
type Step struct {
	Policy string // the policy's tenant name
	Hook   string
	Effect Effect
	Basis  Basis
}

// A Failure is a hook that could not judge.
type Failure struct {
	Policy  string
	Hook    string
	Cause   string // panic, error, timeout, undecided or overloaded
	Ignored bool
	// Err is the hook's own error, for the log.
	Err error
	// Stack is where it panicked, for the log.
	Stack []byte
}

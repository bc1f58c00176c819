package approval

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// Bounds of what people are shown, in characters.
const (
	MaxPrompt  = 500
	MaxDetail  = 4000
	MaxDetails = 64 // lines
)

// A Request is a call that hooks want a person to decide.
type Request struct {
	Binding    Binding
	DecisionID string  // of the decision now being made
	Consent    Consent // what TakeConsent found
	// FlagCounts says that the agent's own confirm_destructive is enough: the
	// policy says consent: Agent, and no hook of the baseline asks. It counts
	// for nothing where more than one approver is needed.
	FlagCounts bool

	// Tool and Session are what people see of the binding's; those themselves
	// if empty.
	Tool    string
	Session string
	Prompt  string
	Details []string
	Risk    chain.Risk
	// RiskReasons say why the risk is what it is, in what people see.
	RiskReasons []string
	Args        any // the arguments, redacted
	Asks        []Ask
	Policy      Policy
	// Policies are those whose hooks ask.
	Policies []PolicyRef

	Timeout          time.Duration // to decide; above 0
	UseWithin        time.Duration // to use, after the approval; above 0
	MinimumApprovers int           // 1 or more
	MaxPending       int           // of this caller; 1 or more
}

// check refuses a request that would hold a call under no rule at all.
func (r *Request) check() error {
	switch {
	case r.Binding.Caller == chain.Caller{}:
		return errors.New("approval request: no caller")
	case r.Timeout <= 0 || r.UseWithin <= 0:
		return errors.New("approval request: times must be above 0")
	case r.MinimumApprovers < 1 || r.MaxPending < 1:
		return errors.New("approval request: approvers and pending calls must be 1 or more")
	}
	return nil
}

// flagConfirms reports whether the agent's word decides this call.
func (r *Request) flagConfirms() bool {
	return r.FlagCounts && r.Consent.Confirmed && r.MinimumApprovers == 1
}

// approval returns the pending approval that the request asks for.
func (r *Request) approval(digest, replica string, now time.Time) Approval {
	return Approval{
		ID:               NewID(),
		Digest:           digest,
		Prompt:           Safe(r.Prompt, MaxPrompt),
		Details:          safeLines(r.Details),
		Risk:             r.Risk,
		RiskReasons:      safeLines(r.RiskReasons),
		Args:             strictjson.Clone(r.Args),
		Asks:             slices.Clone(r.Asks),
		Requester:        r.Binding.Caller,
		Session:          cmp.Or(r.Session, r.Binding.Session),
		Tool:             cmp.Or(r.Tool, r.Binding.Tool),
		Policy:           r.Policy,
		Policies:         slices.Clone(r.Policies),
		ByAgent:          r.FlagCounts && r.MinimumApprovers == 1,
		DecisionID:       r.DecisionID,
		Replica:          replica,
		CreatedAt:        now,
		DecideBy:         now.Add(r.Timeout),
		UseWithin:        r.UseWithin,
		MinimumApprovers: r.MinimumApprovers,
		State:            Pending,
	}
}

// safeLines makes lines safe to show, and says so where it leaves some out.
func safeLines(lines []string) []string {
	safe := make([]string, 0, min(len(lines), MaxDetails))
	for i, line := range lines {
		if i == MaxDetails-1 && len(lines) > MaxDetails {
			return append(safe, fmt.Sprintf("… [%d lines in all]", len(lines)))
		}
		safe = append(safe, Safe(line, MaxDetail))
	}
	return safe
}

// An Outcome is what the Desk makes of a request.
type Outcome string

// The outcomes. The zero value is none of them and lets no call pass.
const (
	// Passed: a person approved this call, and this request used that up.
	Passed Outcome = "Passed"
	// Held: the call waits for a person.
	Held Outcome = "Held"
	// Refused: a person rejected this call less than RejectionStands ago.
	Refused Outcome = "Refused"
	// TooMany: the caller has MaxPending calls waiting already.
	TooMany Outcome = "TooMany"
)

// Codes of the denials that approvals lead to.
const (
	CodeRejected       = "approval.rejected"
	CodeTimeout        = "approval.timeout"
	CodeTooManyPending = "approval.too_many_pending"
	CodeUnavailable    = "approval.unavailable"
)

// A Ruling is the answer to a request. Approval is the one that was used, is
// waited for, or was rejected; empty for TooMany.
type Ruling struct {
	Outcome  Outcome
	Approval Approval
}

// Code returns the code of the denial that the ruling is; empty if it is none.
func (r Ruling) Code() string {
	switch r.Outcome {
	case Refused:
		return CodeRejected
	case TooMany:
		return CodeTooManyPending
	default:
		return ""
	}
}

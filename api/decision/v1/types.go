// Package v1 is the decision API: what an enforcement point sends before and
// after a tool call, and what it gets back. It needs the standard library
// only.
package v1

import (
	"encoding/json"
	"time"
)

// Paths of the API, shared by server and client.
const (
	PathDecide    = "/v1/decide"
	PathOutcomes  = "/v1/outcomes"
	PathApprovals = "/v1/approvals/" // followed by the approval's id
	PathEvents    = "/v1/events"
	PathHooks     = "/v1/hooks/" // followed by the dialect's name
	PathHealth    = "/healthz"
	PathReady     = "/readyz"
	PathMetrics   = "/metrics"
)

// MaxWaitSeconds bounds how long a request may wait for a person.
const MaxWaitSeconds = 300

// A Decision is the service's answer to a call.
type Decision string

// The decisions. Anything else, and no answer at all, means Deny.
const (
	Allow   Decision = "Allow"
	Deny    Decision = "Deny"
	AskUser Decision = "AskUser"
	Rewrite Decision = "Rewrite"
)

// A Request asks whether a tool may be called.
type Request struct {
	// CallID is the caller's name for this call and makes a retry safe: the
	// same id with the same arguments is answered alike for a minute, with
	// other arguments it is refused. At most 128 bytes.
	CallID string `json:"callId,omitempty"`
	// Tool is the tool's name, an MCP prefix included. Required.
	Tool string `json:"tool"`
	// Args are the tool's arguments, a JSON object. Required.
	Args json.RawMessage `json:"args"`
	// Resolved maps paths within the arguments to what the enforcement point
	// resolved them to in its own file system.
	Resolved map[string]string `json:"resolved,omitempty"`
	// Session names the conversation. It narrows approvals, nothing else.
	Session string `json:"session,omitempty"`
	// Hints are what the client says of the call; they can only tighten.
	Hints json.RawMessage `json:"hints,omitempty"`
	// WaitSeconds holds the request while a person decides, 300 at most.
	WaitSeconds int `json:"waitSeconds,omitempty"`
}

// A Response is the answer to a call. It comes with every status code: a
// refused request carries Deny and a code too.
type Response struct {
	CallID   string   `json:"callId,omitempty"`
	Decision Decision `json:"decision"`
	Reason   *Reason  `json:"reason,omitempty"`
	// Hook names the hook that decided.
	Hook string `json:"hook,omitempty"`
	// Args are in every Allow and Rewrite: what the tool must run with.
	Args     json.RawMessage `json:"args,omitempty"`
	Approval *Approval       `json:"approval,omitempty"`
	Risk     string          `json:"risk,omitempty"` // Low, Medium or High
	Policy   *Policy         `json:"policy,omitempty"`
	Audit    *Receipt        `json:"audit,omitempty"`
}

// A Reason says why: a stable code for machines, a short text for the agent.
type Reason struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// A Policy says which policy decided.
type Policy struct {
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	Generation int64  `json:"generation,omitempty"`
	Digest     string `json:"digest"`
}

// A Receipt says where a decision is recorded.
type Receipt struct {
	Chain string `json:"chain"`
	// Seq is a decimal number, as a string: it may pass 2^53.
	Seq  string `json:"seq"`
	Hash string `json:"hash"`
}

// An ApprovalState is where a held call stands.
type ApprovalState string

// The states. Only Approved lets the call pass, once.
const (
	Pending  ApprovalState = "Pending"
	Approved ApprovalState = "Approved"
	Rejected ApprovalState = "Rejected"
	TimedOut ApprovalState = "TimedOut"
	Used     ApprovalState = "Used"
	Expired  ApprovalState = "Expired" // approved, but not used in time
	Voided   ApprovalState = "Voided"  // its policy changed or went away
)

// An Approval is one held call, as its own caller sees it.
type Approval struct {
	ID      string        `json:"id"`
	State   ApprovalState `json:"state"`
	Prompt  string        `json:"prompt"`
	Details []string      `json:"details,omitempty"`
	// ConfirmArgs are added to the original arguments when the call is
	// repeated.
	ConfirmArgs map[string]any `json:"confirmArgs,omitempty"`
	ExpiresAt   time.Time      `json:"expiresAt"`
	URL         string         `json:"url,omitempty"`

	// AgentMayConsent says, within the service, that every policy that asks takes
	// the agent's own word. It is not part of the API.
	AgentMayConsent bool `json:"-"`
}

// What an Outcome can say.
const (
	OutcomeOK      = "ok"
	OutcomeError   = "error"
	OutcomeUnknown = "unknown" // the tool may have run
)

// An Outcome tells what the tool did. It is the enforcement point's claim and
// is recorded as one.
type Outcome struct {
	CallID       string  `json:"callId"`
	Audit        Receipt `json:"audit"`
	Status       string  `json:"status"` // OutcomeOK, OutcomeError or OutcomeUnknown
	ResultDigest string  `json:"resultDigest,omitempty"`
	Error        string  `json:"error,omitempty"`
	DurationMs   int64   `json:"durationMs"`
}

// An OutcomeResponse says where the outcome is recorded.
type OutcomeResponse struct {
	CallID string   `json:"callId"`
	Audit  *Receipt `json:"audit,omitempty"`
}

// Names of server-sent events.
const (
	EventAsk      = "hook_asks_user"
	EventDenied   = "hook_denied"
	EventResolved = "approval_resolved"
)

// An Event is the data of a server-sent event.
type Event struct {
	CallID   string    `json:"callId,omitempty"`
	Tool     string    `json:"tool"`
	Session  string    `json:"session,omitempty"`
	Reason   *Reason   `json:"reason,omitempty"`
	Approval *Approval `json:"approval,omitempty"`
}

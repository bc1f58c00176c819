package admin

import (
	"fmt"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/chain"
)

// A Held is one held call as approvers see it.
type Held struct {
	ID               string         `json:"id"`
	State            approval.State `json:"state"`
	Prompt           string         `json:"prompt"`
	Details          []string       `json:"details,omitempty"`
	Risk             chain.Risk     `json:"risk"`
	Tool             string         `json:"tool"`
	Args             any            `json:"args"` // redacted
	Hooks            []string       `json:"hooks"`
	Requester        string         `json:"requester"`
	Session          string         `json:"session,omitempty"`
	Policy           string         `json:"policy"`
	CreatedAt        time.Time      `json:"createdAt"`
	DecideBy         time.Time      `json:"decideBy"`
	UseBy            *time.Time     `json:"useBy,omitempty"` // once approved
	MinimumApprovers int            `json:"minimumApprovers"`
	Votes            []Vote         `json:"votes,omitempty"`
}

// A Vote is one person's word on a held call.
type Vote struct {
	User    string    `json:"user"`
	Approve bool      `json:"approve"`
	Reason  string    `json:"reason,omitempty"`
	At      time.Time `json:"at"`
	Via     string    `json:"via"`
}

// A list is the answer to GET /approvals.
type list struct {
	Approvals []Held `json:"approvals"`
}

// An Error is a refusal.
type Error struct {
	Code    string `json:"code"` // stable, for machines
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// A refusal is the body of a refusal.
type refusal struct {
	Error *Error `json:"error"`
}

func heldOf(a approval.Approval) Held {
	h := Held{
		ID: a.ID, State: a.State, Prompt: a.Prompt, Details: a.Details, Risk: a.Risk, Tool: a.Tool, Args: a.Args,
		Requester: a.Requester.String(), Session: a.Session, Policy: fmt.Sprintf("%s@%d", a.Policy.Name, a.Policy.Generation),
		CreatedAt: a.CreatedAt, DecideBy: a.DecideBy, MinimumApprovers: a.MinimumApprovers,
	}
	if a.State == approval.Approved {
		h.UseBy = new(a.UseBy())
	}
	for _, ask := range a.Asks {
		h.Hooks = append(h.Hooks, ask.Hook)
	}
	for _, v := range a.Votes {
		h.Votes = append(h.Votes, Vote(v))
	}
	return h
}

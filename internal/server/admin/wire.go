package admin

import "github.com/hookpolicy/hookpolicy/internal/card"

// A Held is one held call as approvers see it.
type Held = card.Card

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

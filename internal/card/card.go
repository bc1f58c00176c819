// Package card shows a held call to the people who decide it: as text, as
// Markdown and as JSON, from one source.
//
// Nothing in a call can change how it is shown. What came from outside passes
// approval.Safe, so that nothing hides and nothing moves the rest; in Markdown it
// stands in code only, where no mark-up, link or mention works. What is cut says
// how long it was.
package card

import (
	"fmt"
	"strings"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/chain"
)

// A Card is one held call as its deciders see it.
type Card struct {
	ID          string         `json:"id"`
	State       approval.State `json:"state"`
	Prompt      string         `json:"prompt"`
	Details     []string       `json:"details,omitempty"`
	Risk        chain.Risk     `json:"risk"`
	RiskReasons []string       `json:"riskReasons,omitempty"`
	Tool        string         `json:"tool"`
	Args        any            `json:"args"` // redacted
	Hooks       []string       `json:"hooks"`
	Requester   string         `json:"requester"`
	Namespace   string         `json:"namespace"` // the requester's
	Session     string         `json:"session,omitempty"`
	Policy      string         `json:"policy"`
	CreatedAt   time.Time      `json:"createdAt"`
	DecideBy    time.Time      `json:"decideBy"`
	UseBy       *time.Time     `json:"useBy,omitempty"` // once approved

	MinimumApprovers int    `json:"minimumApprovers"`
	Votes            []Vote `json:"votes,omitempty"`
}

// A Vote is one person's word on a held call.
type Vote struct {
	User    string    `json:"user"`
	Approve bool      `json:"approve"`
	Reason  string    `json:"reason,omitempty"`
	At      time.Time `json:"at,omitzero"` // zero: cast, but not counted yet
	Via     string    `json:"via"`
}

// Of returns the card of a held call, in the state that its State says.
func Of(a approval.Approval) Card {
	c := Card{
		ID: a.ID, State: a.State, Prompt: a.Prompt, Details: a.Details, Risk: a.Risk, RiskReasons: a.RiskReasons,
		Tool: a.Tool, Args: a.Args, Requester: a.Requester.String(), Namespace: a.Requester.Namespace, Session: a.Session,
		Policy:    fmt.Sprintf("%s@%d", a.Policy.Name, a.Policy.Generation),
		CreatedAt: a.CreatedAt, DecideBy: a.DecideBy, MinimumApprovers: a.MinimumApprovers,
	}
	if a.State == approval.Approved {
		c.UseBy = new(a.UseBy())
	}
	for _, ask := range a.Asks {
		c.Hooks = append(c.Hooks, ask.Hook)
	}
	for _, v := range a.Votes {
		c.Votes = append(c.Votes, Vote(v))
	}
	for _, v := range a.Cast {
		c.Votes = append(c.Votes, Vote(v))
	}
	return c
}

// Agreed says how many people have agreed, of how many, as "1 of 2".
func (c *Card) Agreed() string {
	n := 0
	for _, v := range c.Votes {
		if v.Approve {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", n, c.MinimumApprovers)
}

// A fact is one line of a card.
type fact struct{ name, value string }

// facts are the lines between the prompt and the arguments. Values are safe.
func (c *Card) facts(now time.Time) []fact {
	risk := string(c.Risk)
	if len(c.RiskReasons) > 0 {
		risk += ": " + strings.Join(c.RiskReasons, "; ")
	}
	requester := c.Requester
	if c.Session != "" {
		requester += ", session " + c.Session
	}
	policy := c.Policy
	if len(c.Hooks) > 0 {
		policy += " (" + strings.Join(c.Hooks, ", ") + ")"
	}
	all := []fact{
		{"Risk", risk}, {"Tool", c.Tool}, {"Asked by", requester}, {"Policy", policy},
		{"State", c.standing(now)}, {"Approvals", c.voters()},
	}
	for i := range all {
		all[i].value = approval.Safe(all[i].value, approval.MaxDetail)
	}
	return all
}

// standing says where the call stands, and how long that lasts.
func (c *Card) standing(now time.Time) string {
	until := func(what string, t time.Time) string {
		return fmt.Sprintf("%s, %s left (until %s)", what, max(0, t.Sub(now)).Round(time.Second), t.UTC().Format(time.RFC3339))
	}
	switch {
	case c.State == approval.Pending:
		return until("waits for people", c.DecideBy)
	case c.UseBy != nil:
		return until("approved, and not used yet", *c.UseBy)
	default:
		return string(c.State)
	}
}

func (c *Card) voters() string {
	if len(c.Votes) == 0 {
		return c.Agreed()
	}
	words := make([]string, len(c.Votes))
	for i, v := range c.Votes {
		words[i] = v.User + " no"
		if v.Approve {
			words[i] = v.User + " yes"
		}
		if v.Reason != "" {
			words[i] += " (" + v.Reason + ")"
		}
	}
	return c.Agreed() + ": " + strings.Join(words, ", ")
}

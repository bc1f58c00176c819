package v1

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Codes of the Deny that a Client makes itself.
const (
	// CodeUnreachable: no answer came.
	CodeUnreachable = "client.unreachable"
	// CodeBadAnswer: what came is no decision.
	CodeBadAnswer = "client.bad_answer"
	// CodeBadRequest: the request could not be written.
	CodeBadRequest = "client.bad_request"
)

// A question with a call id is sent maxAttempts times at most, with a pause
// that doubles.
const (
	maxAttempts = 3
	firstPause  = 100 * time.Millisecond
)

// Decide asks whether a tool may be called. The Response is never nil and is a
// Deny whenever the error is not nil; a tool may run only on Allow and Rewrite,
// and only with Response.Args.
//
// The service's own refusals (status 4xx) are answers and no error. With a
// CallID a question that got no answer is asked again, for the same id gets the
// same answer; without one it is asked once.
func (c *Client) Decide(ctx context.Context, req Request) (*Response, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return denied(CodeBadRequest, req), fmt.Errorf("write request: %w", err)
	}
	wait := time.Duration(min(max(req.WaitSeconds, 0), MaxWaitSeconds)) * time.Second
	ctx, cancel := context.WithTimeout(ctx, c.timeout+wait) // of all attempts
	defer cancel()
	attempts := 1
	if req.CallID != "" {
		attempts = maxAttempts
	}
	for pause := firstPause; ; pause *= 2 {
		resp, again, err := c.ask(ctx, req, body, wait)
		if attempts--; err == nil || !again || attempts == 0 {
			return resp, err
		}
		select {
		case <-ctx.Done():
			return resp, err
		case <-time.After(pause):
		}
	}
}

// ask sends a question once and says whether asking again could help.
func (c *Client) ask(ctx context.Context, req Request, body []byte, wait time.Duration) (resp *Response, again bool, err error) {
	a, err := c.send(ctx, http.MethodPost, PathDecide, body, wait)
	switch {
	case errors.Is(err, errAnswer):
		return denied(CodeBadAnswer, req), a.status >= http.StatusInternalServerError, err
	case err != nil:
		return denied(CodeUnreachable, req), true, err
	}
	resp, err = a.decision()
	if err == nil && resp.Decision != Deny && req.CallID != "" && resp.CallID != req.CallID {
		err = fmt.Errorf("%w: it is about another call", errAnswer)
	}
	if err != nil {
		return denied(CodeBadAnswer, req), false, err
	}
	if a.status >= http.StatusInternalServerError {
		return resp, true, a.refusal()
	}
	return resp, false, nil
}

// decision reads an answer to a call. What does not say clearly that a tool
// may run is an error.
func (a answer) decision() (*Response, error) {
	var r Response
	if err := json.Unmarshal(a.body, &r); err != nil {
		return nil, fmt.Errorf("%w: it has other members than expected", errAnswer)
	}
	switch r.Decision {
	case Deny:
		return &r, nil
	case AskUser, Allow, Rewrite:
	default:
		return nil, fmt.Errorf("%w: it names no decision that there is", errAnswer)
	}
	if a.status != http.StatusOK {
		return nil, fmt.Errorf("%w: status %d with a decision other than Deny", errAnswer, a.status)
	}
	if r.Decision != AskUser && !isObject(r.Args) {
		return nil, fmt.Errorf("%w: it lets the tool run without arguments", errAnswer)
	}
	return &r, nil
}

// isObject tells an object among valid JSON documents.
func isObject(doc json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(doc), []byte("{")) }

func denied(code string, req Request) *Response {
	return &Response{
		CallID: req.CallID, Decision: Deny,
		Reason: &Reason{Code: code, Message: "the decision service did not decide, so the tool must not run"},
	}
}

// Outcome reports what a tool did. The service's refusal is a *StatusError.
func (c *Client) Outcome(ctx context.Context, o Outcome) (*OutcomeResponse, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("write outcome: %w", err)
	}
	a, err := c.send(ctx, http.MethodPost, PathOutcomes, body, 0)
	if err != nil {
		return nil, err
	}
	var resp OutcomeResponse
	if err := a.decode(&resp); err != nil {
		return nil, err
	}
	return &resp, nil
}

// Approval returns the state of a held call, as soon as a person has decided
// or the wait (MaxWaitSeconds at most) is over. The service's refusal is a
// *StatusError. What it says lets nothing run: ask again with Decide.
func (c *Client) Approval(ctx context.Context, id string, wait time.Duration) (*Approval, error) {
	wait = min(max(wait, 0), MaxWaitSeconds*time.Second)
	path := PathApprovals + url.PathEscape(id) + "?wait=" + wait.String()
	a, err := c.send(ctx, http.MethodGet, path, nil, wait)
	if err != nil {
		return nil, err
	}
	var resp Approval
	if err := a.decode(&resp); err != nil {
		return nil, err
	}
	if resp.ID != id || resp.State == "" {
		return nil, fmt.Errorf("%w: it is about another approval", errAnswer)
	}
	return &resp, nil
}

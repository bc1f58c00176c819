package v1

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"
)

// maxOutcomeErrorBytes bounds the part of a tool's error that is reported.
const maxOutcomeErrorBytes = 1024

// A Tool runs with the arguments that were decided, never with others.
type Tool func(ctx context.Context, args json.RawMessage) (result []byte, err error)

// A NotAllowedError says that a tool did not run: its call was denied, or is
// held until a person has decided (Response.Approval).
type NotAllowedError struct{ Response *Response }

func (e *NotAllowedError) Error() string {
	code, message := "", ""
	if r := e.Response.Reason; r != nil {
		code, message = " "+r.Code, ": "+r.Message
	}
	return fmt.Sprintf("tool did not run: %s%s%s", e.Response.Decision, code, message)
}

// A Ran tells of a tool that ran.
type Ran struct {
	Response *Response // what was decided
	Result   []byte    // what the tool returned
	// OutcomeErr is why the outcome could not be reported; the tool ran all
	// the same.
	OutcomeErr error
}

// Run asks, runs the tool on Allow and Rewrite with the arguments that were
// decided, and reports what it did. A CallID is made if there is none.
//
// If the tool did not run, Ran is nil and the error holds a *NotAllowedError.
// An error of the tool itself comes beside a Ran. The tool's result is not
// reported, not even as a digest, for that would give short secrets away; its
// error is, shortened.
func (c *Client) Run(ctx context.Context, req Request, tool Tool) (*Ran, error) {
	if req.CallID == "" {
		req.CallID = rand.Text()
	}
	resp, err := c.Decide(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", &NotAllowedError{resp}, err)
	}
	if resp.Decision != Allow && resp.Decision != Rewrite {
		return nil, &NotAllowedError{resp}
	}
	start := time.Now()
	result, err := tool(ctx, resp.Args)
	ran := &Ran{Response: resp, Result: result}
	if resp.Audit == nil {
		ran.OutcomeErr = fmt.Errorf("report outcome: %w: the decision had no receipt", errAnswer)
		return ran, err
	}
	outcome := Outcome{
		CallID: resp.CallID, Audit: *resp.Audit, Status: OutcomeOK, DurationMs: time.Since(start).Milliseconds(),
	}
	if err != nil {
		outcome.Status, outcome.Error = OutcomeError, shorten(err.Error())
	}
	// What a tool did is reported even if nobody waits for its result.
	if _, reportErr := c.Outcome(context.WithoutCancel(ctx), outcome); reportErr != nil {
		ran.OutcomeErr = fmt.Errorf("report outcome: %w", reportErr)
	}
	return ran, err
}

// shorten cuts a text at the limit, between characters.
func shorten(s string) string {
	if len(s) <= maxOutcomeErrorBytes {
		return s
	}
	end := 0
	for i := range s {
		if i > maxOutcomeErrorBytes {
			break
		}
		end = i
	}
	return s[:end]
}

package v1

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

// A StatusError is a refusal that the service gave with a status code.
type StatusError struct {
	StatusCode int
	Code       string // stable, for machines
	Message    string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("decision service answered %d %s: %s", e.StatusCode, e.Code, e.Message)
}

// errAnswer is the root of all errors about an answer that came but is none.
var errAnswer = errors.New("decision service gave no proper answer")

// An answer is what came back, read whole.
type answer struct {
	status int
	body   []byte
}

// send makes one request. A nil body is none. Its error means that no answer
// came, or one that is not JSON (errAnswer).
func (c *Client) send(ctx context.Context, method, path string, body []byte, wait time.Duration) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout+wait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, fmt.Errorf("make request: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	if c.token != nil {
		token, err := c.token(ctx)
		if err != nil {
			return answer{}, fmt.Errorf("get token: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, fmt.Errorf("ask the decision service: %w", err)
	}
	defer resp.Body.Close()
	return readAnswer(resp)
}

func readAnswer(resp *http.Response) (answer, error) {
	a := answer{status: resp.StatusCode}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes+1))
	if err != nil {
		return a, fmt.Errorf("read answer: %w", err)
	}
	if len(body) > maxAnswerBytes {
		return a, fmt.Errorf("%w: it is larger than %d bytes", errAnswer, maxAnswerBytes)
	}
	if media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return a, fmt.Errorf("%w: status %d without JSON", errAnswer, resp.StatusCode)
	}
	if !json.Valid(body) {
		return a, fmt.Errorf("%w: status %d with broken JSON", errAnswer, resp.StatusCode)
	}
	a.body = body
	return a, nil
}

// decode reads an answer with status 200 into v; any other is an error.
func (a answer) decode(v any) error {
	if a.status != http.StatusOK {
		return a.refusal()
	}
	if err := json.Unmarshal(a.body, v); err != nil {
		return fmt.Errorf("%w: it has other members than expected", errAnswer)
	}
	return nil
}

// refusal is the error that a status code other than 200 stands for.
func (a answer) refusal() *StatusError {
	e := &StatusError{StatusCode: a.status, Code: CodeBadAnswer, Message: "no reason was given"}
	var r Response
	if json.Unmarshal(a.body, &r) == nil && r.Reason != nil && r.Reason.Code != "" {
		e.Code, e.Message = r.Reason.Code, r.Reason.Message
	}
	return e
}

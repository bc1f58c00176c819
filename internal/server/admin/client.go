package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Bounds of what a Client waits for and reads.
const (
	clientTimeout  = 30 * time.Second
	maxAnswerBytes = 64 << 20
)

// A Client decides held calls through a service's admin socket. What the
// service refuses is an *Error.
type Client struct {
	http *http.Client
}

// NewClient returns a client of the service that listens at path.
func NewClient(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	return &Client{http: &http.Client{
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
		Timeout:   clientTimeout,
	}}
}

// List returns the calls that wait for a decision, or all that are known,
// oldest first.
func (c *Client) List(ctx context.Context, all bool) ([]Held, error) {
	path := pathApprovals
	if all {
		path += "?all=true"
	}
	var answer list
	err := c.do(ctx, http.MethodGet, path, nil, &answer)
	return answer.Approvals, err
}

// Get returns one held call.
func (c *Client) Get(ctx context.Context, id string) (Held, error) {
	var h Held
	err := c.do(ctx, http.MethodGet, pathApprovals+"/"+url.PathEscape(id), nil, &h)
	return h, err
}

// Approve votes for a held call and returns what that made of it.
func (c *Client) Approve(ctx context.Context, id, reason string) (Held, error) {
	return c.vote(ctx, id, "approve", reason)
}

// Reject votes against a held call and returns what that made of it.
func (c *Client) Reject(ctx context.Context, id, reason string) (Held, error) {
	return c.vote(ctx, id, "reject", reason)
}

func (c *Client) vote(ctx context.Context, id, verb, reason string) (Held, error) {
	body, err := json.Marshal(map[string]string{"reason": reason})
	if err != nil {
		return Held{}, fmt.Errorf("write vote: %w", err)
	}
	var h Held
	err = c.do(ctx, http.MethodPost, pathApprovals+"/"+url.PathEscape(id)+"/"+verb, body, &h)
	return h, err
}

func (c *Client) do(ctx context.Context, method, path string, body []byte, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://admin"+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // the address is made up
		}
		return fmt.Errorf("reach the service's admin socket: %w", err)
	}
	defer resp.Body.Close()
	dec := json.NewDecoder(io.LimitReader(resp.Body, maxAnswerBytes))
	dec.UseNumber()
	if resp.StatusCode != http.StatusOK {
		var r refusal
		if dec.Decode(&r) != nil || r.Error == nil {
			return fmt.Errorf("admin socket answered with status %d", resp.StatusCode)
		}
		return r.Error
	}
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}

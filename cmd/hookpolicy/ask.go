package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
)

// askPause is the pause between two questions of ask --within.
const askPause = 500 * time.Millisecond

// A question is what ask sends and what it wants to hear.
type question struct {
	url     string
	options decisionv1.Options
	session string
	wait    int
	expect  string
	within  time.Duration
}

func newAskCommand() *cobra.Command {
	var q question
	cmd := &cobra.Command{
		Use:   "ask --url URL TOOL [ARGS]",
		Short: "Ask a decision service about one call",
		Long: `Asks a decision service about one call, as an agent's code would, and prints the
answer as JSON. ARGS is a JSON object; without it the call has no arguments.

The exit status is 0 if the tool may run (Allow or Rewrite) and 1 if it may not.
With --expect it is 0 if the decision is that one; a service that did not decide
gives none.`,
		Example: `  hookpolicy ask db_query_sql '{"sql":"SELECT 1"}'
  hookpolicy ask --url https://hookpolicy-default.hookpolicy-system.svc --token-file token --ca ca.crt \
    --expect Deny db_query_sql '{"sql":"DROP DATABASE customers"}'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 && len(args) != 2 {
				return usageError{errors.New("want TOOL and, if it has any, its ARGS as one JSON object")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			request := decisionv1.Request{Tool: args[0], Args: json.RawMessage("{}"), Session: q.session, WaitSeconds: q.wait}
			if len(args) == 2 {
				if !json.Valid([]byte(args[1])) {
					return usageError{errors.New("ARGS is no JSON document")}
				}
				request.Args = json.RawMessage(args[1])
			}
			return q.ask(cmd, request)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.url, "url", "http://127.0.0.1:8181", "`URL` of the decision service")
	f.StringVar(&q.options.TokenFile, "token-file", "", "`FILE` with the caller's token, such as a projected ServiceAccount token")
	f.StringVar(&q.options.CAFile, "ca", "", "`FILE` with the certificates that the service's own must come from, PEM (default: the system's)")
	f.StringVar(&q.session, "session", "", "session `ID` of the agent")
	f.IntVar(&q.wait, "wait", 0, "`SECONDS` to wait for a person, 300 at most")
	f.StringVar(&q.expect, "expect", "", "`DECISION` that must be the answer: Allow, Deny, AskUser or Rewrite")
	f.DurationVar(&q.within, "within", 0, "ask anew for this `DURATION`, until the answer is the expected one")
	return cmd
}

func (q *question) ask(cmd *cobra.Command, request decisionv1.Request) error {
	switch decisionv1.Decision(q.expect) {
	case "", decisionv1.Allow, decisionv1.Deny, decisionv1.AskUser, decisionv1.Rewrite:
	default:
		return usageError{fmt.Errorf("--expect is Allow, Deny, AskUser or Rewrite, not %q", q.expect)}
	}
	client, err := decisionv1.New(q.url, q.options)
	if err != nil {
		return usageError{err}
	}
	response, good, err := q.until(cmd.Context(), client, request)
	if encodeErr := newEncoder(cmd.OutOrStdout()).Encode(response); encodeErr != nil {
		return encodeErr
	}
	switch {
	case good:
		return nil
	case err != nil:
		return err
	default:
		return errNo
	}
}

// until asks until the answer is good or the time is over. Each time it is a
// new call: the same one would get the same answer.
func (q *question) until(ctx context.Context, client *decisionv1.Client, request decisionv1.Request) (*decisionv1.Response, bool, error) {
	end := time.Now().Add(q.within)
	for {
		request.CallID = "ask-" + rand.Text()
		response, err := client.Decide(ctx, request)
		if err == nil && q.good(response.Decision) {
			return response, true, nil
		}
		if time.Now().Add(askPause).After(end) {
			return response, false, err
		}
		select {
		case <-ctx.Done():
			return response, false, ctx.Err()
		case <-time.After(askPause):
		}
	}
}

func (q *question) good(d decisionv1.Decision) bool {
	if q.expect != "" {
		return string(d) == q.expect
	}
	return d == decisionv1.Allow || d == decisionv1.Rewrite
}

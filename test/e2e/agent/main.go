// Command agent is the agent of the end-to-end tests: a program in a pod that
// asks the decision service about its calls through the Go client, with the
// token and the certificates that the pod mounts.
//
//	agent wait    does nothing until it is told to end: tests ask through it
//	agent load DURATION
//	              asks without pause, each call once, and writes what it got into
//	              a file: one line a call
//	agent answers writes that file to standard output
//	agent ask     reads calls from standard input, one JSON object a line, and
//	              writes the answers, one a line
//
// HOOKPOLICY_URL is the URL of the decision service.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
)

// Where the pod mounts who it is and whom it trusts.
const (
	tokenFile = "/identity/token"
	caFile    = "/identity/ca.crt"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 2 && args[0] == "load" {
		return load(ctx, args[1])
	}
	if len(args) == 0 {
		_, err := fmt.Fprintln(out, "agent wait | ask | answers | load DURATION")
		return err
	}
	if len(args) != 1 {
		return errors.New("want wait, ask, answers or load DURATION")
	}
	switch args[0] {
	case "wait":
		<-ctx.Done()
		return nil
	case "answers":
		return answers(out)
	case "ask":
		return ask(ctx, in, out)
	default:
		return fmt.Errorf("%q: want wait, ask, answers or load DURATION", args[0])
	}
}

// An answer is the service's, with what went wrong if it gave none.
type answer struct {
	*decisionv1.Response
	Error string `json:"error,omitempty"`
}

func ask(ctx context.Context, in io.Reader, out io.Writer) error {
	client, err := decisionv1.New(os.Getenv("HOOKPOLICY_URL"), decisionv1.Options{TokenFile: tokenFile, CAFile: caFile})
	if err != nil {
		return err
	}
	calls, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var call decisionv1.Request
		if err := calls.Decode(&call); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a call: %w", err)
		}
		var a answer
		if a.Response, err = client.Decide(ctx, call); err != nil {
			a.Error = err.Error()
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}

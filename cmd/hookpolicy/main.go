// Command hookpolicy decides the tool calls of AI agents before they run, and
// keeps a record of every decision that shows when it was changed.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set by the linker.
var version = "dev"

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1 // the command ran and the answer is no, or something went wrong
	exitUsage  = 2 // the command line makes no sense

	exitUnreadable = 3 // what was to be verified could not be read
)

// errNo ends a command whose answer is no and which has said so already.
var errNo = errors.New("no")

// usageError marks a wrong command line.
type usageError struct{ error }

// unreadableError marks a verification that came to no result.
type unreadableError struct{ error }

func (e unreadableError) Unwrap() error { return e.error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main without the process: it returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	unreadable := unreadableError{}
	switch usage := (usageError{}); {
	case err == nil:
		return exitOK
	case errors.Is(err, errNo):
		return exitFailed
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "hookpolicy: %v\nSee hookpolicy --help.\n", err)
		return exitUsage
	case errors.As(err, &unreadable):
		fmt.Fprintf(stderr, "hookpolicy: %v\n", err)
		return exitUnreadable
	default:
		fmt.Fprintf(stderr, "hookpolicy: %v\n", err)
		return exitFailed
	}
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "hookpolicy",
		Short: "Decides the tool calls of AI agents before they run",
		Long: `hookpolicy decides every tool call of an AI agent before it runs: allow, deny,
ask a person, or rewrite. Every attempt goes into an audit chain that shows when
it was changed.`,
		Version:           version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("there is no command %q", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(
		newServeCommand(),
		newAskCommand(),
		newCheckCommand(),
		newDemoCommand(),
		newAuditCommand(),
		newPendingCommand(),
		newVoteCommand(true),
		newVoteCommand(false),
	)
	return root
}

// exactly is cobra.ExactArgs with the error of a wrong command line.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError{fmt.Errorf("want %s", what)}
		}
		return nil
	}
}

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/audit/auditor"
)

// showOptions are the command line of audit show.
type showOptions struct {
	tenant, decision, tool, kind string

	since  string
	after  string // since, as records write times
	output string
	follow bool
}

func newShowCommand() *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show DIR",
		Short: "Show the records of an audit log",
		Long: `Shows the records of an audit directory in the order of their times, one a line.
Nothing is verified: that is audit verify. Texts of agents are shown with control
characters made visible, and cut; -o json prints records as they stand.`,
		Example: `  hookpolicy audit show ./audit --decision Deny --since 24h
  hookpolicy audit show ./audit --tenant customer-a/quickstart -f`,
		Args: exactly(1, "one DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.complete(time.Now()); err != nil {
				return usageError{err}
			}
			return o.show(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.tenant, "tenant", "", "only the chain of `NAMESPACE/NAME`, of _service, or of _anchor")
	f.StringVar(&o.decision, "decision", "", "only decisions that are `Allow|Deny|AskUser|Rewrite`")
	f.StringVar(&o.tool, "tool", "", "only calls of `TOOL`; a star at its end stands for anything")
	f.StringVar(&o.kind, "kind", "", "only records of `KIND`, such as decision, approval or outcome")
	f.StringVar(&o.since, "since", "", "only records from `TIME` on: RFC 3339, or how long ago, such as 90m")
	f.StringVarP(&o.output, "output", "o", "text", "`FORMAT`: text or json")
	f.BoolVarP(&o.follow, "follow", "f", false, "go on with new records as they come")
	return cmd
}

func (o *showOptions) complete(now time.Time) error {
	if o.output != "text" && o.output != "json" {
		return fmt.Errorf("-o is text or json, not %q", o.output)
	}
	if o.since == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, o.since)
	if err != nil {
		var ago time.Duration
		ago, err = time.ParseDuration(o.since)
		at = now.Add(-ago)
	}
	if err != nil {
		return errors.New("--since is a time such as 2026-08-30T12:00:00Z, or how long ago, such as 90m")
	}
	o.after = at.UTC().Format("2006-01-02T15:04:05.000000Z")
	return nil
}

// followEvery is how often new records are looked for.
const followEvery = 500 * time.Millisecond

func (o *showOptions) show(ctx context.Context, out io.Writer, dir string) error {
	tail := auditor.NewTail(dir, o.tenant)
	w := bufio.NewWriter(out)
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		err := tail.Read(func(e *auditor.Entry) error {
			if !e.Matches(o.decision, o.tool, o.kind, o.after) {
				return ctx.Err()
			}
			return errors.Join(o.print(w, e), ctx.Err())
		})
		err = errors.Join(err, w.Flush())
		select {
		case <-ctx.Done():
			return nil // whoever watched has seen enough
		default:
		}
		if err != nil || !o.follow {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (o *showOptions) print(w io.Writer, e *auditor.Entry) error {
	if o.output == "json" {
		_, err := w.Write(e.Line)
		return err
	}
	cells := []string{fmt.Sprintf("%-27s %-24s %6s  %-10s %-12s", cell(e.Time, 27), cell(e.Tenant, 60), cell(e.Seq, 20), cell(e.Kind, 16), cell(e.What(), 40))}
	for _, text := range []string{e.Tool, e.Reason, e.Agent, e.Approval.ID, e.Approval.User} {
		if text != "" {
			cells = append(cells, cell(text, maxShownID))
		}
	}
	_, err := fmt.Fprintln(w, strings.Join(cells, "  "))
	return err
}

// cell makes a text of a record safe for a terminal.
func cell(text string, limit int) string { return approval.Safe(text, limit) }

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/card"
)

const aboutDesks = `
In a cluster, run it as kubectl hookpolicy, or with -n NAMESPACE: who you are is
what the API server knows, and you need the verb approve on the HookPolicy. For a
service without a cluster, run it on the service's machine, as the user who runs
the service or as root: who you are is taken from the socket. Either is recorded.`

func newVoteCommand(approve bool) *cobra.Command {
	name, short, why := "reject", "Refuse a held call", "not without a backup"
	if approve {
		name, short, why = "approve", "Let a held call pass, once", "agreed with the owner"
	}
	var where deskFlags
	var reason string
	cmd := &cobra.Command{
		Use:   name + " ID",
		Short: short,
		Long:  short + ".\n" + aboutDesks,
		Example: "  hookpolicy pending\n  hookpolicy " + name + " ap-3q7xk2… --reason \"" + why + "\"\n" +
			"  kubectl hookpolicy " + name + " -n customer-a ap-3q7xk2…",
		Args: exactly(1, "one ID; hookpolicy pending lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := where.open(cmd, os.Args[0])
			if err != nil {
				return err
			}
			c, err := d.vote(cmd.Context(), args[0], approve, reason)
			if err != nil {
				return fmt.Errorf("%s %s: %w", name, args[0], err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), voted(&c))
			return err
		},
	}
	where.add(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return cmd
}

// voted says what a vote has made of a call.
func voted(c *card.Card) string {
	switch c.State {
	case approval.Approved:
		return fmt.Sprintf("%s is Approved: the call passes when it is repeated, until %s", c.ID, c.UseBy.UTC().Format(time.RFC3339))
	case approval.Pending:
		for _, v := range c.Votes {
			if v.At.IsZero() {
				return c.ID + " has your vote; the decision service has not counted it yet"
			}
		}
		return fmt.Sprintf("%s has %s approvals and waits for more", c.ID, c.Agreed())
	default:
		return fmt.Sprintf("%s is %s", c.ID, c.State)
	}
}

func newPendingCommand() *cobra.Command {
	var where deskFlags
	var output string
	var watch bool
	cmd := &cobra.Command{
		Use:   "pending [ID]",
		Short: "List the calls that wait for a person, or show one",
		Long:  "Lists the calls that wait for a person. With an ID it shows all that is known of\nthat one.\n" + aboutDesks,
		Example: "  hookpolicy pending\n  hookpolicy pending ap-3q7xk2…\n" +
			"  kubectl hookpolicy pending -A --watch",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{errors.New("want one ID at most")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			show, ok := outputs[output]
			if !ok || watch && len(args) > 0 {
				return usageError{errors.New("-o is table, json or markdown, and --watch goes without an ID")}
			}
			d, err := where.open(cmd, os.Args[0])
			if err != nil {
				return err
			}
			switch out := cmd.OutOrStdout(); {
			case watch:
				return watchPending(cmd.Context(), d, out, show)
			case len(args) == 1:
				c, err := d.get(cmd.Context(), args[0])
				if err != nil {
					return fmt.Errorf("show %s: %w", args[0], err)
				}
				return show.one(out, &c)
			default:
				cards, err := d.list(cmd.Context(), false)
				if err != nil {
					return fmt.Errorf("list held calls: %w", err)
				}
				return show.list(out, cards)
			}
		},
	}
	where.add(cmd)
	cmd.Flags().BoolVarP(&where.allNamespaces, "all-namespaces", "A", false, "in a cluster: those of every namespace")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on with what comes and changes, until interrupted")
	cmd.Flags().StringVarP(&output, "output", "o", "table", "`FORMAT`: table, json or markdown; the last two with all that is known of each")
	return cmd
}

// watchPending shows what waits, and then every change.
func watchPending(ctx context.Context, d desk, out io.Writer, show output) error {
	var failed error
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	err := d.watch(ctx, func(c card.Card) {
		if failed = show.change(out, &c); failed != nil {
			stop()
		}
	})
	if err == nil || ctx.Err() != nil {
		return failed
	}
	return fmt.Errorf("watch held calls: %w", err)
}

// An output shows held calls in one format.
type output struct {
	list   func(io.Writer, []card.Card) error
	one    func(io.Writer, *card.Card) error
	change func(io.Writer, *card.Card) error
}

var outputs = map[string]output{
	"table": {list: table, one: text, change: line},
	"json": {
		list:   func(w io.Writer, cards []card.Card) error { return newEncoder(w).Encode(cards) },
		one:    asJSON,
		change: asJSON,
	},
	"markdown": {
		list: func(w io.Writer, cards []card.Card) error {
			for i := range cards {
				if err := markdown(w, &cards[i]); err != nil {
					return err
				}
			}
			return nil
		},
		one: markdown, change: markdown,
	},
}

func text(w io.Writer, c *card.Card) error     { return c.Text(w, time.Now()) }
func markdown(w io.Writer, c *card.Card) error { return c.Markdown(w, time.Now()) }
func asJSON(w io.Writer, c *card.Card) error   { return newEncoder(w).Encode(c) }

const heading = "ID\tRISK\tLEFT\tVOTES\tCALLER\tTOOL\tWHAT WILL HAPPEN"

func table(out io.Writer, cards []card.Card) error {
	if len(cards) == 0 {
		_, err := fmt.Fprintln(out, "No call waits for a person.")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, heading)
	for i := range cards {
		fmt.Fprintln(w, row(&cards[i]))
	}
	return w.Flush()
}

func row(c *card.Card) string {
	return strings.Join([]string{
		c.ID, string(c.Risk), max(0, time.Until(c.DecideBy)).Round(time.Second).String(), c.Agreed(),
		c.Requester, approval.Safe(c.Tool, maxShownID), strings.ReplaceAll(approval.Safe(c.Prompt, approval.MaxPrompt), "\t", " "),
	}, "\t")
}

// line is one change: the table's columns, and the state first.
func line(out io.Writer, c *card.Card) error {
	_, err := fmt.Fprintf(out, "%-9s %s\n", c.State, strings.ReplaceAll(row(c), "\t", "  "))
	return err
}

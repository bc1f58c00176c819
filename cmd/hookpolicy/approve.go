package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/server/admin"
)

// defaultAdminSocket is the name of the approvers' socket in the audit
// directory.
const defaultAdminSocket = "admin.sock"

// socketFlags say where the service's approvers' socket is.
type socketFlags struct{ socket, auditDir string }

func (f *socketFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.auditDir, "audit-dir", "audit", "audit `DIR` of the service on this machine")
	cmd.Flags().StringVar(&f.socket, "admin-socket", "", "`PATH` of the service's socket, if it is not in the audit directory")
}

func (f *socketFlags) client() *admin.Client {
	if f.socket != "" {
		return admin.NewClient(f.socket)
	}
	return admin.NewClient(filepath.Join(f.auditDir, defaultAdminSocket))
}

func newVoteCommand(approve bool) *cobra.Command {
	name, short, why := "reject", "Refuse a held call", "not without a backup"
	if approve {
		name, short, why = "approve", "Let a held call pass, once", "agreed with the owner"
	}
	var socket socketFlags
	var reason string
	cmd := &cobra.Command{
		Use:   name + " ID",
		Short: short,
		Long: short + `.

Run it on the machine of the service, as the user who runs the service or as
root: who you are is taken from the socket, and is recorded.`,
		Example: "  hookpolicy pending\n  hookpolicy " + name + " ap-3q7xk2… --reason \"" + why + "\"",
		Args:    exactly(1, "one ID; hookpolicy pending lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			vote := socket.client().Reject
			if approve {
				vote = socket.client().Approve
			}
			a, err := vote(cmd.Context(), args[0], reason)
			if err != nil {
				return fmt.Errorf("%s %s: %w", name, args[0], err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is %s\n", a.ID, a.State)
			return err
		},
	}
	socket.add(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return cmd
}

func newPendingCommand() *cobra.Command {
	var socket socketFlags
	var output string
	cmd := &cobra.Command{
		Use:   "pending",
		Short: "List the calls that wait for a person",
		Args:  exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "table" && output != "json" {
				return usageError{errors.New("-o is table or json")}
			}
			list, err := socket.client().List(cmd.Context(), false)
			if err != nil {
				return fmt.Errorf("list held calls: %w", err)
			}
			out := cmd.OutOrStdout()
			if output == "json" {
				return newEncoder(out).Encode(list)
			}
			if len(list) == 0 {
				_, err := fmt.Fprintln(out, "No call waits for a person.")
				return err
			}
			w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "ID\tRISK\tLEFT\tCALLER\tTOOL\tWHAT WILL HAPPEN")
			for _, a := range list {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", a.ID, a.Risk, time.Until(a.DecideBy).Round(time.Second),
					a.Requester, approval.Safe(a.Tool, maxShownID), strings.ReplaceAll(a.Prompt, "\t", " "))
			}
			return w.Flush()
		},
	}
	socket.add(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "table", "`FORMAT`: table or json, with all that is known of each")
	return cmd
}

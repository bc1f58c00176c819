package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

func newRepairCommand() *cobra.Command {
	var accept bool
	var output string
	cmd := &cobra.Command{
		Use:   "repair DIR",
		Short: "Make a damaged audit log take records again",
		Long: `A service does not open an audit log that is damaged in a way that no crash
explains, nor write on a chain that is. This command says what keeps it from that,
and what would be given up to go on: it changes nothing.

With --accept-loss it goes on: what is damaged is copied to quarantine/ and cut
out, all other records stay, and each chain that may have lost something gets a
record of kind gap with your user name. Verification then shows the gap for ever.
Keep a copy of the directory first, and find out what happened.

The service must be stopped. The exit status is 1 if there is damage and it was
not repaired.`,
		Example: "  hookpolicy audit repair ./audit",
		Args:    exactly(1, "one DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return usageError{fmt.Errorf("-o is text or json, not %q", output)}
			}
			return repairAudit(cmd, args[0], accept, output)
		},
	}
	cmd.Flags().BoolVar(&accept, "accept-loss", false, "cut out what is damaged, and have that recorded with your user name")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "`FORMAT`: text or json")
	return cmd
}

func repairAudit(cmd *cobra.Command, dir string, accept bool, output string) error {
	if _, err := os.Stat(filepath.Join(dir, "t")); err != nil {
		return fmt.Errorf("no audit log is here: %w", err)
	}
	operator := ""
	if accept {
		u, err := user.Current()
		if err != nil {
			return fmt.Errorf("find out who accepts the loss: %w", err)
		}
		operator = fmt.Sprintf("%s (uid %s)", u.Username, u.Uid)
	}
	r, err := store.RepairLog(cmd.Context(), dir, store.Options{Logger: newLogger(slog.LevelWarn)}, operator)
	if errors.Is(err, store.ErrLocked) {
		return fmt.Errorf("stop the service first: %w", err)
	}
	if err != nil {
		return err
	}
	if output == "json" {
		err = newEncoder(cmd.OutOrStdout()).Encode(r)
	} else {
		err = printRepair(cmd.OutOrStdout(), r, accept)
	}
	if err == nil && r.Damage != "" && !accept {
		return errNo
	}
	return err
}

func printRepair(w io.Writer, r *store.Repair, accepted bool) error {
	if r.Damage == "" {
		_, err := fmt.Fprintln(w, "Nothing keeps this log from going on.")
		return err
	}
	var all error
	say := func(format string, args ...any) {
		_, err := fmt.Fprintf(w, format, args...)
		all = errors.Join(all, err)
	}
	say("damage  %s\n", r.Damage)
	if r.Journal > 0 {
		say("journal %d bytes are no records any more\n", r.Journal)
	}
	for _, c := range r.Chains {
		name := c.Tenant
		if name == "" {
			name = c.ID
		}
		say("chain   %s: keeps %d records, loses at least %d; %d bytes go to quarantine/\n", approval.Safe(name, maxShownID), c.Kept, c.Lost, c.Bytes)
	}
	if accepted {
		say("Repaired. Each of these chains goes on with a record of kind gap.\n")
	} else {
		say("Nothing was changed. To go on with what is left, and have that recorded: hookpolicy audit repair --accept-loss %s\n", r.Path)
	}
	return all
}

package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

func newAuditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Work with audit chains",
		Args:  exactly(0, "a subcommand"),
		RunE:  func(*cobra.Command, []string) error { return usageError{errors.New("want a subcommand: verify")} },
	}
	cmd.AddCommand(newVerifyCommand())
	return cmd
}

func newVerifyCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "verify PATH",
		Short: "Check that nobody changed an audit chain",
		Long: `Reads every chain in an audit directory, or one file of a chain, and checks each
record: its own hash, the hash of the one before, its number, its time and its
form. It says what it has checked and names the first bad record of each chain by
file, line and number.

A cut-off end cannot be seen from the chain alone: compare the last number and
hash with a receipt of an answer, or with a copy that you keep elsewhere.

The exit status is 1 if a chain is bad.`,
		Example: "  hookpolicy audit verify ./audit",
		Args:    exactly(1, "one PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return usageError{fmt.Errorf("-o is text or json, not %q", output)}
			}
			good, err := verifyAudit(cmd.OutOrStdout(), args[0], output)
			if err != nil {
				return err
			}
			if !good {
				return errNo
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "`FORMAT`: text or json")
	return cmd
}

// verifyAudit verifies a path, prints what was found and reports whether all
// of it is good.
func verifyAudit(out io.Writer, path, output string) (good bool, err error) {
	report, err := store.VerifyPath(path)
	if err != nil {
		return false, err
	}
	if output == "json" {
		return report.OK(), newEncoder(out).Encode(report)
	}
	return report.OK(), printReport(out, report)
}

func printReport(out io.Writer, r *store.Report) error {
	w := bufio.NewWriter(out)
	slices.SortFunc(r.Chains, func(a, b store.ChainReport) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Path, b.Path))
	})
	records, bad := uint64(0), 0
	for _, c := range r.Chains {
		records += c.Records
		name := c.Tenant
		if name == "" {
			name = c.Path
		}
		if c.Finding != nil {
			bad++
			fmt.Fprintf(w, "BAD   %s: %v\n", approval.Safe(name, maxShownID), c.Finding)
			if c.Records > 0 {
				fmt.Fprintf(w, "      the %d records before it are good\n", c.Records)
			}
			continue
		}
		if c.Records == 0 {
			fmt.Fprintf(w, "good  %s: no records\n", approval.Safe(name, maxShownID))
			continue
		}
		fmt.Fprintf(w, "good  %s: records %d to %d, the last of %s with hash %s\n", approval.Safe(name, maxShownID), c.FirstSeq, c.LastSeq, c.Time, c.Head)
	}
	for _, name := range r.Quarantined {
		fmt.Fprintf(w, "note  %s is an unfinished end that a restart cut off and kept as evidence\n", name)
	}
	for _, name := range r.Unknown {
		fmt.Fprintf(w, "note  %s is no part of a chain and was not checked\n", name)
	}
	fmt.Fprintf(w, "Checked of each record: own hash, hash of the one before, number, time and form. Records: %d. Chains: %d. Bad chains: %d.\n", records, len(r.Chains), bad)
	return w.Flush()
}

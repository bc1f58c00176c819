package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/audit/auditor"
)

func newAuditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Work with audit chains",
		Args:  exactly(0, "a subcommand"),
		RunE: func(*cobra.Command, []string) error {
			return usageError{errors.New("want a subcommand: verify, show or repair")}
		},
	}
	cmd.AddCommand(newVerifyCommand(), newShowCommand(), newRepairCommand())
	return cmd
}

// verifyOptions are the command line of audit verify.
type verifyOptions struct {
	output  string
	anchors []string
}

func newVerifyCommand() *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify PATH",
		Short: "Check that nobody changed an audit log",
		Long: `Reads the audit directory of a service, the directory of one chain in it, one file
of a chain, or standard input (-), and checks

  each record     its own hash, the hash of the one before, number, time and form
  each chain      against what was signed of it, and against the journal
  held calls      each is decided once; outcomes name decisions
  files           nothing stands where one should be that is none

and names every fault by file, line and number of the record.

With --anchor it also compares the log with the anchor files that the service
wrote elsewhere (serve --anchor-file): an end that was cut off, another log in its
place, a chain that was deleted, an end that was rewritten with the stolen key.
Without, the key is taken from the directory itself, which finds what somebody
without that key did, unless all of the directory was put back to an older state.
docs/audit.md says what detects what.

A log in use can be verified.

Exit status: 0 nothing is wrong; 1 something is; 2 the command line makes no
sense; 3 something could not be read, so nothing is said.`,
		Example: `  hookpolicy audit verify ./audit
  hookpolicy audit verify --anchor /mnt/elsewhere/anchors.jsonl ./audit`,
		Args: exactly(1, "one PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.output != "text" && o.output != "json" {
				return usageError{fmt.Errorf("-o is text or json, not %q", o.output)}
			}
			if args[0] == "-" && o.anchors != nil {
				return usageError{errors.New("--anchor goes with the directory of a whole log")}
			}
			good, err := o.verify(cmd.InOrStdin(), cmd.OutOrStdout(), args[0])
			if err != nil {
				return unreadableError{err}
			}
			if !good {
				return errNo
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "text", "`FORMAT`: text or json")
	cmd.Flags().StringArrayVar(&o.anchors, "anchor", nil, "anchor `FILE` that serve --anchor-file wrote; may be repeated, the oldest first")
	return cmd
}

// verify verifies a path, prints what was found and reports whether all of it
// is good.
func (o *verifyOptions) verify(in io.Reader, out io.Writer, path string) (good bool, err error) {
	var report *auditor.Report
	if path == "-" {
		report, err = auditor.VerifyReader("-", in)
	} else {
		report, err = auditor.Verify(path, auditor.Options{Anchors: o.anchors})
	}
	if err != nil {
		return false, err
	}
	if o.output == "json" {
		return report.OK(), newEncoder(out).Encode(report)
	}
	return report.OK(), printReport(out, report)
}

// verifyAudit is audit verify PATH.
func verifyAudit(out io.Writer, path string) (good bool, err error) {
	return (&verifyOptions{output: "text"}).verify(nil, out, path)
}

func printReport(out io.Writer, r *auditor.Report) error {
	w := bufio.NewWriter(out)
	records, bad := uint64(0), 0
	for i := range r.Chains {
		c := &r.Chains[i]
		records += c.Records
		if len(c.Findings) > 0 {
			bad++
		}
		printChain(w, c)
	}
	for i := range r.Findings {
		fmt.Fprintf(w, "BAD   %s: %v\n", r.Findings[i].Reason, &r.Findings[i])
	}
	for _, name := range r.Quarantined {
		fmt.Fprintf(w, "note  %s is an unfinished end that a restart cut off and kept as evidence\n", name)
	}
	for _, name := range r.Unknown {
		fmt.Fprintf(w, "note  %s is no part of the log and was not checked\n", name)
	}
	printSigned(w, r.Signed)
	fmt.Fprintf(w, "Checked of each record: own hash, hash of the one before, number, time and form. Records: %d. Chains: %d. Bad chains: %d. Other findings: %d.\n",
		records, len(r.Chains), bad, len(r.Findings))
	return w.Flush()
}

func printChain(w io.Writer, c *auditor.ChainReport) {
	name := c.Tenant
	if name == "" {
		name = c.Path
	}
	name = approval.Safe(name, maxShownID)
	for i := range c.Findings {
		fmt.Fprintf(w, "BAD   %s: %s: %v\n", name, c.Findings[i].Reason, &c.Findings[i])
	}
	switch {
	case c.More > 0:
		fmt.Fprintf(w, "BAD   %s: and %d more findings\n", name, c.More)
	case len(c.Findings) > 0:
	case c.Records == 0:
		fmt.Fprintf(w, "good  %s: no records, and none were signed\n", name)
	default:
		fmt.Fprintf(w, "good  %s: records %d to %d, the last of %s with hash %s\n", name, c.FirstSeq, c.LastSeq, c.Time, c.Head)
	}
	if s := c.Calls; s.Decisions > 0 {
		fmt.Fprintf(w, "      decisions %d; held %d: approved %d, rejected %d, timed out %d, voided %d, open %d, forgotten by a restart %d; outcomes %d, of allowed calls unknown %d\n",
			s.Decisions, s.Asked, s.Approved, s.Rejected, s.TimedOut, s.Voided, s.Open, s.Forgotten, s.Outcomes+s.Unverified, s.Unknown)
	}
}

func printSigned(w io.Writer, s *auditor.Signed) {
	switch {
	case s == nil:
		fmt.Fprintln(w, "Signatures: none. A cut-off end cannot be seen from a chain alone.")
	case s.AnchorFile:
		fmt.Fprintf(w, "Signatures: those of log %s, with the key of the anchor file; %d checkpoints; published last: %s.\n", s.Log, s.Checkpoints, s.PublishedAt)
	default:
		fmt.Fprintf(w, "Signatures: those of log %s, with the key that lies in its directory; %d checkpoints. No anchor file was given.\n", s.Log, s.Checkpoints)
	}
}

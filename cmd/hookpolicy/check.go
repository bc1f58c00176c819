package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/policyfile"
	"github.com/hookpolicy/hookpolicy/internal/server"
)

// maxShownID bounds a case's id in the table, in characters.
const maxShownID = 80

// maxCaseBytes bounds one line of a case file: a call of the largest size, and
// what stands around it.
const maxCaseBytes = 4 << 20

func newCheckCommand() *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check --policy FILE --cases FILE",
		Short: "Test policies offline: decide calls from a file",
		Long: `Decides calls from a file as the service would, and compares each decision with
the one that is expected. A case is one line of JSON:

  {"id":"drop","call":{"tool":"db_query_sql","args":{"sql":"DROP TABLE t"}},"expect":"AskUser"}

The call may have resolved, session and hints too. expect is Allow, Deny, AskUser
or Rewrite; also_defensible lists further decisions that will do. A Rewrite meets
Allow: the call runs. A case without expect is only shown, and never missed: mind
the spelling, for other members are taken for notes.

Paths are looked up on this machine's disk, as the service does on its own.

The exit status is 1 if a case is not decided as expected.`,
		Example: `  hookpolicy check --policy hookpolicy.yaml --cases cases.jsonl
  echo '{"id":"1","call":{"tool":"db_query_sql","args":{"sql":"SELECT 1"}}}' |
    hookpolicy check --policy hookpolicy.yaml --cases - -o json`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case len(o.policies) == 0 || o.cases == "":
				return usageError{errors.New("check needs --policy FILE and --cases FILE")}
			case o.output != "table" && o.output != "json":
				return usageError{fmt.Errorf("-o is table or json, not %q", o.output)}
			}
			return o.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.policies, "policy", "p", nil, "policy `FILE`, or directory of such; may be repeated")
	f.StringVarP(&o.cases, "cases", "c", "", "`FILE` with a case a line; - is standard input")
	f.StringVar(&o.caller, "caller", "", "who calls, as `NAMESPACE/SERVICEACCOUNT` (default: one that the first policy governs)")
	f.StringVarP(&o.output, "output", "o", "table", "`FORMAT`: table, or json for one object a line")
	return cmd
}

type checkOptions struct {
	policies []string
	cases    string
	caller   string
	output   string
}

// A testCase is one line of a case file. Other members are somebody's notes.
type testCase struct {
	ID             string                `json:"id"`
	Call           json.RawMessage       `json:"call"`
	Expect         decisionv1.Decision   `json:"expect"`
	AlsoDefensible []decisionv1.Decision `json:"also_defensible"`
}

// A checked is what a case was decided as.
type checked struct {
	ID       string              `json:"id"`
	Decision decisionv1.Decision `json:"decision"`
	Code     string              `json:"code"`
	Hook     string              `json:"hook"`
	Message  string              `json:"message"`
	Args     json.RawMessage     `json:"args"`
	Record   json.RawMessage     `json:"record"`

	prompt string // what people would see
}

func (o *checkOptions) run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	c, err := o.checker(ctx, stderr)
	if err != nil {
		return err
	}
	in := stdin
	if o.cases != "-" {
		f, err := os.Open(o.cases)
		if err != nil {
			return fmt.Errorf("open the cases: %w", err)
		}
		defer f.Close()
		in = f
	}
	out := bufio.NewWriter(stdout)
	var show printer = &tablePrinter{w: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	if o.output == "json" {
		show = &jsonPrinter{enc: newEncoder(out)}
	}
	n, err := c.decideAll(ctx, in, show)
	if err == nil && n.total == 0 {
		err = errors.New("the file holds no case")
	}
	if err != nil {
		return errors.Join(err, out.Flush())
	}
	if err := errors.Join(show.end(n), out.Flush()); err != nil {
		return err
	}
	if n.missed > 0 {
		return errNo
	}
	return nil
}

// A checker decides cases with a real engine that records into memory.
type checker struct {
	engine *engine.Engine
	caller chain.Caller
	log    *memoryChain
}

func (o *checkOptions) checker(ctx context.Context, stderr io.Writer) (*checker, error) {
	set, warnings, err := policyfile.New(o.policies).Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the policies:\n%w", err)
	}
	for _, w := range warnings {
		fmt.Fprintf(stderr, "warning: %s\n", w)
	}
	caller, err := callerOf(o.caller, set)
	if err != nil {
		return nil, err
	}
	constructors, err := newConstructors()
	if err != nil {
		return nil, err
	}
	log := &memoryChain{}
	e, err := engine.New(engine.Options{Constructors: constructors, Recorder: log, Approvals: &forgetful{}, Replica: "check", RefusalsPerSecond: math.Inf(1)})
	if err != nil {
		return nil, fmt.Errorf("set up the engine: %w", err)
	}
	if err := e.SetPolicies(ctx, set); err != nil {
		return nil, err
	}
	return &checker{engine: e, caller: caller, log: log}, nil
}

// counts are how many cases there were, and what became of them.
type counts struct{ total, met, missed, shown int }

func (c *checker) decideAll(ctx context.Context, in io.Reader, show printer) (n counts, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxCaseBytes)
	for line := 1; lines.Scan(); line++ {
		if len(strings.TrimSpace(lines.Text())) == 0 {
			continue
		}
		var tc testCase
		if err := json.Unmarshal(lines.Bytes(), &tc); err != nil {
			return n, fmt.Errorf("line %d of the cases: %w", line, err)
		}
		if len(tc.Call) == 0 {
			return n, fmt.Errorf("line %d of the cases: a case needs a call", line)
		}
		if tc.ID == "" {
			tc.ID = fmt.Sprintf("line %d", line)
		}
		got := c.decide(ctx, tc)
		met := tc.met(got.Decision)
		n.total++
		switch {
		case tc.Expect == "":
			n.shown++
		case met:
			n.met++
		default:
			n.missed++
		}
		if err := show.show(tc, got, met); err != nil {
			return n, fmt.Errorf("print a case: %w", err)
		}
	}
	if err := lines.Err(); err != nil {
		return n, fmt.Errorf("read the cases: %w", err)
	}
	return n, nil
}

// decide reads the call as the socket does and decides it as the service does.
func (c *checker) decide(ctx context.Context, tc testCase) checked {
	var resp *decisionv1.Response
	req, err := server.ReadCall(tc.Call)
	if refused := (*engine.RefusedError)(nil); errors.As(err, &refused) {
		resp = c.engine.Refuse(ctx, &c.caller, refused.Code, refused.Message)
	} else {
		// A case is one call of many and no retry of another.
		req.CallID, req.Wait = "", 0
		resp = c.engine.Decide(ctx, c.caller, req)
	}
	got := checked{ID: tc.ID, Decision: resp.Decision, Hook: resp.Hook, Args: resp.Args, Record: c.log.take()}
	if resp.Reason != nil {
		got.Code, got.Message = resp.Reason.Code, resp.Reason.Message
	}
	if resp.Approval != nil {
		got.prompt = resp.Approval.Prompt
	}
	return got
}

// met reports whether a decision is one that the case expects.
func (tc *testCase) met(d decisionv1.Decision) bool {
	if tc.Expect == "" {
		return true
	}
	expected := append(slices.Clone(tc.AlsoDefensible), tc.Expect)
	return slices.Contains(expected, d) || d == decisionv1.Rewrite && slices.Contains(expected, decisionv1.Allow)
}

type printer interface {
	show(tc testCase, got checked, met bool) error
	end(n counts) error
}

type jsonPrinter struct{ enc *json.Encoder }

func newEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

func (p *jsonPrinter) show(_ testCase, got checked, _ bool) error { return p.enc.Encode(got) }
func (p *jsonPrinter) end(counts) error                           { return nil }

type tablePrinter struct {
	w     *tabwriter.Writer
	begun bool
}

func (p *tablePrinter) show(tc testCase, got checked, met bool) error {
	if !p.begun {
		p.begun = true
		fmt.Fprintln(p.w, "CASE\tDECISION\tEXPECTED\tCODE\tHOOK\tMESSAGE")
	}
	expected := string(tc.Expect)
	switch {
	case tc.Expect == "":
		expected = "-"
	case !met:
		expected += "  <-- missed"
	}
	message := got.Message
	if got.prompt != "" {
		message = got.prompt
	}
	_, err := fmt.Fprintf(p.w, "%s\t%s\t%s\t%s\t%s\t%s\n", approval.Safe(tc.ID, maxShownID), got.Decision, expected, got.Code, got.Hook, message)
	return err
}

func (p *tablePrinter) end(n counts) error {
	if err := p.w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(p.w, "\n%d cases: %d as expected, %d missed", n.total, n.met, n.missed)
	if n.shown > 0 {
		fmt.Fprintf(p.w, ", %d only shown", n.shown)
	}
	fmt.Fprintln(p.w)
	return p.w.Flush()
}

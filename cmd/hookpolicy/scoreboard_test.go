package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/test/cases"
)

// A score is what became of the cases of one file.
type score struct {
	right, unsafe, alarms, other int
	elsewhere                    map[string]int // cases that one call to the service does not decide, by why
}

func (s *score) total() int {
	n := s.right + s.unsafe + s.alarms + s.other
	for _, m := range s.elsewhere {
		n += m
	}
	return n
}

// skip counts a case that something else decides.
func (s *score) skip(why string) {
	if s.elsewhere == nil {
		s.elsewhere = make(map[string]int)
	}
	s.elsewhere[why]++
}

// decided counts a decision, and complains of a wrong one.
func (s *score) decided(t *testing.T, c *cases.Case, got *checked) {
	t.Helper()
	tc := testCase{Expect: decisionv1.Decision(c.Expect)}
	for _, d := range c.AlsoDefensible {
		tc.AlsoDefensible = append(tc.AlsoDefensible, decisionv1.Decision(d))
	}
	switch {
	case tc.met(got.Decision):
		s.right++
		return
	case got.Decision == decisionv1.Allow || got.Decision == decisionv1.Rewrite:
		s.unsafe++
		t.Errorf("%s: unsafe %s, want %s: %s", c.ID, got.Decision, c.Expect, c.Reason)
	case c.Expect == string(decisionv1.Allow):
		s.alarms++
		t.Errorf("%s: false alarm %s (%s): %s", c.ID, got.Decision, got.Code, c.Reason)
	default:
		s.other++
		t.Errorf("%s: %s (%s), want %s: %s", c.ID, got.Decision, got.Code, c.Expect, c.Reason)
	}
}

// TestScoreboard decides all given cases under test/cases/policy.yaml with
// everything that the service has: the reader of requests, the checks of
// arguments, the hooks, and the record as the audit would hold it.
func TestScoreboard(t *testing.T) {
	names, err := cases.Names("*")
	if err != nil {
		t.Fatal(err)
	}
	table := tabwriter.NewWriter(t.Output(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FILE\tCASES\tRIGHT\tUNSAFE\tFALSE ALARM\tOTHER\tELSEWHERE")
	var notes []string
	for _, name := range names {
		s := scoreFile(t, name)
		skipped := 0
		for why, n := range s.elsewhere {
			skipped += n
			notes = append(notes, fmt.Sprintf("%s: %d elsewhere: %s", name, n, why))
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", name, s.total(), s.right, s.unsafe, s.alarms, s.other, skipped)
		if s.total() < 40 {
			t.Errorf("%s holds only %d cases", name, s.total())
		}
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(notes)
	for _, n := range notes {
		fmt.Fprintln(t.Output(), n)
	}
}

func scoreFile(t *testing.T, name string) *score {
	s, dir := &score{}, realTempDir(t)
	about, _, _ := strings.Cut(name, "-")
	if about == "paths" {
		scorePaths(t, s, name)
		return s
	}
	all, err := cases.Read(name, "$T", dir)
	if err != nil {
		t.Fatal(err)
	}
	ck := strictChecker(t, dir, nil)
	for i := range all {
		switch c := &all[i]; about {
		case "sql":
			s.decided(t, c, new(ck.decide(t.Context(), testCase{ID: c.ID, Call: c.Call})))
		case "requests":
			scoreRequest(t, s, ck, c)
		case "redaction":
			scoreRecord(t, s, ck, c)
		case "approvals":
			scoreApproval(t, s, ck, c)
		default:
			t.Fatalf("nobody knows how to decide the cases of %s", name)
		}
	}
	return s
}

// scorePaths gives each case a disk and roots of its own.
func scorePaths(t *testing.T, s *score, name string) {
	lines, err := cases.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range lines {
		dir := realTempDir(t)
		all, err := cases.Read(name, "$T", dir)
		if err != nil {
			t.Fatal(err)
		}
		c := &all[i]
		var setup cases.PathSetup
		if err := json.Unmarshal(c.Setup, &setup); err != nil {
			t.Fatal(err)
		}
		switch {
		case c.ID == "path-hardlink-mount-003":
			s.skip("a bind mount needs privileges")
			continue
		case setup.ExpectAt != "":
			s.skip("only the tool's own open can decide a race; see internal/hooks/paths")
			continue
		}
		if err := setup.Build(); err != nil {
			t.Fatal(err)
		}
		ck, err := loadChecker(t, dir, &setup)
		if err != nil && slices.Contains(setup.Roots, "/") && c.Accepts("Allow") {
			s.skip("the policy is refused when it is written: a root must not be all; the hook itself is tested in internal/hooks/paths")
			continue
		}
		if err != nil {
			s.decided(t, c, &checked{Decision: decisionv1.Deny, Code: "the policy is refused"})
			continue
		}
		s.decided(t, c, new(ck.decide(t.Context(), testCase{ID: c.ID, Call: c.Call})))
	}
}

func scoreRequest(t *testing.T, s *score, ck *checker, c *cases.Case) {
	doc, ok, err := c.Document()
	switch {
	case err != nil:
		t.Fatal(err)
	case !ok:
		s.skip("needs a connection; see internal/server and internal/engine")
	default:
		s.decided(t, c, new(ck.decide(t.Context(), testCase{ID: c.ID, Call: doc})))
	}
}

// scoreRecord looks for secrets in the record, and in what the caller is told.
func scoreRecord(t *testing.T, s *score, ck *checker, c *cases.Case) {
	var want struct {
		Not  []string `json:"must_not_contain"`
		Must []string `json:"must_contain"`
	}
	if err := json.Unmarshal(c.Line, &want); err != nil {
		t.Fatal(err)
	}
	got := ck.decide(t.Context(), testCase{ID: c.ID, Call: c.Call})
	all := string(got.Record) + got.Message + got.prompt
	left := slices.ContainsFunc(want.Not, func(secret string) bool { return strings.Contains(all, secret) })
	gone := slices.ContainsFunc(want.Must, func(word string) bool { return !strings.Contains(string(got.Record), word) })
	switch {
	case len(got.Record) == 0:
		s.other++
		t.Errorf("%s: no record", c.ID)
	case left:
		s.unsafe++
		t.Errorf("%s: a secret is left: %s", c.ID, c.Reason)
	case gone:
		s.alarms++
		t.Errorf("%s: what is no secret is gone: %s", c.ID, c.Reason)
	default:
		s.right++
	}
}

// scoreApproval decides the cases that are one call.
func scoreApproval(t *testing.T, s *score, ck *checker, c *cases.Case) {
	var setup struct{ Steps, Hooks json.RawMessage }
	if len(c.Setup) > 0 {
		if err := json.Unmarshal(c.Setup, &setup); err != nil {
			t.Fatal(err)
		}
	}
	switch {
	case c.Category == "heuristics" && c.ID != "appr-heuristics-011" && c.ID != "appr-heuristics-012":
		ranked := &checkOptions{policies: []string{filepath.Join("..", "..", "test", "policies", "risk.yaml")}}
		ck, err := ranked.checker(t.Context(), t.Output()) // the strict policy knows none of these tools
		if err != nil {
			t.Fatal(err)
		}
		s.decided(t, c, new(ck.decide(t.Context(), testCase{ID: c.ID, Call: c.Call})))
	case len(setup.Steps) > 0:
		s.skip("about what happened before; see internal/approval, internal/engine and internal/audit")
	case len(setup.Hooks) > 0:
		s.skip("about hooks made for the case; see internal/chain")
	default:
		s.decided(t, c, new(ck.decide(t.Context(), testCase{ID: c.ID, Call: c.Call})))
	}
}

func strictChecker(t *testing.T, dir string, setup *cases.PathSetup) *checker {
	t.Helper()
	ck, err := loadChecker(t, dir, setup)
	if err != nil {
		t.Fatal(err)
	}
	return ck
}

// loadChecker puts the strict policy in force, with the settings that a case
// about paths names.
func loadChecker(t *testing.T, dir string, setup *cases.PathSetup) (*checker, error) {
	t.Helper()
	policy, err := os.ReadFile(filepath.Join("..", "..", "test", "cases", "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(policy)
	const roots = "roots: [$T/data/customer-a]\n"
	if !strings.Contains(text, roots) {
		t.Fatal("the strict policy does not have the line of its roots")
	}
	if setup != nil {
		quoted, err := json.Marshal(setup.Roots)
		if err != nil {
			t.Fatal(err)
		}
		own := "roots: " + string(quoted) + "\n"
		if setup.CWD != "" {
			own += fmt.Sprintf("        workingDirectory: %q\n", setup.CWD)
		}
		text = strings.Replace(text, roots, own, 1)
	}
	file := write(t, t.TempDir(), "policy.yaml", strings.ReplaceAll(text, "$T", dir))
	return (&checkOptions{policies: []string{file}}).checker(t.Context(), t.Output())
}

// realTempDir is a new directory, named without links.
func realTempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

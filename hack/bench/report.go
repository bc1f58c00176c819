package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// The generated part of the page stands between these lines.
const (
	beginMark = "<!-- begin: written by make bench -->\n"
	endMark   = "<!-- end: written by make bench -->\n"
)

// A row is one budget.
type row struct {
	what, budget, measured string
	met                    bool
	// open says why the budget is not measured yet; empty if it is.
	open string
}

// A report is what the run has found.
type report struct {
	rows         []row
	durableTable [][]string
	hookTable    [][]string
	moreTable    [][]string
	busy         float64 // other processes that wanted to run when the run began
}

func (r *report) row(x row) { r.rows = append(r.rows, x) }

func (r *report) add(table *[][]string, cells ...string) { *table = append(*table, cells) }

// unmeasured names the budgets that need more than this program.
func (r *report) unmeasured() {
	r.row(row{
		what: "the same decisions against the OPA server with its (not durable) decision log on, equivalent rules", budget: "≥ 4 ×",
		open: "OPA is a large dependency: it gets a module of its own",
	})
	r.row(row{
		what: "`kubectl apply` to in force on every replica, p99", budget: "≤ 1 s",
		open: "needs the controller and a cluster; the row about policy files is what a service by itself has of it",
	})
}

// markdown is the generated part of the page.
func (r *report) markdown() string {
	var w strings.Builder
	fmt.Fprintf(&w, "`make bench`, %s, %s/%s, %d processors, shared by the server, the load and the disk.\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if r.busy >= 0.5 {
		fmt.Fprintf(&w, "Other work ran meanwhile: %.1f processes when the run began. Take times, tails and whatever waits for the disk with care.\n\n", r.busy)
	}
	w.WriteString("| what | budget | measured | met |\n| --- | --- | --- | --- |\n")
	for _, x := range r.rows {
		measured, met := x.measured, "**no**"
		if x.met {
			met = "yes"
		}
		if x.open != "" {
			measured, met = "not yet: "+x.open, "–"
		}
		fmt.Fprintf(&w, "| %s | %s | %s | %s |\n", x.what, x.budget, measured, met)
	}
	section(&w, "Durable decisions", "| | per second | p50 | p99 | rate against the echo | CPU of the server for each |", r.durableTable)
	section(&w, "Hooks", "| | time | bytes | allocations |", r.hookTable)
	section(&w, "Besides", "| | measured |", r.moreTable)
	return w.String()
}

func section(w *strings.Builder, title, head string, lines [][]string) {
	fmt.Fprintf(w, "\n### %s\n\n%s\n|%s\n", title, head, strings.Repeat(" --- |", strings.Count(head, "|")-1))
	for _, cells := range lines {
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
}

// rewritePage puts a text in the place of the generated part of a page.
func rewritePage(name, text string) error {
	page, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	before, rest, found := bytes.Cut(page, []byte(beginMark))
	_, after, ended := bytes.Cut(rest, []byte(endMark))
	if !found || !ended {
		return errors.New("the page has no place for what was measured: " + name)
	}
	page = fmt.Appendf(nil, "%s%s\n%s\n%s%s", before, beginMark, text, endMark, after)
	if err := os.WriteFile(name, page, 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// Command bench measures the budgets of the design and writes them down.
//
// Everything is measured in one run and said as a ratio to something that was
// measured in the same run: a bare JSON echo, an fdatasync, the SQL parser, a
// hash of the same bytes. What is compared takes turns, round by round, and the
// median of the rounds counts, so that what else the machine does meanwhile
// meets both sides. A budget that is missed is said to be missed; it fails
// nothing, since a figure taken on a busy machine is no test.
//
// The service under load is the real program, in a process of its own, with its
// audit chain on a real disk. With -profile the same service runs from this
// program instead and writes CPU and allocation profiles.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A bench is one run: its settings, and what it has found so far.
type bench struct {
	progress  io.Writer
	dir       string        // scratch, on a disk
	rounds    int           // how often each comparison is made
	span      time.Duration // how long a server is under load at a time
	report    report
	generator generator
	// auditDir is the log that the load left, for what reads logs.
	auditDir string
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	var (
		b       = &bench{progress: os.Stderr}
		scratch = flags.String("dir", "bin", "`DIR`ectory for scratch files; must be on a disk, not in memory")
		page    = flags.String("write", "docs/performance.md", "`FILE` whose generated part is written anew; empty writes none")
		only    = flags.String("only", "", "measure the `PART` alone, such as decisions or hooks, and write no file")
		profile = flags.String("profile", "", "write profiles of the service under load to `DIR` and measure nothing")
		child   = childFlags(flags)
	)
	flags.IntVar(&b.rounds, "rounds", 5, "`NUMBER` of rounds of each comparison")
	flags.DurationVar(&b.span, "span", 800*time.Millisecond, "`TIME` under load in a round")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if child.role != "" {
		return child.run(ctx)
	}
	if err := os.MkdirAll(*scratch, 0o755); err != nil {
		return fmt.Errorf("make the scratch directory: %w", err)
	}
	dir, err := os.MkdirTemp(*scratch, "bench-")
	if err != nil {
		return fmt.Errorf("make the scratch directory: %w", err)
	}
	defer os.RemoveAll(dir)
	if b.dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("find the scratch directory: %w", err)
	}
	if *profile != "" {
		return b.profile(ctx, *profile)
	}
	if err := b.measure(ctx, *only); err != nil {
		return err
	}
	text := b.report.markdown()
	if _, err := io.WriteString(out, text); err != nil {
		return err
	}
	if *page == "" || *only != "" {
		return nil
	}
	return rewritePage(*page, text)
}

// measure takes every figure, the ones that need a quiet machine first.
func (b *bench) measure(ctx context.Context, only string) error {
	b.report.busy = loadAverage()
	if err := b.build(ctx); err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"decisions", b.durable},
		{"verification", b.verify}, // of what the decisions have left
		{"hooks", b.hooks},
		{"policies", b.policies},
		{"changes", b.reload},
		{"approvals", b.approvals},
		{"memory", b.memory},
	} {
		if only != "" && only != part.name {
			continue
		}
		start := time.Now()
		fmt.Fprintf(b.progress, "bench: %s …", part.name)
		err := part.run(ctx)
		fmt.Fprintf(b.progress, " %.1f s\n", time.Since(start).Seconds())
		if err := errors.Join(err, ctx.Err()); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	b.report.unmeasured()
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// quickstart is the policy that decides under load: the three kinds of hook.
const quickstart = "test/policies/quickstart.yaml"

// allowed stands in the answers of calls that pass.
const allowed = `"decision":"Allow"`

// connections are the levels of load.
var connections = [...]int{1, 16, 64}

// syncs is how many appends are timed in a round.
const syncs = 100

// A level is what the three servers did under one number of connections, round
// by round.
type level struct{ echo, same, fresh []load }

// durable loads the service and, in turns with it, the bare echo.
func (b *bench) durable(ctx context.Context) (err error) {
	service, err := b.serve(ctx, quickstart)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.stop()) }()
	pad, err := missing(ctx, service)
	if err != nil {
		return err
	}
	echo, err := startChild(ctx, "-role", roleEcho, "-pad", strconv.Itoa(pad))
	if err != nil {
		return fmt.Errorf("start the echo: %w", err)
	}
	defer func() { err = errors.Join(err, echo.stop()) }()

	levels := make([]level, len(connections))
	var disk []time.Duration
	for range b.rounds {
		times, err := appends(filepath.Join(service.dir, "..", "appends"), syncs)
		if err != nil {
			return err
		}
		disk = append(disk, times...)
		for i, n := range connections {
			if err := b.turn(ctx, &levels[i], n, echo, service); err != nil {
				return err
			}
		}
	}
	b.auditDir = service.dir
	b.report.durable(levels, disk)
	return nil
}

// turn loads each server once.
func (b *bench) turn(ctx context.Context, l *level, n int, echo, service *process) error {
	for _, t := range []struct {
		results *[]load
		target  target
	}{
		{&l.echo, echo.target(post("/", "", sameText), `"callId"`)},
		{&l.same, service.target(decide(sameText), allowed)},
		{&l.fresh, service.target(decide(newText), allowed)},
	} {
		result, err := b.generator.run(ctx, t.target, n, b.span)
		if err != nil {
			return err
		}
		*t.results = append(*t.results, result)
	}
	return nil
}

// missing is by how much the service's answers are longer than its questions.
func missing(ctx context.Context, service *process) (int, error) {
	clients, err := dial(ctx, service.target(decide(sameText), allowed), 1)
	if err != nil {
		return 0, err
	}
	defer clients[0].conn.Close()
	answer, err := clients[0].exchange()
	if err != nil {
		return 0, err
	}
	return max(len(answer)-len(sameText), 0), nil
}

// appends times what every durable log does: append a record's worth of bytes
// and have the disk confirm it.
func appends(name string, n int) (times []time.Duration, err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open a file to append to: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	record := make([]byte, 600)
	for range n {
		start := time.Now()
		if _, err := f.Write(record); err != nil {
			return nil, fmt.Errorf("append: %w", err)
		}
		if err := datasync(f); err != nil {
			return nil, fmt.Errorf("sync: %w", err)
		}
		times = append(times, time.Since(start))
	}
	return times, nil
}

func (r *report) durable(levels []level, disk []time.Duration) {
	r.add(&r.durableTable, "fdatasync of a 600-byte append, nothing else running", "", millis(quantile(disk, 0.5)), millis(quantile(disk, 0.99)), "", "")
	for i, n := range connections {
		l := levels[i]
		r.loads(n, "bare JSON echo", l.echo, l.echo)
		r.loads(n, "decisions, a text seen before", l.same, l.echo)
		r.loads(n, "decisions, a new text each", l.fresh, l.echo)
	}
	last := levels[len(levels)-1]
	same, fresh := rates(last.same, last.echo), rates(last.fresh, last.echo)
	r.row(row{
		what:     "durable, audited decisions per second at 64 connections, against a bare net/http JSON echo of the same bytes",
		budget:   "≥ 0.75",
		measured: fmt.Sprintf("%s; %s where no SQL text was seen before", ratio(same), ratio(fresh)),
		met:      same >= 0.75,
	})
}

// loads adds a line of the table below the budgets.
func (r *report) loads(n int, name string, results, echo []load) {
	line := []string{
		fmt.Sprintf("%s, %d connections", name, n),
		fmt.Sprintf("%.0f", median(each(results, func(l load) float64 { return l.perSecond }))),
		millis(median(each(results, func(l load) time.Duration { return l.p50 }))),
		millis(median(each(results, func(l load) time.Duration { return l.p99 }))),
		ratio(rates(results, echo)),
		micros(median(each(results, func(l load) time.Duration { return l.cpu }))),
	}
	r.add(&r.durableTable, line...)
}

// rates is the median over the rounds of one rate against the other.
func rates(results, base []load) float64 {
	var ratios []float64
	for i := range results {
		ratios = append(ratios, results[i].perSecond/base[i].perSecond)
	}
	return median(ratios)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/server/admin"
)

// clicks is how many approvals are timed.
const clicks = 100

// approvals times how long a person's word takes to reach the agent that waits
// for it.
func (b *bench) approvals(ctx context.Context) (err error) {
	service, err := b.serve(ctx, quickstart)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.stop()) }()
	people := admin.NewClient(socketOf(service.dir))
	var times []time.Duration
	for i := range clicks {
		d, err := click(ctx, service, people, i)
		if err != nil {
			return err
		}
		times = append(times, d)
	}
	p99 := quantile(times, 0.99)
	b.report.row(row{
		what: "a person's click (a vote over the approvers' socket) to the held agent's answer, p99", budget: "≤ 100 ms",
		measured: fmt.Sprintf("%s (p50 %s)", millis(p99), millis(quantile(times, 0.5))), met: p99 <= 100*time.Millisecond,
	})
	return nil
}

// click has a call held, approves it and returns how long its answer took.
func click(ctx context.Context, service *process, people *admin.Client, i int) (time.Duration, error) {
	held := decide(fmt.Sprintf(`{"tool":"db_query_sql","args":{"sql":"DROP TABLE t%d"},"waitSeconds":30}`, i))
	clients, err := dial(ctx, service.target(held, allowed), 1)
	if err != nil {
		return 0, err
	}
	defer clients[0].conn.Close()
	type answer struct {
		at   time.Time
		body string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		body, err := clients[0].exchange()
		done <- answer{time.Now(), string(body), err}
	}()
	id, err := pending(ctx, people)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if _, err := people.Approve(ctx, id, ""); err != nil {
		return 0, fmt.Errorf("approve: %w", err)
	}
	a := <-done
	if a.err == nil && !strings.Contains(a.body, allowed) {
		a.err = fmt.Errorf("%w: %s", errAnswer, a.body)
	}
	return a.at.Sub(start), a.err
}

// pending waits for the one call that is held.
func pending(ctx context.Context, people *admin.Client) (string, error) {
	for range 1000 {
		list, err := people.List(ctx, false)
		if err != nil {
			return "", fmt.Errorf("list held calls: %w", err)
		}
		if len(list) > 0 {
			return list[0].ID, nil
		}
		settle(ctx, time.Millisecond)
	}
	return "", errors.New("no call is held")
}

package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// memory reads how much a service holds while it has nothing to do: one that
// has decided a little, and one that was under load.
func (b *bench) memory(ctx context.Context) (err error) {
	service, err := b.serve(ctx, quickstart)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.stop()) }()
	load := func(span time.Duration) (int64, error) {
		_, err := b.generator.run(ctx, service.target(decide(newText), allowed), 64, span)
		settle(ctx, 2*time.Second)
		return residentBytes(service.cmd.Process.Pid), err
	}
	settle(ctx, time.Second)
	idle := residentBytes(service.cmd.Process.Pid)
	after, err := load(4 * b.span)
	if err != nil {
		return err
	}
	x := row{
		what: "idle memory of a decision service (resident)", budget: "≤ 64 MiB",
		measured: fmt.Sprintf("%s after its start, %s two seconds after a load of 64 connections with new SQL texts", mebi(idle), mebi(after)),
		met:      max(idle, after) <= 64<<20,
	}
	if idle == 0 {
		x.open = "this system does not tell what a process holds"
	}
	b.report.row(x)
	return nil
}

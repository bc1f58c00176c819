package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// memory reads how much a service holds while it has nothing to do, before and
// after a load.
func (b *bench) memory(ctx context.Context) (err error) {
	service, err := b.serve(ctx, quickstart)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.stop()) }()
	settle(ctx, time.Second)
	idle := residentBytes(service.cmd.Process.Pid)
	if _, err := b.generator.run(ctx, service.target(decide(newText), allowed), 64, 4*b.span); err != nil {
		return err
	}
	settle(ctx, 2*time.Second)
	after := residentBytes(service.cmd.Process.Pid)
	x := row{
		what: "idle memory of a decision service (resident)", budget: "≤ 64 MiB",
		measured: fmt.Sprintf("%s; %s two seconds after a load of 64 connections with new SQL texts", mebi(idle), mebi(after)),
		met:      idle <= 64<<20,
	}
	if idle == 0 {
		x.open = "this system does not tell what a process holds"
	}
	b.report.row(x)
	return nil
}

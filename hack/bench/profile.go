package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/server"
	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

// profile loads a service that writes profiles into a directory when it ends.
func (b *bench) profile(ctx context.Context, out string) (err error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("make the directory: %w", err)
	}
	dir := filepath.Join(b.dir, "audit")
	service, err := startChild(ctx, "-role", roleService, "-policy", quickstart, "-audit-dir", dir, "-profiles", out)
	if err != nil {
		return fmt.Errorf("start the service: %w", err)
	}
	defer func() { err = errors.Join(err, service.stop()) }()
	result, err := b.generator.run(ctx, service.target(decide(sameText), allowed), 64, time.Duration(b.rounds)*b.span)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.progress, "bench: %.0f decisions/s, p50 %s, p99 %s, CPU for each %s\n",
		result.perSecond, millis(result.p50), millis(result.p99), micros(result.cpu))
	return nil
}

// serveProfiled is the service as the program under test makes it, but for the
// policy file's watch and the approvers' socket, with profiles around it.
func serveProfiled(ctx context.Context, c *child) (err error) {
	log, err := store.Open(c.dir, store.Options{Replica: "bench"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close(context.WithoutCancel(ctx))) }()
	srv, err := newServer(ctx, c.policy, log)
	if err != nil {
		return err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	stop, err := startProfiles(c.out)
	if err != nil {
		return err
	}
	tell(ln)
	return errors.Join(srv.Serve(ctx, ln), stop())
}

func newServer(ctx context.Context, file string, log *store.Log) (*server.Server, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	classifier, err := sqlclass.New(sqlclass.Options{})
	if err != nil {
		return nil, fmt.Errorf("set up the SQL parser: %w", err)
	}
	registry := prometheus.NewRegistry()
	e, err := engine.New(engine.Options{
		Constructors: constructors(classifier), Recorder: log,
		Approvals: approval.NewMemoryStore(approval.MemoryOptions{}), Metrics: registry,
	})
	if err != nil {
		return nil, fmt.Errorf("set up the engine: %w", err)
	}
	if err := setPolicies(ctx, e, string(text)); err != nil {
		return nil, err
	}
	return server.New(server.Config{
		Engine: e, Authenticator: server.Loopback{Caller: chain.Caller{Namespace: "customer-a", ServiceAccount: "agent"}}, Registerer: registry,
	})
}

// startProfiles begins a profile of the processors; stop ends it and writes
// what was allocated, too.
func startProfiles(dir string) (stop func() error, err error) {
	cpu, err := os.Create(filepath.Join(dir, "cpu.prof"))
	if err != nil {
		return nil, fmt.Errorf("write a profile: %w", err)
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, fmt.Errorf("write a profile: %w", err)
	}
	return func() error {
		pprof.StopCPUProfile()
		allocs, err := os.Create(filepath.Join(dir, "allocs.prof"))
		if err != nil {
			return fmt.Errorf("write a profile: %w", err)
		}
		return errors.Join(cpu.Close(), pprof.Lookup("allocs").WriteTo(allocs, 0), allocs.Close())
	}, nil
}

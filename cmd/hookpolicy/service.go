package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/policyfile"
	"github.com/hookpolicy/hookpolicy/internal/server"
	"github.com/hookpolicy/hookpolicy/internal/server/admin"
)

// closeTimeout is how long the audit log has for its last records.
const closeTimeout = 20 * time.Second

// A config is what a standalone decision service is made of.
type config struct {
	policies    []string // files and directories
	auditDir    string
	listen      string
	tokenFile   string // empty: loopback only, every caller is caller
	caller      string // "namespace/serviceaccount"; empty: found in the policies
	certFile    string
	keyFile     string
	adminSocket string // empty: auditDir/admin.sock
	replica     string
	unmatched   string
	limits      server.Limits
}

// A service is a running standalone decision service.
type service struct {
	log      *slog.Logger
	engine   *engine.Engine
	server   *server.Server
	admin    *admin.Server
	audit    *store.Log
	policies *policyfile.Source
	good     prometheus.Gauge
	listener net.Listener

	adminListener *net.UnixListener
	watchers      []func(context.Context)
}

// newService opens everything that a service needs, or nothing.
func newService(ctx context.Context, c config, log *slog.Logger) (_ *service, err error) {
	s := &service{log: log, policies: policyfile.New(c.policies)}
	set, warnings, err := s.policies.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the policies:\n%w", err)
	}
	for _, w := range warnings {
		log.LogAttrs(ctx, slog.LevelWarn, "Policy is allowed but unwise", slog.String("warning", w))
	}
	constructors, err := newConstructors()
	if err != nil {
		return nil, err
	}
	if s.audit, err = store.Open(c.auditDir, store.Options{Replica: c.replica}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.closeAll(ctx))
		}
	}()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s.good = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hookpolicy_policy_files_good", Help: "1 while the policy files on disk are the ones in force, 0 while they cannot be used.",
	})
	registry.MustRegister(s.good)
	s.good.Set(1)
	s.engine, err = engine.New(engine.Options{
		Constructors: constructors, Recorder: s.audit, Approvals: approval.NewMemoryStore(approval.MemoryOptions{}),
		Replica: c.replica, Unmatched: plan.Verdict(c.unmatched), Logger: log, Metrics: registry,
	})
	if err != nil {
		return nil, fmt.Errorf("set up the engine: %w", err)
	}
	if err = s.engine.SetPolicies(ctx, set); err != nil {
		return nil, err
	}
	if err = s.open(ctx, c, set, registry); err != nil {
		return nil, err
	}
	return s, nil
}

// open makes the doors: the decision API and the approvers' socket.
func (s *service) open(ctx context.Context, c config, set *plan.Set, registry *prometheus.Registry) error {
	auth, err := s.authenticator(c, set)
	if err != nil {
		return err
	}
	cfg := server.Config{
		Engine: s.engine, Authenticator: auth, Registerer: registry, Gatherer: registry, Logger: s.log, Limits: c.limits,
	}
	if c.certFile != "" {
		if cfg.Certificate, err = server.NewCertificate(c.certFile, c.keyFile, s.log); err != nil {
			return fmt.Errorf("load the certificate: %w", err)
		}
		s.watchers = append(s.watchers, cfg.Certificate.Watch)
	}
	if s.server, err = server.New(cfg); err != nil {
		return fmt.Errorf("set up the server: %w", err)
	}
	socket := c.adminSocket
	if socket == "" {
		socket = filepath.Join(c.auditDir, defaultAdminSocket)
	}
	s.admin = admin.New(s.engine.Desk(), s.log)
	if s.adminListener, err = admin.Listen(ctx, socket); err != nil {
		return fmt.Errorf("open the approvers' socket: %w", err)
	}
	if s.listener, err = net.Listen("tcp", c.listen); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return nil
}

func (s *service) authenticator(c config, set *plan.Set) (server.Authenticator, error) {
	if c.tokenFile != "" {
		tokens, err := server.NewTokenFile(c.tokenFile, s.log)
		if err != nil {
			return nil, fmt.Errorf("load the tokens: %w", err)
		}
		s.watchers = append(s.watchers, tokens.Watch)
		return tokens, nil
	}
	caller, err := callerOf(c.caller, set)
	if err != nil {
		return nil, err
	}
	return server.Loopback{Caller: caller}, nil
}

// addr is where the decision API listens.
func (s *service) addr() string { return s.listener.Addr().String() }

// run serves until ctx is done, and then answers and records all that it has
// taken on.
func (s *service) run(ctx context.Context) error {
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { s.engine.Run(work) })
	background.Go(func() {
		s.policies.Watch(ctx, s.log,
			func(set *plan.Set) error { return s.engine.SetPolicies(ctx, set) },
			func(good bool) { s.good.Set(map[bool]float64{true: 1}[good]) })
	})
	for _, watch := range s.watchers {
		background.Go(func() { watch(ctx) })
	}
	adminErr := make(chan error, 1)
	background.Go(func() { adminErr <- s.admin.Serve(ctx, s.adminListener) })

	err := s.server.Serve(ctx, s.listener)
	stopWork() // only now: a call in flight may still need its time-out or approval
	if stopErr := ctx.Err(); stopErr == nil {
		err = errors.Join(err, s.close(ctx))
		return err
	}
	background.Wait()
	return errors.Join(err, <-adminErr, s.close(ctx))
}

// closeAll gives up a service that did not come to run.
func (s *service) closeAll(ctx context.Context) error {
	if s.adminListener != nil {
		_ = s.adminListener.Close() // nobody was served
	}
	if s.listener != nil {
		_ = s.listener.Close()
	}
	return s.close(ctx)
}

// close ends the audit log, its last records included.
func (s *service) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return s.audit.Close(ctx)
}

// callerOf is who every caller is where no token tells: the one that the flag
// names, else one that the first policy governs.
func callerOf(flag string, set *plan.Set) (chain.Caller, error) {
	if flag != "" {
		namespace, account, ok := strings.Cut(flag, "/")
		if !ok || namespace == "" || account == "" || strings.Contains(account, "/") {
			return chain.Caller{}, usageError{fmt.Errorf("--caller is NAMESPACE/SERVICEACCOUNT, not %q", flag)}
		}
		return chain.Caller{Namespace: namespace, ServiceAccount: account}, nil
	}
	tenants := set.Tenants()
	if len(tenants) == 0 {
		return chain.Caller{Namespace: "default", ServiceAccount: "default"}, nil
	}
	first := tenants[0]
	caller := chain.Caller{Namespace: first.Source.Namespace, ServiceAccount: "default"}
	if len(first.ServiceAccounts) > 0 {
		caller.ServiceAccount = first.ServiceAccounts[0]
	}
	return caller, nil
}

func newLogger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

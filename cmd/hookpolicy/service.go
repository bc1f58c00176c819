package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hookpolicy/hookpolicy/internal/audit/store"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/server"
	"github.com/hookpolicy/hookpolicy/internal/server/admin"
)

// closeTimeout is how long the audit log has for its last records.
const closeTimeout = 20 * time.Second

// A config is what a decision service is made of.
type config struct {
	policies    []string // files and directories
	tokenFile   string   // empty: loopback only, every caller is caller
	caller      string   // "namespace/serviceaccount"; empty: found in the policies
	kube        kubeConfig
	auditDir    string
	anchorFile  string // empty: anchors stay in auditDir
	listen      string
	certFile    string
	keyFile     string
	adminSocket string // empty: auditDir/admin.sock
	replica     string
	unmatched   string
	limits      server.Limits
}

// A service is a running decision service.
type service struct {
	log      *slog.Logger
	origin   origin
	engine   *engine.Engine
	server   *server.Server
	admin    *admin.Server
	audit    *store.Log
	cert     *server.Certificate // nil: plain HTTP
	listener net.Listener

	adminListener *net.UnixListener
}

// newService opens everything that a service needs, or nothing.
func newService(ctx context.Context, c config, log *slog.Logger) (_ *service, err error) {
	constructors, err := newConstructors()
	if err != nil {
		return nil, err
	}
	s := &service{log: log}
	if s.origin, err = newOrigin(ctx, c, constructors, log); err != nil {
		return nil, err
	}
	registry := newRegistry(c.auditDir)
	if s.audit, err = openAudit(ctx, c, log, registry); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.closeAll(ctx))
		}
	}()
	held, err := s.origin.approvals()
	if err != nil {
		return nil, err
	}
	s.engine, err = engine.New(engine.Options{
		Constructors: constructors, Recorder: s.audit,
		Approvals: held.store, BindingKey: held.key, VotesInStore: held.inStore, VotesEnforced: held.enforced,
		Replica: c.replica, Unmatched: plan.Verdict(c.unmatched), Logger: log, Metrics: registry,
	})
	if err != nil {
		return nil, fmt.Errorf("set up the engine: %w", err)
	}
	auth, err := s.origin.open(ctx, s.engine, registry)
	if err != nil {
		return nil, err
	}
	if err = s.open(ctx, c, auth, registry); err != nil {
		return nil, err
	}
	return s, nil
}

// signing says where checkpoints go, and who is told when they do not.
func signing(ctx context.Context, c config, log *slog.Logger) store.Signing {
	ctx = context.WithoutCancel(ctx)
	s := store.Signing{Alarm: func(err error) {
		log.LogAttrs(ctx, slog.LevelError, "Audit log could not be signed or published", slog.Any("error", err))
	}}
	if c.anchorFile != "" {
		s.Publisher = store.NewAnchorFile(c.anchorFile)
	}
	return s
}

// open makes the doors: the decision API and the approvers' socket.
func (s *service) open(ctx context.Context, c config, auth server.Authenticator, registry *prometheus.Registry) (err error) {
	if c.certFile != "" {
		if s.cert, err = server.NewCertificate(c.certFile, c.keyFile, s.log); err != nil {
			return fmt.Errorf("load the certificate: %w", err)
		}
	}
	s.server, err = server.New(server.Config{
		Engine: s.engine, Authenticator: auth, Certificate: s.cert, Registerer: registry, Gatherer: registry, Logger: s.log, Limits: c.limits,
	})
	if err != nil {
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
	if s.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", c.listen); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return nil
}

// addr is where the decision API listens.
func (s *service) addr() string { return s.listener.Addr().String() }

// run serves until ctx is done, and then answers and records all that it has
// taken on.
func (s *service) run(ctx context.Context) error {
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { s.engine.Run(work) })
	background.Go(func() { s.origin.run(ctx, s.engine) })
	if s.cert != nil {
		background.Go(func() { s.cert.Watch(ctx) })
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

// together runs functions at once and returns when all have.
func together(ctx context.Context, all ...func(context.Context)) {
	var wg sync.WaitGroup
	for _, f := range all {
		wg.Go(func() { f(ctx) })
	}
	wg.Wait()
}

func newLogger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

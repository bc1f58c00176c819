package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A Config is what a Server is made of. Engine and Authenticator are required.
type Config struct {
	Engine        Engine
	Authenticator Authenticator
	// Certificate makes the server speak TLS, and HTTP/2 under it. Nil serves
	// plain HTTP.
	Certificate *Certificate
	// Registerer takes the server's own metrics, Gatherer is what /metrics
	// shows. A nil Gatherer shows nothing, a nil Registerer registers nothing.
	Registerer prometheus.Registerer
	Gatherer   prometheus.Gatherer
	Logger     *slog.Logger // nil discards
	Limits     Limits
}

// Limits bound what clients can make the server hold. Zero means the default.
type Limits struct {
	MaxConnections       int           // 4096; further ones wait to be accepted
	MaxInFlight          int           // 1024 requests in work, those that wait for a person included
	MaxInFlightPerCaller int           // 256 of them
	MaxStreams           int           // 512 event streams
	MaxStreamsPerCaller  int           // 16 of them
	HeaderTimeout        time.Duration // 5 s from the first byte to the end of the header
	BodyTimeout          time.Duration // 10 s from the first byte to the end of the body
	WriteTimeout         time.Duration // 60 s for an answer, on top of a wait for a person
	IdleTimeout          time.Duration // 120 s between requests on a connection
	Heartbeat            time.Duration // 15 s between signs of life on an event stream
	ShutdownTimeout      time.Duration // 20 s for requests in work when stopping
}

func (l Limits) withDefaults() Limits {
	return Limits{
		MaxConnections:       cmp.Or(l.MaxConnections, 4096),
		MaxInFlight:          cmp.Or(l.MaxInFlight, 1024),
		MaxInFlightPerCaller: cmp.Or(l.MaxInFlightPerCaller, 256),
		MaxStreams:           cmp.Or(l.MaxStreams, 512),
		MaxStreamsPerCaller:  cmp.Or(l.MaxStreamsPerCaller, 16),
		HeaderTimeout:        cmp.Or(l.HeaderTimeout, 5*time.Second),
		BodyTimeout:          cmp.Or(l.BodyTimeout, 10*time.Second),
		WriteTimeout:         cmp.Or(l.WriteTimeout, 60*time.Second),
		IdleTimeout:          cmp.Or(l.IdleTimeout, 120*time.Second),
		Heartbeat:            cmp.Or(l.Heartbeat, 15*time.Second),
		ShutdownTimeout:      cmp.Or(l.ShutdownTimeout, 20*time.Second),
	}
}

// maxHeaderBytes bounds a request's header; net/http adds a little to it.
const maxHeaderBytes = 16 << 10

// A Server answers the decision API. Make one with New and serve it once.
type Server struct {
	engine        Engine
	authenticator Authenticator
	place         placeChecker // nil when any place will do
	certificate   *Certificate
	gatherer      prometheus.Gatherer
	log           *slog.Logger
	limits        Limits
	metrics       *metrics
	requests      *limiter
	streams       *limiter
	origin        *http.CrossOriginProtection
	buffers       bufferPool
	routes        []route
	stopOnce      sync.Once
	stopping      chan struct{} // closed when the server begins to stop
}

// New returns a server that is not listening yet.
func New(c Config) (*Server, error) {
	if c.Engine == nil || c.Authenticator == nil {
		return nil, errors.New("a server needs an engine and an authenticator")
	}
	limits := c.Limits.withDefaults()
	place, _ := c.Authenticator.(placeChecker)
	s := &Server{
		engine:        c.Engine,
		authenticator: c.Authenticator,
		place:         place,
		certificate:   c.Certificate,
		gatherer:      c.Gatherer,
		log:           cmp.Or(c.Logger, slog.New(slog.DiscardHandler)),
		limits:        limits,
		metrics:       newMetrics(),
		requests:      newLimiter(limits.MaxInFlight, limits.MaxInFlightPerCaller),
		streams:       newLimiter(limits.MaxStreams, limits.MaxStreamsPerCaller),
		origin:        http.NewCrossOriginProtection(),
		stopping:      make(chan struct{}),
	}
	if s.gatherer == nil {
		s.gatherer = prometheus.NewRegistry()
	}
	if c.Registerer != nil {
		var more []prometheus.Collector
		if c.Certificate != nil {
			more = append(more, expiryOf(c.Certificate))
		}
		if err := s.metrics.register(c.Registerer, more...); err != nil {
			return nil, fmt.Errorf("register the server's metrics: %w", err)
		}
	}
	s.routes = s.table()
	return s, nil
}

// Serve answers on ln until ctx ends, and returns when every request in work
// has its answer, or with an error when ShutdownTimeout was too short for
// that. It closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	if s.place != nil {
		if err := s.place.CheckListener(ln.Addr()); err != nil {
			_ = ln.Close() // nothing was accepted
			return err
		}
	}
	if s.certificate == nil && !isLoopbackAddr(ln.Addr()) {
		s.log.Warn("Serves without TLS on an address that others can reach", "address", ln.Addr().String())
	}
	srv := s.httpServer(ctx)
	done := make(chan error, 1)
	go func() { done <- s.accept(srv, boundListener(ln, s.limits.MaxConnections)) }()
	select {
	case err := <-done:
		s.stop()
		return fmt.Errorf("accept connections: %w", err)
	case <-ctx.Done():
	}
	s.stop()
	s.log.Info("Stops", "inFlight", s.requests.inUse())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.limits.ShutdownTimeout)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		_ = srv.Close() // what is left had its time
		return fmt.Errorf("wait for requests in work: %w", err)
	}
	return nil
}

func (s *Server) accept(srv *http.Server, ln net.Listener) error {
	if s.certificate != nil {
		return srv.ServeTLS(ln, "", "")
	}
	return srv.Serve(ln)
}

func (s *Server) httpServer(ctx context.Context) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	srv := &http.Server{
		Handler:                      s,
		Protocols:                    protocols,
		ReadHeaderTimeout:            s.limits.HeaderTimeout,
		ReadTimeout:                  s.limits.BodyTimeout,
		WriteTimeout:                 s.limits.WriteTimeout,
		IdleTimeout:                  s.limits.IdleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		DisableGeneralOptionsHandler: true,
		// Scans and broken handshakes are not worth more than this level.
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		// Requests in work outlive ctx: they are owed an answer.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	if s.certificate != nil {
		protocols.SetHTTP2(true)
		srv.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 128}
		srv.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.certificate.Get}
	}
	return srv
}

// stop makes the server unready and ends all waiting.
func (s *Server) stop() { s.stopOnce.Do(func() { close(s.stopping) }) }

func (s *Server) isStopping() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/user"
	"strconv"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/approval"
)

// A Desk is where calls are held; *approval.Desk is one.
type Desk interface {
	List(ctx context.Context, states ...approval.State) ([]approval.Approval, error)
	Vote(ctx context.Context, id string, v approval.Vote) (approval.Approval, error)
}

var _ Desk = (*approval.Desk)(nil)

// Via is how votes from here say that their user was known.
const Via = "unix-socket"

// Bounds of the socket's connections.
const (
	headerTimeout   = 5 * time.Second
	requestTimeout  = 30 * time.Second
	shutdownTimeout = 5 * time.Second
	maxHeaderBytes  = 16 << 10
)

// A Server answers approvers on this machine.
type Server struct {
	desk Desk
	log  *slog.Logger
	// name returns a user's name, and allowed whether a user is served.
	name    func(uid uint32) string
	allowed func(uid uint32) bool
}

// New returns a server that is not listening yet.
func New(desk Desk, log *slog.Logger) *Server {
	return &Server{desk: desk, log: log, name: userName, allowed: isServed}
}

// Serve answers on ln until ctx ends, and removes the socket.
func (s *Server) Serve(ctx context.Context, ln *net.UnixListener) error {
	srv := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      requestTimeout,
		IdleTimeout:       requestTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ConnContext:       s.identify,
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve admin socket: %w", err)
	case <-ctx.Done():
	}
	// A name of its own: BaseContext may still read ctx.
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := srv.Shutdown(stopping); err != nil {
		_ = srv.Close() // what is left had its time
		return fmt.Errorf("stop admin socket: %w", err)
	}
	return nil
}

// peerKey is where a connection's context keeps its peer.
type peerKey struct{}

// A peer is who is at the other end. The zero value is nobody.
type peer struct {
	user   string
	served bool
}

// identify asks the kernel once for each connection.
func (s *Server) identify(ctx context.Context, conn net.Conn) context.Context {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return ctx
	}
	uid, err := peerUID(unixConn)
	if err != nil {
		s.log.Error("Cannot tell who connects to the admin socket", "error", err)
		return ctx
	}
	p := peer{user: s.name(uid), served: s.allowed(uid)}
	if !p.served {
		s.log.Warn("Refuses a user on the admin socket", "user", p.user)
	}
	return context.WithValue(ctx, peerKey{}, p)
}

// isServed lets root and the service's own user in.
func isServed(uid uint32) bool { return uid == 0 || int(uid) == os.Geteuid() }

// userName returns a user's name, or "uid:N" if it has none.
func userName(uid uint32) string {
	number := strconv.FormatUint(uint64(uid), 10)
	u, err := user.LookupId(number)
	if err != nil || u.Username == "" {
		return "uid:" + number
	}
	return u.Username
}

// errorOf says how a refusal of the desk is answered.
func errorOf(err error) (int, *Error) {
	if e, ok := errors.AsType[*approval.StateError](err); ok {
		return http.StatusConflict, &Error{Code: "approval.settled", Message: e.Error()}
	}
	for _, known := range []struct {
		err    error
		status int
		code   string
	}{
		{approval.ErrNotFound, http.StatusNotFound, "approval.unknown"},
		{approval.ErrOwnVote, http.StatusForbidden, "approval.own"},
		{approval.ErrVoter, http.StatusForbidden, "approval.voter"},
		{approval.ErrVotedAlready, http.StatusConflict, "approval.voted_already"},
		{approval.ErrInStore, http.StatusConflict, "approval.in_cluster"},
		{approval.ErrElsewhere, http.StatusConflict, "approval.elsewhere"},
		{approval.ErrConflict, http.StatusConflict, "approval.conflict"},
		{approval.ErrUnavailable, http.StatusServiceUnavailable, "approval.unavailable"},
	} {
		if errors.Is(err, known.err) {
			return known.status, &Error{Code: known.code, Message: known.err.Error()}
		}
	}
	return http.StatusInternalServerError, &Error{Code: "service.failed", Message: "the service failed, and nothing was decided"}
}

package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/engine"
)

// An Authenticator knows from the transport who makes a request. It never
// looks at the body. A caller that it does not know is an
// *engine.RefusedError; any other error means that it cannot tell now.
type Authenticator interface {
	Authenticate(r *http.Request) (chain.Caller, error)
}

// A placeChecker is an Authenticator that is safe only at some addresses and
// under some names.
type placeChecker interface {
	CheckListener(addr net.Addr) error
	CheckHost(host string) error
}

// A Loopback takes everyone on this machine for one caller. Serve refuses to
// listen with it where others can connect, and requests under a host name that
// is not this machine's own are refused: a page could have pointed its own
// name here to read the answers.
type Loopback struct{ Caller chain.Caller }

var (
	_ Authenticator = Loopback{}
	_ placeChecker  = Loopback{}
)

// Authenticate returns the one caller to whoever is on this machine.
func (l Loopback) Authenticate(r *http.Request) (chain.Caller, error) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return chain.Caller{}, unauthenticated("only callers on this machine are known")
	}
	return l.Caller, nil
}

// CheckListener refuses an address that other machines can reach.
func (Loopback) CheckListener(addr net.Addr) error {
	if !isLoopbackAddr(addr) {
		return fmt.Errorf("listen on %s: without a token file the address must be a loopback one, such as 127.0.0.1", addr)
	}
	return nil
}

// CheckHost refuses a Host header that does not name this machine.
func (Loopback) CheckHost(host string) error {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return nil
	}
	if ip, err := netip.ParseAddr(name); err == nil && ip.Unmap().IsLoopback() {
		return nil
	}
	return errors.New("host name is not this machine's")
}

func isLoopbackAddr(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

func unauthenticated(message string) error {
	return &engine.RefusedError{Code: CodeUnauthenticated, Message: message}
}

// BearerToken returns the token of a request that carries exactly one. The
// error is an *engine.RefusedError.
func BearerToken(r *http.Request) (string, error) {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return "", unauthenticated("send Authorization: Bearer TOKEN, once")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimLeft(token, " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", unauthenticated("the Authorization header must hold a bearer token")
	}
	return token, nil
}

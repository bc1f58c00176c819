package kubetest

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// A Gate is a way to the API server that can be shut: to whoever goes through it
// the API server is gone then. It passes bytes on, so TLS and identities are what
// they are.
type Gate struct {
	server string // host and port
	listen net.Listener

	mu    sync.Mutex
	shut  bool
	conns map[net.Conn]struct{}
}

// Gate returns an open gate, which goes with the test.
func (s *Server) Gate(tb testing.TB) *Gate {
	tb.Helper()
	u, err := url.Parse(s.env.Config.Host)
	if err != nil || u.Host == "" {
		u = &url.URL{Host: s.env.Config.Host}
	}
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("open a gate: %v", err)
	}
	g := &Gate{server: u.Host, listen: l, conns: make(map[net.Conn]struct{})}
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { g.accept(ctx, &wg) })
	tb.Cleanup(func() {
		stop()
		_ = l.Close()
		g.Shut()
		wg.Wait()
	})
	return g
}

// Config returns a configuration that goes through the gate.
func (g *Gate) Config(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.Host = "https://" + g.listen.Addr().String()
	return c
}

// Shut ends every connection and refuses new ones.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	for c := range g.conns {
		_ = c.Close()
	}
}

// Open lets connections through again.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = false
}

func (g *Gate) accept(ctx context.Context, wg *sync.WaitGroup) {
	for {
		c, err := g.listen.Accept()
		if err != nil {
			return
		}
		wg.Go(func() { g.pass(ctx, c) })
	}
}

// pass copies both ways until one side ends.
func (g *Gate) pass(ctx context.Context, c net.Conn) {
	defer g.leave(c)
	if !g.enter(c) {
		return
	}
	server, err := new(net.Dialer).DialContext(ctx, "tcp", g.server)
	if err != nil {
		return
	}
	defer g.leave(server)
	if !g.enter(server) {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(server, c); _ = server.Close() })
	_, _ = io.Copy(c, server)
	_ = c.Close()
	wg.Wait()
}

func (g *Gate) enter(c net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return false
	}
	g.conns[c] = struct{}{}
	return true
}

func (g *Gate) leave(c net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c)
	_ = c.Close()
}

package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// The roles that this program takes in a process of its own.
const (
	roleEcho    = "echo"
	roleService = "service"
)

// A child is what a process of this program does for another one.
type child struct {
	role   string
	pad    int
	policy string
	dir    string
	out    string
}

func childFlags(flags *flag.FlagSet) *child {
	c := new(child)
	flags.StringVar(&c.role, "role", "", "of a process that bench starts itself: echo or service")
	flags.IntVar(&c.pad, "pad", 0, "echo: blanks after each answer")
	flags.StringVar(&c.policy, "policy", "", "service: policy `FILE`")
	flags.StringVar(&c.dir, "audit-dir", "", "service: `DIR`ectory of the audit log")
	flags.StringVar(&c.out, "profiles", "", "service: `DIR`ectory of the profiles")
	return c
}

func (c *child) run(ctx context.Context) error {
	switch c.role {
	case roleEcho:
		return echo(ctx, c.pad)
	case roleService:
		return serveProfiled(ctx, c)
	default:
		return fmt.Errorf("no role is called %q", c.role)
	}
}

// startChild runs this program in a role.
func startChild(ctx context.Context, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return start(exec.CommandContext(ctx, self, args...))
}

// tell says where a child listens, as the service does.
func tell(ln net.Listener) { fmt.Fprintf(os.Stderr, "{\"address\":%q}\n", ln.Addr()) }

// echo serves the yardstick: the least that any JSON service on net/http does.
// It decodes a body and encodes it again. The blanks make its answers as long
// as those of the service that is measured.
func echo(ctx context.Context, pad int) error {
	blanks := []byte(strings.Repeat(" ", pad))
	srv := &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var v any
			if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
				http.Error(w, "not JSON", http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			// Who does not take an answer is not measured.
			_ = json.NewEncoder(w).Encode(v)
			_, _ = w.Write(blanks)
		}),
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	tell(ln)
	go func() { _ = srv.Serve(ln) }() // ends with Close
	<-ctx.Done()
	return srv.Close()
}

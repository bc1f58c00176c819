// Package e2e is the proof of the product on a real cluster: the image is run by
// a kubelet, the chart is installed as a user would, and agents ask from pods of
// their own. hack/cluster makes the cluster, "make e2e" runs it all.
//
// A scenario is a test that begins with install and ends with nothing left: each
// has a release of its own, so that they can be run alone, in any order, and on
// several clusters at once. README.md tells how to add one.
package e2e

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/hookpolicy/hookpolicy/internal/kubetest"
)

const (
	root = "../.." // of the repository

	// Images that "make e2e" loads into the node.
	image      = "hookpolicy"
	imageTag   = "e2e"
	agentImage = "hookpolicy-e2e-agent:e2e"

	// patience is how long a pod may take to start on a busy machine.
	patience = 3 * time.Minute
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // of the client
	os.Exit(m.Run())
}

// A cluster is a running cluster of hack/cluster.
type cluster struct {
	client.Client
	state string
}

// onCluster returns the cluster that the environment names. Without one the
// test is skipped, unless HOOKPOLICY_E2E is required.
func onCluster(t *testing.T) *cluster {
	t.Helper()
	if os.Getenv("HOOKPOLICY_E2E") != "required" {
		t.Skip(`HOOKPOLICY_E2E is not "required": run the tests with "make e2e"`)
	}
	c := &cluster{state: os.Getenv("HOOKPOLICY_CLUSTER")}
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig())
	if err != nil {
		t.Fatalf("no cluster is up: %v", err)
	}
	config.Dial = c.dial
	config.QPS = -1
	if c.Client, err = newClient(config); err != nil {
		t.Fatal(err)
	}
	return c
}

func newClient(config *rest.Config) (client.Client, error) {
	scheme, err := kubetest.Scheme()
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}

func (c *cluster) kubeconfig() string { return filepath.Join(c.state, "pki", "admin.kubeconfig") }

// dial connects from within the cluster's network, which is a namespace that
// this process is not in: one thread goes there and back.
func (c *cluster) dial(ctx context.Context, network, address string) (net.Conn, error) {
	pid, err := os.ReadFile(filepath.Join(c.state, "node.pid"))
	if err != nil {
		return nil, err
	}
	there, err := os.Open(filepath.Join("/proc", strings.TrimSpace(string(pid)), "ns", "net"))
	if err != nil {
		return nil, err
	}
	defer there.Close()
	here, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	defer here.Close()
	type result struct {
		conn net.Conn
		err  error
	}
	dialed := make(chan result)
	go func() {
		runtime.LockOSThread()
		if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
			dialed <- result{err: err}
			return // the thread ends with the goroutine
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if unix.Setns(int(here.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
		dialed <- result{conn, err}
	}()
	r := <-dialed
	return r.conn, r.err
}

// command runs a program with an input and returns all that it prints.
func command(t *testing.T, stdin, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...) // in clean-ups too
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// eventually calls check until it returns nil. It fails the test with check's
// last error when that takes longer than within. It may be used in clean-ups.
func eventually(t *testing.T, within time.Duration, what string, check func(ctx context.Context) error) {
	t.Helper()
	last := errors.New("it was not checked once")
	err := wait.PollUntilContextTimeout(context.WithoutCancel(t.Context()), 100*time.Millisecond, within, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: not within %s: %v", what, within, last)
	}
}

// node runs hack/cluster/cluster: exec, stop and start reach into the node.
func (c *cluster) node(t *testing.T, args ...string) string {
	t.Helper()
	out, err := command(t, "", filepath.Join(root, "hack", "cluster", "cluster"), args...)
	if err != nil {
		t.Fatalf("cluster %q: %v\n%s", args, err, out)
	}
	return out
}

// tryKubectl runs kubectl as the administrator.
func (c *cluster) tryKubectl(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	return command(t, stdin, filepath.Join(root, "hack", "cluster", "cluster"), append([]string{"kubectl"}, args...)...)
}

// kubectl runs kubectl as the administrator, and it must succeed.
func (c *cluster) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.tryKubectl(t, "", args...)
	if err != nil {
		t.Fatalf("kubectl %q: %v\n%s", args, err, out)
	}
	return out
}

// apply applies a manifest.
func (c *cluster) apply(t *testing.T, manifest string) {
	t.Helper()
	if out, err := c.tryKubectl(t, manifest, "apply", "-f", "-"); err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
}

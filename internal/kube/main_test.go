package kube_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/kube"
	"github.com/hookpolicy/hookpolicy/internal/kubetest"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

var cluster kubetest.Shared

func TestMain(m *testing.M) { os.Exit(cluster.Run(m)) }

// patience bounds what a test waits for; nothing is measured against it.
const patience = time.Minute

// A replica is a running source, and what it has put in force.
type replica struct {
	tb      testing.TB
	set     atomic.Pointer[plan.Set]
	applied atomic.Int64
	inForce atomic.Pointer[kube.InForce]
	log     lockedBuffer
	stop    func()
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newClient(tb testing.TB, config *rest.Config) *kube.Client {
	tb.Helper()
	c, err := kube.NewClient(config)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// start runs a source until the test ends or stop is called.
func start(tb testing.TB, config *rest.Config, o kube.SourceOptions) *replica {
	tb.Helper()
	r := &replica{tb: tb}
	o.Client = newClient(tb, config)
	o.Logger = slog.New(slog.NewTextHandler(&r.log, nil))
	o.Report = func(f kube.InForce) { r.inForce.Store(&f) }
	s, err := kube.NewSource(o)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx, func(_ context.Context, set *plan.Set) error {
			r.applied.Add(1)
			r.set.Store(set)
			return nil
		})
	}()
	r.stop = func() {
		cancel()
		<-done
	}
	tb.Cleanup(r.stop)
	return r
}

// eventually waits until check holds of the set in force.
func (r *replica) eventually(what string, check func(*plan.Set) error) {
	r.tb.Helper()
	kubetest.Eventually(r.tb, patience, what, func(context.Context) error {
		set := r.set.Load()
		if set == nil {
			return errors.New("nothing is in force")
		}
		return check(set)
	})
}

// decides waits until callers of a namespace meet what want says: a verdict
// about unlisted tools, a refusal, or "none".
func (r *replica) decides(namespace, account, want string) {
	r.tb.Helper()
	r.eventually(namespace+"/"+account+" meets "+want, func(s *plan.Set) error {
		if got := outcome(s, namespace, account); got != want {
			return fmt.Errorf("it meets %s", got)
		}
		return nil
	})
}

func outcome(s *plan.Set, namespace, account string) string {
	switch seg := s.Lookup(namespace, account); {
	case seg == nil:
		return "none"
	case seg.Refusal != "":
		return seg.Refusal
	default:
		return string(seg.UnlistedTools)
	}
}

func hookPolicy(tb testing.TB, namespace, name, spec string) *v1alpha1.HookPolicy {
	tb.Helper()
	p := &v1alpha1.HookPolicy{}
	if err := yaml.UnmarshalStrict([]byte("spec: "+spec), p); err != nil {
		tb.Fatal(err)
	}
	p.Namespace, p.Name = namespace, name
	return p
}

// edit replaces the spec of a policy.
func edit(tb testing.TB, s *kubetest.Server, namespace, name, spec string) *v1alpha1.HookPolicy {
	tb.Helper()
	p := &v1alpha1.HookPolicy{}
	if err := s.Client().Get(tb.Context(), client.ObjectKey{Namespace: namespace, Name: name}, p); err != nil {
		tb.Fatal(err)
	}
	p.Spec = hookPolicy(tb, namespace, name, spec).Spec
	if err := s.Client().Update(tb.Context(), p); err != nil {
		tb.Fatal(err)
	}
	return p
}

// broken is a spec that the schema lets pass and that does not compile.
const broken = `{unlistedTools: Deny, hooks: [{name: h, destructiveSQL: {arguments: [{tool: t, path: "a[b"}]}}]}`

// tenant is a binding of the default service of the platform.
func platform(namespace string) kube.Binding {
	service := types.NamespacedName{Namespace: namespace, Name: "default"}
	return kube.Binding{Service: service, Default: service, PlatformNamespace: namespace, AllNamespaces: true}
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/kube"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/server"
)

// namespaceFile is where a pod finds its own namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// A kubeConfig is what a replica needs to know of its cluster.
type kubeConfig struct {
	on                bool
	kubeconfig        string // empty: the pod's own ServiceAccount
	namespace         string
	service           string
	defaultService    string // "namespace/name"
	platformNamespace string
	namespaces        string // "*", or a list
	dataPaths         []string
	podName           string
	stateFile         string
	bindingKey        string
}

// flags are those that need --kube.
func (k *kubeConfig) flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("kube", pflag.ContinueOnError)
	f.StringVar(&k.kubeconfig, "kubeconfig", "", "with --kube: `FILE` that says how to reach the API server (default: as the pod's ServiceAccount)")
	f.StringVar(&k.namespace, "namespace", "", "with --kube: `NAMESPACE` of this replica (default: $POD_NAMESPACE, or the pod's own)")
	f.StringVar(&k.service, "service", "", "with --kube: `NAME` of the DecisionService that this is a replica of")
	f.StringVar(&k.defaultService, "default-decision-service", "", "with --kube: `NAMESPACE/NAME` of the DecisionService of policies that name none")
	f.StringVar(&k.platformNamespace, "platform-namespace", "", "with --kube: `NAMESPACE` of the platform; a service elsewhere serves its own namespace only")
	f.StringVar(&k.namespaces, "namespaces", "*", "with --kube: `NAMESPACE,…` whose policies a service of the platform takes beside its own; * is every one")
	f.StringSliceVar(&k.dataPaths, "data-paths", nil, "with --kube: `PATH,…` at which the service's data volumes are mounted")
	f.StringVar(&k.podName, "pod-name", "", "with --kube: `NAME` of this replica's pod and DecisionReplica (default: $POD_NAME, or the host name)")
	f.StringVar(&k.stateFile, "state-file", "", "with --kube: `FILE` of the last good policies (default: "+contract.StateFile+" in the audit directory)")
	f.StringVar(&k.bindingKey, "binding-key-file", filepath.Join(contract.BindingDir, contract.BindingKey), "with --kube: `FILE` of the key that the replicas share, 32 bytes or more, which ties approvals to calls")
	return f
}

// complete fills in what depends on where the program runs, and refuses what
// cannot work. changed tells which flags were given.
func (c *config) complete(changed func(flag string) bool) error {
	if !c.kube.on {
		return c.completeFiles(changed)
	}
	for _, flag := range []string{"policy", "token-file", "caller"} {
		if changed(flag) {
			return fmt.Errorf("--%s goes without --kube: policies and callers come from the cluster", flag)
		}
	}
	k := &c.kube
	k.namespace = cmp.Or(k.namespace, os.Getenv("POD_NAMESPACE"), ownNamespace())
	k.podName = cmp.Or(k.podName, os.Getenv("POD_NAME"), hostname())
	c.auditDir = cmp.Or(c.auditDir, contract.AuditDir)
	k.stateFile = cmp.Or(k.stateFile, filepath.Join(c.auditDir, contract.StateFile))
	c.adminSocket = cmp.Or(c.adminSocket, contract.AdminSocket)
	if !changed("tls-cert") && !changed("tls-key") {
		c.certFile, c.keyFile = filepath.Join(contract.TLSDir, "tls.crt"), filepath.Join(contract.TLSDir, "tls.key")
	}
	if !changed("listen") {
		c.listen = fmt.Sprintf(":%d", contract.PortReplica)
	}
	if !changed("replica") {
		c.replica = k.podName
	}
	switch {
	case k.namespace == "":
		return errors.New("serve --kube needs --namespace NAMESPACE")
	case k.service == "":
		return errors.New("serve --kube needs --service NAME")
	case c.certFile == "" || c.keyFile == "":
		return errors.New("serve --kube needs --tls-cert and --tls-key: tokens never travel in the clear")
	}
	if _, err := k.binding(); err != nil {
		return err
	}
	return nil
}

func (c *config) completeFiles(changed func(flag string) bool) error {
	var err error
	new(kubeConfig).flags().VisitAll(func(f *pflag.Flag) {
		if changed(f.Name) && err == nil {
			err = fmt.Errorf("--%s goes with --kube", f.Name)
		}
	})
	return err
}

// binding says which policies the service decides by.
func (k *kubeConfig) binding() (kube.Binding, error) {
	b := kube.Binding{
		Service: types.NamespacedName{Namespace: k.namespace, Name: k.service}, PlatformNamespace: k.platformNamespace,
		DataPaths: k.dataPaths,
	}
	if k.defaultService != "" {
		namespace, name, ok := strings.Cut(k.defaultService, "/")
		if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
			return b, fmt.Errorf("--default-decision-service is NAMESPACE/NAME, not %q", k.defaultService)
		}
		b.Default = types.NamespacedName{Namespace: namespace, Name: name}
	}
	if b.AllNamespaces = k.namespaces == "*"; !b.AllNamespaces && k.namespaces != "" {
		b.Namespaces = strings.Split(k.namespaces, ",")
	}
	return b, nil
}

func ownNamespace() string {
	b, err := os.ReadFile(namespaceFile)
	if err != nil {
		return "" // not in a pod
	}
	return strings.TrimSpace(string(b))
}

// A clusterOrigin is a cluster's policies, and its ServiceAccounts' tokens.
type clusterOrigin struct {
	config   config
	log      *slog.Logger
	check    func(*plan.Segment) error
	client   *kube.Client
	source   *kube.Source
	reporter *kube.Reporter
	held     *kube.Approvals
	guard    *kube.Guard
}

func newClusterOrigin(c config, constructors chain.Constructors, log *slog.Logger) (*clusterOrigin, error) {
	started := time.Now()
	klog.SetSlogLogger(log) // what client-go has to say
	access, err := c.kube.access()
	if err != nil {
		return nil, err
	}
	client, err := kube.NewClient(access)
	if err != nil {
		return nil, err
	}
	k := &c.kube
	o := &clusterOrigin{
		config: c, log: log, client: client,
		check:    func(s *plan.Segment) error { return buildable(s, constructors) },
		reporter: kube.NewReporter(client, types.NamespacedName{Namespace: k.namespace, Name: k.podName}, started, log),
	}
	o.guard = kube.NewGuard(client, k.namespace, o.reporter.SetVotes, log)
	held := kube.ApprovalsOptions{Client: client, Service: types.NamespacedName{Namespace: k.namespace, Name: k.service}, Logger: log}
	if k.namespace != k.platformNamespace {
		held.Namespace = k.namespace // it serves no other, and may look into no other
	}
	o.held = kube.NewApprovals(held)
	return o, nil
}

// access says how to reach the API server.
func (k *kubeConfig) access() (*rest.Config, error) {
	if k.kubeconfig == "" {
		access, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("find the API server: %w; outside a pod, use --kubeconfig", err)
		}
		return access, nil
	}
	access, err := clientcmd.BuildConfigFromFlags("", k.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return access, nil
}

// buildable reports why no chain can be built of a segment.
func buildable(s *plan.Segment, constructors chain.Constructors) error {
	p := &plan.Plan{Tenant: s}
	if s.IsBaseline() {
		p = &plan.Plan{Baseline: []*plan.Segment{s}}
	}
	_, err := chain.Build(p, constructors)
	return err
}

// open puts nothing in force: the policies come in while the service runs, and
// until then it denies.
func (o *clusterOrigin) open(_ context.Context, _ *engine.Engine, metrics prometheus.Registerer) (server.Authenticator, error) {
	k := &o.config.kube
	binding, err := k.binding()
	if err != nil {
		return nil, err
	}
	o.source, err = kube.NewSource(kube.SourceOptions{
		Client: o.client, Binding: binding, StateFile: k.stateFile, Check: o.check, Report: o.reporter.Set, Logger: o.log, Metrics: metrics,
	})
	if err != nil {
		return nil, err
	}
	return kube.NewTokenReviewer(o.client, contract.Audience(k.namespace, k.service), metrics), nil
}

// approvals are ToolApprovals. Their key is the one that the manager gave to all
// replicas of the service.
func (o *clusterOrigin) approvals() (held, error) {
	key, err := os.ReadFile(o.config.kube.bindingKey)
	if err != nil {
		return held{}, fmt.Errorf("read the key of approvals: %w", err)
	}
	return held{store: o.held, key: key, inStore: true, enforced: o.guard.Enforced}, nil
}

func (o *clusterOrigin) run(ctx context.Context, e *engine.Engine) {
	together(ctx,
		func(ctx context.Context) { o.source.Run(ctx, e.SetPolicies) },
		o.reporter.Run,
		o.held.Run,
		o.guard.Run,
	)
}

package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hookpolicy/hookpolicy/internal/render"
)

// An options is the command line.
type options struct {
	kubeconfig        string
	image             string
	pullSecrets       []string
	pullPolicy        string
	platformNamespace string
	defaultService    string // "namespace/name"
	apiServerPorts    []int32
	metricsAddress    string // "0": none
	metricsSecure     bool
	healthAddress     string
	leaderElect       bool
	timeout           time.Duration
	logLevel          string
	// setLoggers gives the libraries' global loggers a handler.
	setLoggers func(slog.Handler)
}

func newCommand(setLoggers func(slog.Handler)) *cobra.Command {
	o := options{setLoggers: setLoggers}
	cmd := &cobra.Command{
		Use:   "manager --image IMAGE --platform-namespace NAMESPACE",
		Short: "Runs the decision services of a cluster and reports on its policies",
		Long: `Runs the decision services of a cluster and reports on its policies. What the
replicas run comes from here: image, arguments and identity are never taken
from the objects of a namespace.`,
		Version:           version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              cobra.NoArgs,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, level, err := o.parse()
			if err != nil {
				return err
			}
			return run(cmd.Context(), o, r, level)
		},
	}
	o.register(cmd.Flags())
	return cmd
}

func (o *options) register(f *pflag.FlagSet) {
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "`FILE` that says how to reach the API server (default: $KUBECONFIG, or as the pod's ServiceAccount)")
	f.StringVar(&o.image, "image", os.Getenv("HOOKPOLICY_IMAGE"), "`IMAGE` of the replicas (default: $HOOKPOLICY_IMAGE)")
	f.StringVar(&o.pullPolicy, "image-pull-policy", "", "when it is pulled: `Always|IfNotPresent|Never` (default: as the cluster does)")
	f.StringSliceVar(&o.pullSecrets, "image-pull-secrets", nil, "`SECRET,…` in the namespace of each DecisionService with which it is pulled")
	f.StringVar(&o.platformNamespace, "platform-namespace", os.Getenv("POD_NAMESPACE"), "`NAMESPACE` of the platform's own services and of the certificate authority (default: $POD_NAMESPACE)")
	f.StringVar(&o.defaultService, "default-decision-service", "", "`NAMESPACE/NAME` of the DecisionService of policies that name none")
	f.Int32SliceVar(&o.apiServerPorts, "api-server-ports", nil, "`PORTS` at which pods reach the API server (default 443,6443)")
	f.StringVar(&o.metricsAddress, "metrics-address", "127.0.0.1:8080", "`ADDRESS` of the metrics; 0 for none; beyond loopback only with --metrics-secure")
	f.BoolVar(&o.metricsSecure, "metrics-secure", false, "serve the metrics over HTTPS, to whoever may GET /metrics")
	f.StringVar(&o.healthAddress, "health-address", ":8081", "`ADDRESS` of /healthz and /readyz")
	f.BoolVar(&o.leaderElect, "leader-elect", true, "work only while no other manager does")
	f.DurationVar(&o.timeout, "reconcile-timeout", time.Minute, "time for one reconciliation")
	f.StringVar(&o.logLevel, "log-level", "info", "least `LEVEL` to log: debug, info, warn or error")
}

// parse refuses a command line that cannot work.
func (o *options) parse() (render.Options, slog.Level, error) {
	var level slog.Level
	r := render.Options{
		Image: o.image, PullPolicy: corev1.PullPolicy(o.pullPolicy), PullSecrets: o.pullSecrets, PlatformNamespace: o.platformNamespace, APIServerPorts: o.apiServerPorts,
	}
	switch r.PullPolicy {
	case "", corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever:
	default:
		return r, level, fmt.Errorf("--image-pull-policy is Always, IfNotPresent or Never, not %q", o.pullPolicy)
	}
	if o.image == "" {
		return r, level, errors.New("--image is missing: the replicas' image comes from nowhere else")
	}
	if o.platformNamespace == "" {
		return r, level, errors.New("--platform-namespace is missing")
	}
	if o.defaultService != "" {
		namespace, name, ok := strings.Cut(o.defaultService, "/")
		if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
			return r, level, fmt.Errorf("--default-decision-service is NAMESPACE/NAME, not %q", o.defaultService)
		}
		r.DefaultService = types.NamespacedName{Namespace: namespace, Name: name}
	}
	if !o.metricsSecure && o.metricsAddress != "0" && !isLoopback(o.metricsAddress) {
		return r, level, fmt.Errorf("--metrics-address %s is not on loopback: add --metrics-secure", o.metricsAddress)
	}
	if err := level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return r, level, fmt.Errorf("--log-level: %w", err)
	}
	return r, level, nil
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/policyfile"
	"github.com/hookpolicy/hookpolicy/internal/server"
)

// An origin is where a service's policies and callers come from: files, or a
// cluster. Nothing else of a service differs.
type origin interface {
	// open puts the first policies in force, where there are some already, and
	// returns who knows the callers.
	open(ctx context.Context, e *engine.Engine, metrics prometheus.Registerer) (server.Authenticator, error)
	// approvals says where held calls are kept.
	approvals() (held, error)
	// run keeps policies and callers current until ctx is done.
	run(ctx context.Context, e *engine.Engine)
}

// held is where held calls are kept, and who votes on them where.
type held struct {
	store    approval.Store
	key      []byte      // that replicas share; nil: the process's own
	inStore  bool        // people vote in the store
	enforced func() bool // nil: always
}

func newOrigin(ctx context.Context, c config, constructors chain.Constructors, log *slog.Logger) (origin, error) {
	if c.kube.on {
		return newClusterOrigin(c, constructors, log)
	}
	return newFileOrigin(ctx, c, log)
}

// A fileOrigin is policy files, and a token file or the loopback interface.
type fileOrigin struct {
	config   config
	log      *slog.Logger
	policies *policyfile.Source
	first    *plan.Set // until it is in force
	tokens   *server.TokenFile
	good     prometheus.Gauge
	// showDigest makes a metric of what is in force.
	showDigest func(*plan.Set)
}

// newFileOrigin reads the policies: without good ones a service does not start.
func newFileOrigin(ctx context.Context, c config, log *slog.Logger) (*fileOrigin, error) {
	o := &fileOrigin{config: c, log: log, policies: policyfile.New(c.policies)}
	set, warnings, err := o.policies.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the policies:\n%w", err)
	}
	for _, w := range warnings {
		log.LogAttrs(ctx, slog.LevelWarn, "Policy is allowed but unwise", slog.String("warning", w))
	}
	o.first = set
	return o, nil
}

func (o *fileOrigin) open(ctx context.Context, e *engine.Engine, metrics prometheus.Registerer) (server.Authenticator, error) {
	o.good = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hookpolicy_policy_files_good", Help: "1 while the policy files on disk are the ones in force, 0 while they cannot be used.",
	})
	inForce := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "hookpolicy_policy_files_set_info", Help: "1 for the digest of the policies in force.",
	}, []string{"digest"})
	o.showDigest = func(set *plan.Set) {
		inForce.Reset()
		inForce.WithLabelValues(set.Digest()).Set(1)
	}
	metrics.MustRegister(o.good, inForce)
	o.good.Set(1)
	set := o.first
	o.first = nil
	if err := e.SetPolicies(ctx, set); err != nil {
		return nil, err
	}
	o.showDigest(set)
	if o.config.tokenFile == "" {
		caller, err := callerOf(o.config.caller, set)
		if err == nil && set.Lookup(caller.Namespace, caller.ServiceAccount) == nil {
			o.log.LogAttrs(ctx, slog.LevelWarn, "No policy governs the caller of every request", slog.String("caller", caller.String()))
		}
		return server.Loopback{Caller: caller}, err
	}
	tokens, err := server.NewTokenFile(o.config.tokenFile, o.log)
	if err != nil {
		return nil, fmt.Errorf("load the tokens: %w", err)
	}
	o.tokens = tokens
	return tokens, nil
}

// approvals of one process need outlive it no more than the calls do: what is not
// known to be approved is asked again.
func (o *fileOrigin) approvals() (held, error) {
	return held{store: approval.NewMemoryStore(approval.MemoryOptions{})}, nil
}

func (o *fileOrigin) run(ctx context.Context, e *engine.Engine) {
	together(ctx,
		func(ctx context.Context) {
			o.policies.Watch(ctx, o.log,
				func(set *plan.Set) error {
					err := e.SetPolicies(ctx, set)
					if err == nil {
						o.showDigest(set)
					}
					return err
				},
				func(good bool) { o.good.Set(map[bool]float64{true: 1}[good]) })
		},
		func(ctx context.Context) {
			if o.tokens != nil {
				o.tokens.Watch(ctx)
			}
		})
}

// callerOf is who every caller is where no token tells: the one that the flag
// names, else one that the first policy governs.
func callerOf(flag string, set *plan.Set) (chain.Caller, error) {
	if flag != "" {
		namespace, account, ok := strings.Cut(flag, "/")
		if !ok || namespace == "" || account == "" || strings.Contains(account, "/") {
			return chain.Caller{}, usageError{fmt.Errorf("--caller is NAMESPACE/SERVICEACCOUNT, not %q", flag)}
		}
		return chain.Caller{Namespace: namespace, ServiceAccount: account}, nil
	}
	tenants := set.Tenants()
	if len(tenants) == 0 {
		return chain.Caller{Namespace: "default", ServiceAccount: "default"}, nil
	}
	first := tenants[0]
	caller := chain.Caller{Namespace: first.Source.Namespace, ServiceAccount: "default"}
	if len(first.ServiceAccounts) > 0 {
		caller.ServiceAccount = first.ServiceAccounts[0]
	}
	return caller, nil
}

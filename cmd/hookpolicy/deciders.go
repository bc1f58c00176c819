package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/card"
	"github.com/hookpolicy/hookpolicy/internal/kube"
	"github.com/hookpolicy/hookpolicy/internal/server/admin"
)

// defaultAdminSocket is the name of the approvers' socket in the audit
// directory.
const defaultAdminSocket = "admin.sock"

const (
	// countedWithin is how long a voter waits for the service to count the vote.
	countedWithin = 5 * time.Second
	// lookEvery is how often a service on this machine is asked what is new.
	lookEvery = time.Second
	// pluginName is the name under which kubectl finds this program.
	pluginName = "kubectl-hookpolicy"
)

// A desk is where a person finds held calls and decides them.
type desk interface {
	list(ctx context.Context, all bool) ([]card.Card, error)
	get(ctx context.Context, id string) (card.Card, error)
	vote(ctx context.Context, id string, approve bool, reason string) (card.Card, error)
	// watch calls changed with what is there and with every change.
	watch(ctx context.Context, changed func(card.Card)) error
}

// deskFlags say which desk: that of a service on this machine, or a cluster's.
type deskFlags struct {
	socket, auditDir                           string
	kubeconfig, kubeContext, namespace, asUser string
	allNamespaces                              bool
	asGroups                                   []string
}

// clusterFlags choose a cluster.
var clusterFlagNames = []string{"kubeconfig", "context", "namespace", "all-namespaces", "as", "as-group"}

func (f *deskFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.auditDir, "audit-dir", "audit", "on the service's machine: audit `DIR` of the service")
	fs.StringVar(&f.socket, "admin-socket", "", "on the service's machine: `PATH` of the service's socket, if it is not in the audit directory")
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "in a cluster: `FILE` that says how to reach it (default: as kubectl)")
	fs.StringVar(&f.kubeContext, "context", "", "in a cluster: `NAME` of the kubeconfig's context")
	fs.StringVarP(&f.namespace, "namespace", "n", "", "in a cluster: `NAMESPACE` of the held calls (default: that of the context)")
	fs.StringVar(&f.asUser, "as", "", "in a cluster: `USER` to impersonate, who then is the voter")
	fs.StringArrayVar(&f.asGroups, "as-group", nil, "in a cluster: `GROUP` to impersonate; may be repeated")
}

// inCluster reports whether the flags, or the name of the program, mean a
// cluster. One with flags of both kinds makes no sense.
func (f *deskFlags) inCluster(fs *pflag.FlagSet, program string) (bool, error) {
	changed := func(names ...string) bool { return slices.ContainsFunc(names, fs.Changed) }
	cluster, machine := changed(clusterFlagNames...), changed("audit-dir", "admin-socket")
	if cluster && machine {
		return false, usageError{errors.New("--audit-dir and --admin-socket are for a service on this machine, the others for a cluster")}
	}
	return cluster || !machine && strings.TrimSuffix(filepath.Base(program), ".exe") == pluginName, nil
}

func (f *deskFlags) open(cmd *cobra.Command, program string) (desk, error) {
	cluster, err := f.inCluster(cmd.Flags(), program)
	if err != nil {
		return nil, err
	}
	if cluster {
		return f.cluster()
	}
	socket := f.socket
	if socket == "" {
		socket = filepath.Join(f.auditDir, defaultAdminSocket)
	}
	return &socketDesk{admin.NewClient(socket), socket}, nil
}

func (f *deskFlags) cluster() (desk, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: f.kubeContext}
	overrides.AuthInfo.Impersonate, overrides.AuthInfo.ImpersonateGroups = f.asUser, f.asGroups
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	config.UserAgent = pluginName
	namespace := f.namespace
	if namespace == "" && !f.allNamespaces {
		if namespace, _, err = loader.Namespace(); err != nil {
			return nil, fmt.Errorf("find the namespace: %w", err)
		}
	}
	client, err := kube.NewClient(config)
	if err != nil {
		return nil, err
	}
	return &clusterDesk{kube.NewPeople(client), namespace}, nil
}

// A clusterDesk is the ToolApprovals of a namespace, or of all.
type clusterDesk struct {
	people    *kube.People
	namespace string // empty: all
}

func (d *clusterDesk) list(ctx context.Context, all bool) ([]card.Card, error) {
	found, err := d.people.List(ctx, d.namespace, all)
	if err != nil {
		return nil, err
	}
	cards := make([]card.Card, len(found))
	for i, a := range found {
		cards[i] = card.Of(a)
	}
	return cards, nil
}

func (d *clusterDesk) get(ctx context.Context, id string) (card.Card, error) {
	namespace, name, err := d.locate(id)
	if err != nil {
		return card.Card{}, err
	}
	a, err := d.people.Get(ctx, namespace, name)
	return card.Of(a), err
}

func (d *clusterDesk) vote(ctx context.Context, id string, approve bool, reason string) (card.Card, error) {
	namespace, name, err := d.locate(id)
	if err != nil {
		return card.Card{}, err
	}
	a, err := d.people.Vote(ctx, namespace, name, approve, reason, countedWithin)
	return card.Of(a), err
}

func (d *clusterDesk) watch(ctx context.Context, changed func(card.Card)) error {
	return d.people.Watch(ctx, d.namespace, func(a approval.Approval) { changed(card.Of(a)) })
}

// locate reads NAME, or NAMESPACE/NAME.
func (d *clusterDesk) locate(id string) (namespace, name string, err error) {
	if namespace, name, ok := strings.Cut(id, "/"); ok {
		return namespace, name, nil
	}
	if d.namespace == "" {
		return "", "", usageError{errors.New("say in which namespace: -n NAMESPACE, or NAMESPACE/NAME")}
	}
	return d.namespace, id, nil
}

// A socketDesk is a service on this machine.
type socketDesk struct {
	client *admin.Client
	path   string
}

func (d *socketDesk) list(ctx context.Context, all bool) ([]card.Card, error) {
	cards, err := d.client.List(ctx, all)
	return cards, d.explain(err)
}

func (d *socketDesk) get(ctx context.Context, id string) (card.Card, error) {
	c, err := d.client.Get(ctx, id)
	return c, d.explain(err)
}

func (d *socketDesk) vote(ctx context.Context, id string, approve bool, reason string) (card.Card, error) {
	vote := d.client.Reject
	if approve {
		vote = d.client.Approve
	}
	c, err := vote(ctx, id, reason)
	return c, d.explain(err)
}

// watch asks again and again: on one machine that costs nothing.
func (d *socketDesk) watch(ctx context.Context, changed func(card.Card)) error {
	type seen struct {
		state approval.State
		votes int
	}
	known := make(map[string]seen)
	for tick := time.NewTicker(lookEvery); ; {
		cards, err := d.list(ctx, true)
		if ctx.Err() != nil {
			tick.Stop()
			return nil //nolint:nilerr // whoever watched has seen enough
		}
		if err != nil {
			tick.Stop()
			return err
		}
		now := make(map[string]seen, len(cards))
		for _, c := range cards {
			now[c.ID] = seen{c.State, len(c.Votes)}
			if was, ok := known[c.ID]; !ok || was != now[c.ID] {
				changed(c)
			}
		}
		known = maps.Clone(now)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// explain says where the service was looked for, if nobody was there.
func (d *socketDesk) explain(err error) error {
	var refused *admin.Error
	if err == nil || errors.As(err, &refused) {
		return err
	}
	return fmt.Errorf("%w (no service listens at %s; --audit-dir or --admin-socket say where one does, -n NAMESPACE asks a cluster)", err, d.path)
}

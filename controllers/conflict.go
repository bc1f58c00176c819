package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// lostCallers says which of the callers that a policy selects are governed by
// others, and by which; empty if none are. Who wins is for plan.Set to say, as
// on the replicas.
func lostCallers(ctx context.Context, c client.Reader, hp *v1alpha1.HookPolicy) (string, error) {
	accounts := hp.Spec.Agents.ServiceAccounts
	if len(accounts) == 0 {
		return lostOfNamespace(ctx, c, hp)
	}
	var lost []string
	for _, account := range slices.Sorted(slices.Values(accounts)) {
		set, err := rivals(ctx, c, hp.Namespace, client.MatchingFields{indexCaller: account})
		if err != nil {
			return "", err
		}
		if w := set.Lookup(hp.Namespace, account); w != nil && w.Source.Name != hp.Name {
			lost = append(lost, account+" by "+w.Source.Name)
		}
	}
	return sayLost(lost), nil
}

// lostOfNamespace does the same for a policy of every ServiceAccount. It loses
// all of them to an older one of its kind, else those that others name.
func lostOfNamespace(ctx context.Context, c client.Reader, hp *v1alpha1.HookPolicy) (string, error) {
	set, err := rivals(ctx, c, hp.Namespace)
	if err != nil {
		return "", err
	}
	if w := set.Lookup(hp.Namespace, anyCaller); w != nil && w.Source.Name != hp.Name {
		return "Governed by another policy: every ServiceAccount, by " + w.Source.Name, nil
	}
	winners := make(map[string]string)
	for _, t := range set.Tenants() { // in order of precedence
		for _, account := range t.ServiceAccounts {
			if winners[account] == "" {
				winners[account] = t.Source.Name
			}
		}
	}
	lost := make([]string, 0, len(winners))
	for account, winner := range winners {
		lost = append(lost, account+" by "+winner)
	}
	slices.Sort(lost)
	return sayLost(lost), nil
}

func sayLost(lost []string) string {
	const most = 20
	if len(lost) == 0 {
		return ""
	}
	if n := len(lost); n > most {
		lost = append(lost[:most:most], fmt.Sprintf("and %d more", n-most))
	}
	return "Governed by another policy: " + strings.Join(lost, ", ")
}

// rivals returns policies of a namespace as far as precedence goes. Whether
// they compile does not matter, nor where they are bound: they take their
// callers all the same.
func rivals(ctx context.Context, c client.Reader, namespace string, opts ...client.ListOption) (*plan.Set, error) {
	var list v1alpha1.HookPolicyList
	opts = append(opts, client.InNamespace(namespace), client.UnsafeDisableDeepCopy) // only read here
	if err := c.List(ctx, &list, opts...); err != nil {
		return nil, fmt.Errorf("list the policies of the namespace: %w", err)
	}
	segments := make([]*plan.Segment, len(list.Items))
	for i := range list.Items {
		hp := &list.Items[i]
		segments[i] = &plan.Segment{
			Source:          plan.Source{Namespace: hp.Namespace, Name: hp.Name, Created: hp.CreationTimestamp.Time},
			ServiceAccounts: hp.Spec.Agents.ServiceAccounts,
		}
	}
	return plan.NewSet(nil, segments), nil
}

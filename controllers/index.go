package controllers

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
)

// The indices of HookPolicies in the cache.
const (
	// indexCaller finds policies by a ServiceAccount that they select, and those
	// that select all of a namespace by anyCaller. To be used with a namespace.
	indexCaller = "hookpolicy.callers"
	// indexService finds policies by the service that they bind to.
	indexService = "hookpolicy.service"
	// indexPending finds those of them that wait for the service's replicas.
	indexPending = "hookpolicy.pending"
)

// anyCaller stands in indexCaller for every ServiceAccount of a namespace. It is
// the name of none.
const anyCaller = "*"

// An indexer is one index: its name, and the keys of an object in it.
type indexer struct {
	field   string
	extract client.IndexerFunc
}

// indexers are the indices of HookPolicies. Default is the service of policies
// that name none.
func indexers(def types.NamespacedName) []indexer {
	return []indexer{
		{indexCaller, func(o client.Object) []string { return callersOf(o.(*v1alpha1.HookPolicy)) }},
		{indexService, func(o client.Object) []string {
			return []string{serviceOf(o.(*v1alpha1.HookPolicy), def).String()}
		}},
		{indexPending, func(o client.Object) []string {
			hp := o.(*v1alpha1.HookPolicy)
			if !isPending(hp.Generation, &hp.Status) {
				return nil
			}
			return []string{serviceOf(hp, def).String()}
		}},
	}
}

// addIndices registers the indices.
func addIndices(ctx context.Context, to client.FieldIndexer, def types.NamespacedName) error {
	for _, i := range indexers(def) {
		if err := to.IndexField(ctx, &v1alpha1.HookPolicy{}, i.field, i.extract); err != nil {
			return fmt.Errorf("add the index %s: %w", i.field, err)
		}
	}
	return nil
}

// callersOf are the keys of the callers that a policy selects.
func callersOf(hp *v1alpha1.HookPolicy) []string {
	if accounts := hp.Spec.Agents.ServiceAccounts; len(accounts) > 0 {
		return accounts
	}
	return []string{anyCaller}
}

// serviceOf is the service that a policy binds to: one of its own namespace, or
// the default.
func serviceOf(hp *v1alpha1.HookPolicy, def types.NamespacedName) types.NamespacedName {
	if ref := hp.Spec.DecisionServiceRef; ref != nil {
		return types.NamespacedName{Namespace: hp.Namespace, Name: ref.Name}
	}
	return def
}

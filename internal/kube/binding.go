package kube

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
)

// A Binding says which policies one decision service decides by.
type Binding struct {
	// Service is the DecisionService that this replica belongs to.
	Service types.NamespacedName
	// Default is the cluster's default DecisionService: policies that name none
	// are bound to it. The zero value is none.
	Default types.NamespacedName
	// PlatformNamespace is where the platform's own services are. A service
	// anywhere else serves its own namespace only, whatever the rest says.
	PlatformNamespace string
	// Namespaces are those whose policies a service of the platform takes beside
	// its own; with AllNamespaces, every one.
	AllNamespaces bool
	Namespaces    []string
	// DataPaths are where the service's data volumes are mounted: the roots that
	// it sees.
	DataPaths []string
}

// ofPlatform reports whether the service is the platform's.
func (b *Binding) ofPlatform() bool {
	return b.PlatformNamespace != "" && b.Service.Namespace == b.PlatformNamespace
}

// scope is the namespace whose HookPolicies the service needs to know, empty
// for all of them.
func (b *Binding) scope() string {
	others := slices.ContainsFunc(b.Namespaces, func(n string) bool { return n != b.Service.Namespace })
	if b.ofPlatform() && (b.AllNamespaces || others) {
		return ""
	}
	return b.Service.Namespace
}

// decides reports whether a HookPolicy of a namespace is decided here.
func (b *Binding) decides(namespace string, ref *v1alpha1.DecisionServiceRef) bool {
	to := b.Default
	if ref != nil {
		to = types.NamespacedName{Namespace: namespace, Name: ref.Name}
	}
	return to == b.Service && b.takes(namespace)
}

func (b *Binding) takes(namespace string) bool {
	if namespace == b.Service.Namespace {
		return true
	}
	return b.ofPlatform() && (b.AllNamespaces || slices.Contains(b.Namespaces, namespace))
}

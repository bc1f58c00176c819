package render

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
)

// portName is the name of the decision API's port.
const portName = "https"

func (r *renderer) service() *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(r.name(), r.ds.Namespace).
		WithLabels(r.labels()).WithOwnerReferences(r.owner).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceTypeClusterIP).
			WithSelector(contract.SelectorLabels(r.ds.Name)).
			WithPorts(servicePort(contract.PortService)))
}

// headless gives each replica a name of its own.
func (r *renderer) headless() *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(contract.HeadlessName(r.ds.Name), r.ds.Namespace).
		WithLabels(r.labels()).WithOwnerReferences(r.owner).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceTypeClusterIP).
			WithClusterIP(corev1.ClusterIPNone).
			WithSelector(contract.SelectorLabels(r.ds.Name)).
			WithPorts(servicePort(contract.PortReplica)))
}

func servicePort(port int32) *corev1ac.ServicePortApplyConfiguration {
	return corev1ac.ServicePort().WithName(portName).WithProtocol(corev1.ProtocolTCP).
		WithPort(port).WithTargetPort(intstr.FromString(portName))
}

func (r *renderer) disruption() *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	return policyv1ac.PodDisruptionBudget(r.name(), r.ds.Namespace).
		WithLabels(r.labels()).WithOwnerReferences(r.owner).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithMaxUnavailable(intstr.FromInt32(1)).
			WithSelector(r.selector()))
}

// networkPolicy lets in callers of the namespaces that may bind, and lets out
// questions to DNS and to the API server. The last two have no selector that
// holds in every cluster: DNS may run on the node, the API server outside. So
// these are bounded by their ports.
func (r *renderer) networkPolicy() *networkingv1ac.NetworkPolicyApplyConfiguration {
	return networkingv1ac.NetworkPolicy(r.name(), r.ds.Namespace).
		WithLabels(r.labels()).WithOwnerReferences(r.owner).
		WithSpec(networkingv1ac.NetworkPolicySpec().
			WithPodSelector(r.selector()).
			WithPolicyTypes(networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress).
			WithIngress(networkingv1ac.NetworkPolicyIngressRule().
				WithPorts(policyPort(corev1.ProtocolTCP, contract.PortReplica)).
				WithFrom(r.callers())).
			WithEgress(
				networkingv1ac.NetworkPolicyEgressRule().
					WithPorts(policyPort(corev1.ProtocolUDP, 53), policyPort(corev1.ProtocolTCP, 53)),
				networkingv1ac.NetworkPolicyEgressRule().
					WithPorts(r.apiServerPorts()...),
			))
}

// callers are the pods that may connect: those of the namespaces that may bind.
func (r *renderer) callers() *networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	peer := networkingv1ac.NetworkPolicyPeer()
	switch all, names := r.Serves(r.ds); {
	case all:
		return peer.WithNamespaceSelector(metav1ac.LabelSelector())
	case len(names) == 1 && names[0] == r.ds.Namespace:
		return peer.WithPodSelector(metav1ac.LabelSelector())
	default:
		return peer.WithNamespaceSelector(metav1ac.LabelSelector().WithMatchExpressions(
			metav1ac.LabelSelectorRequirement().
				WithKey(corev1.LabelMetadataName).WithOperator(metav1.LabelSelectorOpIn).WithValues(names...)))
	}
}

func (r *renderer) apiServerPorts() []*networkingv1ac.NetworkPolicyPortApplyConfiguration {
	ports := r.APIServerPorts
	if len(ports) == 0 {
		ports = []int32{443, 6443}
	}
	var all []*networkingv1ac.NetworkPolicyPortApplyConfiguration
	for _, p := range ports {
		all = append(all, policyPort(corev1.ProtocolTCP, p))
	}
	return all
}

func policyPort(protocol corev1.Protocol, port int32) *networkingv1ac.NetworkPolicyPortApplyConfiguration {
	return networkingv1ac.NetworkPolicyPort().WithProtocol(protocol).WithPort(intstr.FromInt32(port))
}

// Serves says which namespaces may bind to a service: all of them, or those
// named, sorted. Its own is always among them. A service outside the platform's
// namespace serves its own only, whatever it asks for.
func (o Options) Serves(ds *v1alpha1.DecisionService) (all bool, names []string) {
	allowed := ds.Spec.AllowedNamespaces
	if o.TrustOf(ds.Namespace) != v1alpha1.TrustPlatform {
		return false, []string{ds.Namespace}
	}
	switch allowed.From {
	case v1alpha1.BindFromAll:
		return true, nil
	case v1alpha1.BindFromNames:
		names = append(slices.Clone(allowed.Names), ds.Namespace)
		slices.Sort(names)
		return false, slices.Compact(names)
	default:
		return false, []string{ds.Namespace}
	}
}

// MayBind reports whether the policies of a namespace may bind to a service.
func (o Options) MayBind(ds *v1alpha1.DecisionService, namespace string) bool {
	all, names := o.Serves(ds)
	return all || slices.Contains(names, namespace)
}

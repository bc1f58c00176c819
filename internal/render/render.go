// Package render turns a DecisionService into what it is made of, as apply
// configurations for server-side apply.
//
// It is pure: the same service, the same options, the same children. Image,
// arguments and pod identity come from Options, so from the manager, never from
// the object. Everything but the volume claims has the service as its owner
// and goes with it; claims hold evidence and stay.
package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	v1alpha1ac "github.com/hookpolicy/hookpolicy/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
)

// Options are what the manager says about every service.
type Options struct {
	// Image is the image of the replicas; required.
	Image string
	// PullPolicy is when it is pulled; empty leaves it to the cluster.
	PullPolicy corev1.PullPolicy
	// PullSecrets are the Secrets, in the namespace of each service, with which it
	// is pulled.
	PullSecrets []string
	// PlatformNamespace is where the platform's own services are; required.
	PlatformNamespace string
	// DefaultService is the service of policies that name none; may be empty.
	DefaultService types.NamespacedName
	// APIServerPorts are the ports at which pods reach the API server. Empty:
	// 443 and 6443.
	APIServerPorts []int32
}

// TrustOf says whom a service of a namespace guards against.
func (o Options) TrustOf(namespace string) v1alpha1.Trust {
	if namespace != "" && namespace == o.PlatformNamespace {
		return v1alpha1.TrustPlatform
	}
	return v1alpha1.TrustTenant
}

// Children are what a service is made of, but for its serving certificate.
type Children struct {
	ServiceAccount *corev1ac.ServiceAccountApplyConfiguration
	Role           *rbacv1ac.RoleApplyConfiguration
	RoleBinding    *rbacv1ac.RoleBindingApplyConfiguration
	Approvals      *rbacv1ac.RoleBindingApplyConfiguration
	Service        *corev1ac.ServiceApplyConfiguration
	Headless       *corev1ac.ServiceApplyConfiguration
	Disruption     *policyv1ac.PodDisruptionBudgetApplyConfiguration
	NetworkPolicy  *networkingv1ac.NetworkPolicyApplyConfiguration
	Replicas       []*v1alpha1ac.DecisionReplicaApplyConfiguration
	StatefulSet    *appsv1ac.StatefulSetApplyConfiguration
	// Inputs is the digest that the StatefulSet carries as an annotation: it is
	// the one that was rendered here, or another one.
	Inputs string
	// ClaimSize is how large each claim is to be.
	ClaimSize resource.Quantity
}

// All returns the children in the order in which they are to be applied: what
// the pods need is there before them.
func (c *Children) All() []runtime.ApplyConfiguration {
	all := []runtime.ApplyConfiguration{c.ServiceAccount, c.Role, c.RoleBinding, c.Approvals, c.Service, c.Headless, c.Disruption, c.NetworkPolicy}
	for _, r := range c.Replicas {
		all = append(all, r)
	}
	return append(all, c.StatefulSet)
}

// Render returns what a service is made of. An error means that the spec cannot
// be carried out; its text names the field and is fit for a status.
func Render(ds *v1alpha1.DecisionService, o Options) (*Children, error) {
	r := &renderer{ds: ds, Options: o, owner: owner(ds)}
	size, err := claimSize(ds)
	if err != nil {
		return nil, err
	}
	c := &Children{
		ServiceAccount: r.serviceAccount(),
		Role:           r.role(),
		RoleBinding:    r.roleBinding(),
		Approvals:      r.approvalsBinding(),
		Service:        r.service(),
		Headless:       r.headless(),
		Disruption:     r.disruption(),
		NetworkPolicy:  r.networkPolicy(),
		Replicas:       r.replicas(),
		StatefulSet:    r.statefulSet(size),
		ClaimSize:      size,
	}
	c.Inputs = digest(c.StatefulSet)
	c.StatefulSet.WithAnnotations(map[string]string{contract.AnnotationInputs: c.Inputs})
	return c, nil
}

// A renderer makes the children of one service.
type renderer struct {
	Options
	ds    *v1alpha1.DecisionService
	owner *metav1ac.OwnerReferenceApplyConfiguration
}

func (r *renderer) name() string              { return contract.ChildName(r.ds.Name) }
func (r *renderer) labels() map[string]string { return contract.Labels(r.ds.Name) }

func (r *renderer) selector() *metav1ac.LabelSelectorApplyConfiguration {
	return metav1ac.LabelSelector().WithMatchLabels(contract.SelectorLabels(r.ds.Name))
}

// owner makes what it stands on die with the service, and not before.
func owner(ds *v1alpha1.DecisionService) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(v1alpha1.SchemeGroupVersion.String()).WithKind(v1alpha1.KindDecisionService).
		WithName(ds.Name).WithUID(ds.UID).
		WithController(true).WithBlockOwnerDeletion(true)
}

// The defaults of the schema, for objects that did not pass through it.
const (
	defaultReplicas  = 1
	defaultClaimSize = "10Gi"
)

// ReplicaCount is how many replicas the service is to have.
func ReplicaCount(ds *v1alpha1.DecisionService) int32 {
	return max(ds.Spec.Replicas, defaultReplicas)
}

func claimSize(ds *v1alpha1.DecisionService) (resource.Quantity, error) {
	text := ds.Spec.Audit.Size
	if text == "" {
		text = defaultClaimSize
	}
	size, err := resource.ParseQuantity(text)
	if err != nil || size.Sign() <= 0 {
		return size, fmt.Errorf("spec.audit.size: %q is no size: write it as 10Gi", text)
	}
	return size, nil
}

// digest names what an apply configuration asks for.
func digest(child any) string {
	b, err := json.Marshal(child)
	if err != nil {
		// Impossible: apply configurations are made to be marshalled.
		panic(fmt.Sprintf("render: marshal %T: %v", child, err))
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

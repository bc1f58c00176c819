package render

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	v1alpha1ac "github.com/hookpolicy/hookpolicy/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/certs"
	"github.com/hookpolicy/hookpolicy/internal/contract"
)

// serviceAccount is who the replicas are. Its token is mounted by the pod
// template, with an expiry, and by nobody else.
func (r *renderer) serviceAccount() *corev1ac.ServiceAccountApplyConfiguration {
	return corev1ac.ServiceAccount(r.name(), r.ds.Namespace).
		WithLabels(r.labels()).WithOwnerReferences(r.owner).
		WithAutomountServiceAccountToken(false)
}

// role lets the replicas watch the policies of their own namespace and report
// what they have in force. What services may do in the whole cluster stands in
// the ClusterRoles that the manager binds.
func (r *renderer) role() *rbacv1ac.RoleApplyConfiguration {
	var names []string
	for i := range ReplicaCount(r.ds) {
		names = append(names, contract.ReplicaName(r.ds.Name, i))
	}
	rule := func(resource string, verbs ...string) *rbacv1ac.PolicyRuleApplyConfiguration {
		return rbacv1ac.PolicyRule().WithAPIGroups(v1alpha1.Group).WithResources(resource).WithVerbs(verbs...)
	}
	return rbacv1ac.Role(r.name(), r.ds.Namespace).
		WithLabels(r.labels()).WithOwnerReferences(r.owner).
		WithRules(
			rule("hookpolicies", "list", "watch"),
			rule("decisionreplicas/status", "patch").WithResourceNames(names...),
		)
}

func (r *renderer) roleBinding() *rbacv1ac.RoleBindingApplyConfiguration {
	return rbacv1ac.RoleBinding(r.name(), r.ds.Namespace).
		WithLabels(r.labels()).WithOwnerReferences(r.owner).
		WithRoleRef(rbacv1ac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("Role").WithName(r.name())).
		WithSubjects(rbacv1ac.Subject().WithKind(rbacv1.ServiceAccountKind).WithName(r.name()).WithNamespace(r.ds.Namespace))
}

// approvalsBinding lets the replicas hold calls of their own namespace.
func (r *renderer) approvalsBinding() *rbacv1ac.RoleBindingApplyConfiguration {
	return rbacv1ac.RoleBinding(r.name()+"-approvals", r.ds.Namespace).
		WithLabels(r.labels()).WithOwnerReferences(r.owner).
		WithRoleRef(rbacv1ac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("ClusterRole").WithName(contract.RoleApprovals)).
		WithSubjects(rbacv1ac.Subject().WithKind(rbacv1.ServiceAccountKind).WithName(r.name()).WithNamespace(r.ds.Namespace))
}

// replicas are the objects in which each replica reports. Their status is the
// replicas' to write.
func (r *renderer) replicas() []*v1alpha1ac.DecisionReplicaApplyConfiguration {
	var all []*v1alpha1ac.DecisionReplicaApplyConfiguration
	for i := range ReplicaCount(r.ds) {
		all = append(all, v1alpha1ac.DecisionReplica(contract.ReplicaName(r.ds.Name, i), r.ds.Namespace).
			WithLabels(r.labels()).WithOwnerReferences(r.owner).
			WithSpec(v1alpha1ac.DecisionReplicaSpec().WithServiceName(r.ds.Name)))
	}
	return all
}

// ServingSecret is the Secret with a serving certificate that the manager
// issued.
func ServingSecret(ds *v1alpha1.DecisionService, p *certs.Pair) *corev1ac.SecretApplyConfiguration {
	return corev1ac.Secret(contract.ServingSecret(ds.Name), ds.Namespace).
		WithLabels(contract.Labels(ds.Name)).WithOwnerReferences(owner(ds)).
		WithType(corev1.SecretTypeTLS).
		WithData(map[string][]byte{corev1.TLSCertKey: p.CertPEM, corev1.TLSPrivateKeyKey: p.KeyPEM})
}

// BindingSecret is the Secret with the key that the replicas share. It cannot be
// changed: another key would void every approval.
func BindingSecret(ds *v1alpha1.DecisionService, key []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ds.Namespace, Name: contract.BindingSecret(ds.Name), Labels: contract.Labels(ds.Name),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(ds, v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.KindDecisionService))},
		},
		Immutable: new(true),
		Data:      map[string][]byte{contract.BindingKey: key},
	}
}

// ServingNames are the DNS names that a serving certificate is for: the
// service's, then each replica's.
func ServingNames(ds *v1alpha1.DecisionService) []string {
	names := []string{contract.Host(ds.Namespace, ds.Name)}
	for i := range ReplicaCount(ds) {
		names = append(names, contract.ReplicaName(ds.Name, i)+"."+contract.HeadlessName(ds.Name)+"."+ds.Namespace+".svc")
	}
	return names
}

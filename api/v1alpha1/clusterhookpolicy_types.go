package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterHookPolicySpec says what the platform decides about every call, before
// any tenant's policy. It always enforces, and consent to what it asks is
// always a person's.
type ClusterHookPolicySpec struct {
	// priority orders ClusterHookPolicies, lower first; equal ones run in the
	// order of their names.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=-1000000
	// +kubebuilder:validation:Maximum=1000000
	Priority int32 `json:"priority,omitempty"`

	// context holds facts about all callers that the platform vouches for.
	// +optional
	Context Context `json:"context,omitzero"`

	// hooks look at each call, in this order. A path allowlist must name its
	// roots here, for a cluster policy has no namespace that could supply them.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="size(self) > 0",message="hooks must not be an empty list: delete the policy instead"
	// +kubebuilder:validation:XValidation:rule="self.all(h, self.exists_one(g, g.name == h.name))",message="the names of hooks must be unique"
	Hooks []Hook `json:"hooks,omitempty"`

	// approvals are the settings of calls that this policy holds for a person.
	// +optional
	Approvals ApprovalTerms `json:"approvals,omitzero"`

	// audit are the settings of what is recorded about every call.
	// +optional
	Audit ClusterAudit `json:"audit,omitzero"`
}

// ClusterHookPolicy is a part of the platform's baseline: its hooks run before
// those of every HookPolicy, also for callers that no HookPolicy governs, and
// no tenant can weaken them.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=chp,categories=hookpolicy-all
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Programmed",type=string,JSONPath=`.status.conditions[?(@.type=="Programmed")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterHookPolicy struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the platform wants.
	// +required
	Spec ClusterHookPolicySpec `json:"spec"`

	// status is what the cluster made of it.
	// +optional
	Status PolicyStatus `json:"status,omitzero"`
}

// ClusterHookPolicyList is a list of ClusterHookPolicies.
// +kubebuilder:object:root=true
type ClusterHookPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is standard list metadata.
	metav1.ListMeta `json:"metadata,omitzero"`
	// items are the policies.
	Items []ClusterHookPolicy `json:"items"`
}

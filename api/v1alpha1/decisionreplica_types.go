package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DecisionReplicaSpec says whose replica this is. It cannot be changed.
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a DecisionReplica cannot be changed"
type DecisionReplicaSpec struct {
	// serviceName is the DecisionService, in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServiceName string `json:"serviceName,omitempty"`
}

// MaxRejected is how many rejected policies a replica names: the first by
// namespace and name, those without a namespace before all others.
const MaxRejected = 100

// RejectedPolicy is a policy that a replica could not take over.
type RejectedPolicy struct {
	// namespace of the policy; empty for a ClusterHookPolicy.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// name of the policy.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// generation that was rejected.
	// +required
	// +kubebuilder:validation:Minimum=0
	Generation int64 `json:"generation,omitempty"`
}

// ReachedVersions are how far a replica has read: the resource version of the
// latest event that is in force, by kind.
type ReachedVersions struct {
	// hookPolicies is the version of the HookPolicies.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	HookPolicies string `json:"hookPolicies,omitempty"`

	// clusterHookPolicies is the version of the ClusterHookPolicies.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ClusterHookPolicies string `json:"clusterHookPolicies,omitempty"`
}

// VotesGuard says whether the API server refuses forged votes.
// +kubebuilder:validation:Enum=Guarded;Unguarded
type VotesGuard string

// The findings of a replica that tried to forge a vote.
const (
	// VotesGuarded: it was refused.
	VotesGuarded VotesGuard = "Guarded"
	// VotesUnguarded: it was taken. No vote is counted then.
	VotesUnguarded VotesGuard = "Unguarded"
)

// DecisionReplicaStatus is what one replica has in force. The replica writes
// it: on change, and once a second at most, whatever the number of policies.
type DecisionReplicaStatus struct {
	// reached is how far the replica has read.
	// +optional
	Reached ReachedVersions `json:"reached,omitzero"`

	// setDigest names everything that the replica has in force.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	SetDigest string `json:"setDigest,omitempty"`

	// policies is how many policies are in force.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Policies int32 `json:"policies,omitempty"`

	// rejected are policies whose latest generation could not be taken over, the
	// first hundred of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Rejected []RejectedPolicy `json:"rejected,omitempty"`

	// votes says whether the API server refuses forged votes, as the replica found
	// when it last tried to cast one.
	// +optional
	Votes VotesGuard `json:"votes,omitempty"`

	// startedAt is when the replica's process began.
	// +optional
	StartedAt metav1.Time `json:"startedAt,omitzero"`
}

// DecisionReplica is what one replica of a DecisionService has in force. Its
// name is the replica's pod's.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=dr,categories=hookpolicy-all
// +kubebuilder:printcolumn:name="Service",type=string,JSONPath=`.spec.serviceName`
// +kubebuilder:printcolumn:name="Policies",type=integer,JSONPath=`.status.policies`
// +kubebuilder:printcolumn:name="Digest",type=string,JSONPath=`.status.setDigest`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DecisionReplica struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says whose replica it is.
	// +required
	Spec DecisionReplicaSpec `json:"spec"`

	// status is what the replica has in force.
	// +optional
	Status DecisionReplicaStatus `json:"status,omitzero"`
}

// DecisionReplicaList is a list of DecisionReplicas.
// +kubebuilder:object:root=true
type DecisionReplicaList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is standard list metadata.
	metav1.ListMeta `json:"metadata,omitzero"`
	// items are the replicas.
	Items []DecisionReplica `json:"items"`
}

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The conditions of a policy.
const (
	// ConditionAccepted is True when the policy compiles and may bind to its
	// decision service, and False when not. The message of one that does not
	// compile names the hooks and fields that are wrong, and the last good version
	// of the policy stays in force. Of others, Programmed says what becomes.
	ConditionAccepted = "Accepted"
	// ConditionProgrammed is True when the observed generation is in force on
	// every live replica of the decision service, and False before that.
	ConditionProgrammed = "Programmed"
	// ConditionConflicted is True when another policy governs some of the callers
	// that this one selects; the message lists them. It is False when none does.
	ConditionConflicted = "Conflicted"
)

// The reasons of ConditionAccepted.
const (
	// ReasonAccepted: the policy compiles.
	ReasonAccepted = "Accepted"
	// ReasonInvalid: the spec holds something that cannot be compiled.
	ReasonInvalid = "Invalid"
	// ReasonRootNotVisible: the decision service is to resolve paths beneath a
	// root that it cannot see.
	ReasonRootNotVisible = "RootNotVisible"
	// ReasonServiceNotFound: the policy names a DecisionService that is not there.
	ReasonServiceNotFound = "ServiceNotFound"
	// ReasonNotAllowed: the DecisionService takes no policies of this namespace.
	ReasonNotAllowed = "NotAllowed"
)

// The reasons of ConditionProgrammed.
const (
	// ReasonProgrammed: every live replica decides by the observed generation.
	ReasonProgrammed = "Programmed"
	// ReasonPending: some replica has not reached the observed generation yet.
	ReasonPending = "Pending"
	// ReasonNotAccepted: the observed generation is not accepted; the message says
	// what becomes of the calls that it governs.
	ReasonNotAccepted = "NotAccepted"
)

// The reasons of ConditionConflicted.
const (
	// ReasonNoConflict: the policy governs every caller that it selects.
	ReasonNoConflict = "NoConflict"
	// ReasonCallersLost: a policy that takes precedence governs some callers.
	ReasonCallersLost = "CallersLost"
)

// PolicyStatus is what the cluster made of a policy.
type PolicyStatus struct {
	// observedGeneration is the generation of the spec that the conditions speak of.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// digest names what the observed generation means once it is compiled. The
	// replicas compile it themselves and come to the same.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	Digest string `json:"digest,omitempty"`

	// conditions are the latest observations: Accepted, Programmed, Conflicted.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

package v1alpha1

// Context holds facts about callers that come from the policy, not from them.
type Context struct {
	// environment is where the callers work, such as production.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Environment string `json:"environment,omitempty"`

	// projectKind is what they work on, such as finance.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ProjectKind string `json:"projectKind,omitempty"`

	// branch is the branch of the project's source that they work on.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Branch string `json:"branch,omitempty"`
}

// Consent says whose word lets a held call pass.
// +kubebuilder:validation:Enum=Human;Agent
type Consent string

// The kinds of consent.
const (
	// ConsentHuman: a person approves this very call.
	ConsentHuman Consent = "Human"
	// ConsentAgent: the agent repeats the call with confirm_destructive. A model
	// can write that by itself, so the policy carries a warning.
	ConsentAgent Consent = "Agent"
)

// Approvals are the settings of calls that a HookPolicy holds.
type Approvals struct {
	// consent says whose word lets a held call pass: Human for a person's
	// approval of this very call, Agent for a repetition with
	// confirm_destructive, which the model can write by itself.
	// +optional
	// +kubebuilder:default=Human
	Consent Consent `json:"consent,omitempty"`

	ApprovalTerms `json:",inline"`
}

// ApprovalTerms say how long a held call waits, and for how many people.
type ApprovalTerms struct {
	// timeoutSeconds say how long a call is held; one that nobody decided by then
	// is denied.
	// +optional
	TimeoutSeconds ApprovalTimeouts `json:"timeoutSeconds,omitzero"`

	// useWithinSeconds is how long an approval can be used once it was given.
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	UseWithinSeconds int32 `json:"useWithinSeconds,omitempty"`

	// approvers say how many people must agree.
	// +optional
	Approvers Approvers `json:"approvers,omitzero"`

	// maxPending is how many calls of one caller are held at the same time; more
	// are denied.
	// +optional
	// +kubebuilder:default=20
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxPending int32 `json:"maxPending,omitempty"`
}

// ApprovalTimeouts are times in seconds, one for each level of risk.
type ApprovalTimeouts struct {
	// high is the time for calls of high risk.
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	High int32 `json:"high,omitempty"`

	// medium is the time for calls of medium risk.
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	Medium int32 `json:"medium,omitempty"`
}

// Approvers say who must agree to a held call.
type Approvers struct {
	// minimum is how many different people must agree.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	Minimum int32 `json:"minimum,omitempty"`
}

// OnFailure answers a call whose decision cannot be recorded.
// +kubebuilder:validation:Enum=Deny;Allow
type OnFailure string

// The answers to a call that cannot be recorded.
const (
	OnFailureDeny  OnFailure = "Deny"
	OnFailureAllow OnFailure = "Allow"
)

// Audit are the settings of a HookPolicy's audit chain.
type Audit struct {
	// onFailure answers a call whose decision cannot be recorded.
	// +optional
	// +kubebuilder:default=Deny
	OnFailure OnFailure `json:"onFailure,omitempty"`

	ClusterAudit `json:",inline"`
}

// ClusterAudit are the settings that every policy has for what is recorded.
type ClusterAudit struct {
	// redact names what is never written down, beyond what never is anyway.
	// +optional
	Redact Redact `json:"redact,omitzero"`
}

// Redact names what is never written down.
type Redact struct {
	// keys are names of arguments, at any depth, whose values are never recorded.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Keys []string `json:"keys,omitempty"`
}

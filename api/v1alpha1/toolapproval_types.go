package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// VerbApprove is the verb on a HookPolicy or ClusterHookPolicy that lets a
// person decide calls held under it. VerbHold is the verb on ToolApprovals that
// makes a ServiceAccount a decision service.
const (
	VerbApprove = "approve"
	VerbHold    = "hold"
)

// VoteDecision is a person's word on a held call.
// +kubebuilder:validation:Enum=Approve;Reject
type VoteDecision string

// The words of people.
const (
	VoteApprove VoteDecision = "Approve"
	VoteReject  VoteDecision = "Reject"
)

// ApprovalState is where a held call stands.
// +kubebuilder:validation:Enum=Approved;Rejected;TimedOut;Used;Expired;Voided
type ApprovalState string

// The states of a held call. No state means that it waits for people.
const (
	// ApprovalApproved: enough people agreed; the call passes once.
	ApprovalApproved ApprovalState = "Approved"
	// ApprovalRejected: somebody refused.
	ApprovalRejected ApprovalState = "Rejected"
	// ApprovalTimedOut: nobody decided in time.
	ApprovalTimedOut ApprovalState = "TimedOut"
	// ApprovalUsed: the call has passed.
	ApprovalUsed ApprovalState = "Used"
	// ApprovalExpired: approved, but not used in time.
	ApprovalExpired ApprovalState = "Expired"
	// ApprovalVoided: its policy changed or went away.
	ApprovalVoided ApprovalState = "Voided"
)

// ApprovalPolicy names the policy whose hooks hold a call.
type ApprovalPolicy struct {
	// kind of the policy.
	// +required
	// +kubebuilder:validation:Enum=HookPolicy;ClusterHookPolicy
	Kind string `json:"kind,omitempty"`

	// name of the policy. A HookPolicy is in the namespace of the ToolApproval.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// ApprovalAsk is one hook's wish that a person decides.
type ApprovalAsk struct {
	// hook that asks: its policy's name, with the namespace before it if it has
	// one, and its own, with slashes between.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Hook string `json:"hook,omitempty"`

	// rule is the hook's rule that asks, such as sql.class.destructive.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Rule string `json:"rule,omitempty"`
}

// ApprovalRequest is the held call, and the terms on which it was held. It is
// frozen: nothing that happens later loosens it.
type ApprovalRequest struct {
	// prompt says in one sentence what will happen.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Prompt string `json:"prompt,omitempty"`

	// details are what else is to be known: where, what it touches, why it asks.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=16384
	Details []string `json:"details,omitempty"`

	// risk of the call.
	// +required
	// +kubebuilder:validation:Enum=Low;Medium;High
	Risk string `json:"risk,omitempty"`

	// riskReasons say why the risk is what it is.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=1024
	RiskReasons []string `json:"riskReasons,omitempty"`

	// tool that is called.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Tool string `json:"tool,omitempty"`

	// args are the arguments that the tool would run with, redacted.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Args *runtime.RawExtension `json:"args,omitempty"`

	// requester is the user name of who made the call.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Requester string `json:"requester,omitempty"`

	// session that the caller named.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Session string `json:"session,omitempty"`

	// policies are those whose hooks ask. Who decides needs the verb approve on
	// each of them. Eight: admission looks each of them up for every vote, and
	// what it may spend is bounded.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Policies []ApprovalPolicy `json:"policies,omitempty"`

	// asks are the hooks that want a person to decide.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Asks []ApprovalAsk `json:"asks,omitempty"`

	// policyName is the policy that governs the caller, as namespace/name, and as
	// the audit names it where only the baseline does.
	// +optional
	// +kubebuilder:validation:MaxLength=320
	PolicyName string `json:"policyName,omitempty"`

	// policyUID is that policy's uid.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	PolicyUID string `json:"policyUID,omitempty"`

	// policyGeneration is that policy's generation.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PolicyGeneration int64 `json:"policyGeneration,omitempty"`

	// chainDigest names everything that was in force for the caller.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	ChainDigest string `json:"chainDigest,omitempty"`

	// digest binds the approval to this very call; it says nothing about the
	// arguments to whoever lacks the service's key.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest,omitempty"`

	// decisionID is the decision that held the call, as the audit has it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	DecisionID string `json:"decisionID,omitempty"`

	// service is the DecisionService that decides, as namespace/name.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=320
	Service string `json:"service,omitempty"`

	// replica is the replica that holds the call.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Replica string `json:"replica,omitempty"`

	// heldAt is when the call was held.
	// +required
	HeldAt metav1.MicroTime `json:"heldAt,omitzero"`

	// decideBy is the end of the time to decide: then the call is refused.
	// +required
	DecideBy metav1.MicroTime `json:"decideBy,omitzero"`

	// useWithinSeconds is how long the agent has to use an approval.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	UseWithinSeconds int32 `json:"useWithinSeconds,omitempty"`

	// consent says whose word counts, as the asking policies had it.
	// +required
	Consent Consent `json:"consent,omitempty"`

	// minimumApprovers is how many different people must agree.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	MinimumApprovers int32 `json:"minimumApprovers,omitempty"`
}

// ToolApprovalVote is one person's word.
type ToolApprovalVote struct {
	// user is the voter's own user name; admission refuses any other.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	User string `json:"user,omitempty"`

	// decision is the voter's word.
	// +required
	Decision VoteDecision `json:"decision,omitempty"`

	// reason is why, for the record.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`
}

// ToolApprovalSpec is a held call, and what people say of it.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.votes) || has(self.votes)",message="votes cannot be removed"
type ToolApprovalSpec struct {
	// request is the held call.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a held call cannot be changed"
	Request ApprovalRequest `json:"request,omitzero"`

	// votes are what people say. Add yours with a JSON Patch, or with kubectl
	// hookpolicy approve and reject; nobody changes or removes one.
	// +optional
	// +listType=map
	// +listMapKey=user
	// +kubebuilder:default={}
	// +kubebuilder:validation:MaxItems=16
	Votes []ToolApprovalVote `json:"votes,omitempty"`
}

// ApprovalUse says which decision spent an approval.
type ApprovalUse struct {
	// decisionID is the decision, as the audit has it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	DecisionID string `json:"decisionID,omitempty"`

	// replica that made the decision.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Replica string `json:"replica,omitempty"`

	// at is when.
	// +required
	At metav1.MicroTime `json:"at,omitzero"`
}

// CountedVote is a vote that the decision service has counted and recorded.
type CountedVote struct {
	// user whose vote it is: a voter, or the requester where its own word counts.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	User string `json:"user,omitempty"`

	// at is when it was counted.
	// +required
	At metav1.MicroTime `json:"at,omitzero"`
}

// ToolApprovalStatus is what the decision service made of the votes.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.revision) || (has(self.revision) && self.revision >= oldSelf.revision)",message="the revision only grows"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.usedBy) || (has(self.usedBy) && self.usedBy == oldSelf.usedBy)",message="an approval is used once"
// +kubebuilder:validation:XValidation:rule="has(self.usedBy) == (has(self.state) && self.state == 'Used')",message="usedBy and the state Used come together"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.state) || has(self.state)",message="a state cannot be removed"
type ToolApprovalStatus struct {
	// revision counts the decision service's writes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Revision int64 `json:"revision,omitempty"`

	// counted are the votes that count, in the order in which they were counted.
	// +optional
	// +listType=map
	// +listMapKey=user
	// +kubebuilder:validation:MaxItems=17
	Counted []CountedVote `json:"counted,omitempty"`

	// state is where the held call stands; none means that it waits for people.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf || (oldSelf == 'Approved' && self in ['Used', 'Expired', 'Voided'])",message="what is decided stays decided"
	State ApprovalState `json:"state,omitempty"`

	// settledAt is when people, time or a changed policy had decided.
	// +optional
	SettledAt metav1.MicroTime `json:"settledAt,omitzero"`

	// endedAt is when nothing could follow any more.
	// +optional
	EndedAt metav1.MicroTime `json:"endedAt,omitzero"`

	// usedBy is the decision that let the call pass.
	// +optional
	UsedBy *ApprovalUse `json:"usedBy,omitempty"`
}

// ToolApproval is one call that a person must approve before it runs. Decision
// services make it, people vote on it.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=ta,categories=hookpolicy-all
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Risk",type=string,JSONPath=`.spec.request.risk`
// +kubebuilder:printcolumn:name="Tool",type=string,JSONPath=`.spec.request.tool`
// +kubebuilder:printcolumn:name="Prompt",type=string,JSONPath=`.spec.request.prompt`
// +kubebuilder:printcolumn:name="Requester",type=string,JSONPath=`.spec.request.requester`,priority=1
// +kubebuilder:printcolumn:name="Voters",type=string,JSONPath=`.spec.votes[*].user`,priority=1
// +kubebuilder:printcolumn:name="Decide-By",type=string,JSONPath=`.spec.request.decideBy`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.state) || (has(self.status) && has(self.status.state))",message="a state cannot be removed"
// +kubebuilder:validation:XValidation:rule="!has(self.status) || !has(self.status.state) || !(self.status.state in ['Approved', 'Used', 'Expired']) || self.spec.request.consent == 'Agent' || (has(self.spec.votes) && self.spec.votes.filter(v, v.decision == 'Approve').size() >= self.spec.request.minimumApprovers && !self.spec.votes.exists(v, v.decision == 'Reject'))",message="approved needs the votes for it"
type ToolApproval struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the held call and the votes on it.
	// +required
	Spec ToolApprovalSpec `json:"spec,omitzero"`

	// status is what the decision service made of it.
	// +optional
	Status ToolApprovalStatus `json:"status,omitzero"`
}

// ToolApprovalList is a list of ToolApprovals.
// +kubebuilder:object:root=true
type ToolApprovalList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is standard list metadata.
	metav1.ListMeta `json:"metadata,omitzero"`
	// items are the held calls.
	Items []ToolApproval `json:"items"`
}

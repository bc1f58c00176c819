package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Enforcement says what becomes of a policy's decisions.
// +kubebuilder:validation:Enum=Enforce;DryRun;Off
type Enforcement string

// The enforcement modes.
const (
	// EnforcementEnforce decides and means it.
	EnforcementEnforce Enforcement = "Enforce"
	// EnforcementDryRun decides and records, and answers Allow.
	EnforcementDryRun Enforcement = "DryRun"
	// EnforcementOff runs none of the policy's hooks; calls are still recorded.
	EnforcementOff Enforcement = "Off"
)

// UnlistedTools answers a call of a tool that no hook names.
// +kubebuilder:validation:Enum=Allow;Ask;Deny
type UnlistedTools string

// The answers to a call of an unlisted tool.
const (
	UnlistedToolsAllow UnlistedTools = "Allow"
	UnlistedToolsAsk   UnlistedTools = "Ask"
	UnlistedToolsDeny  UnlistedTools = "Deny"
)

// HookPolicySpec says which callers a policy governs and what is decided about
// their calls.
type HookPolicySpec struct {
	// enforcement says what becomes of the decisions: Enforce means them, DryRun
	// records them and answers Allow, Off runs no hook of this policy. The
	// platform's ClusterHookPolicies hold in every mode.
	// +optional
	// +kubebuilder:default=Enforce
	Enforcement Enforcement `json:"enforcement,omitempty"`

	// context holds facts about the callers that the policy's owner vouches for.
	// +optional
	Context Context `json:"context,omitzero"`

	// agents selects the callers that the policy governs. Omitted: every
	// ServiceAccount of the policy's namespace.
	// +optional
	Agents Agents `json:"agents,omitzero"`

	// decisionServiceRef names the DecisionService of this namespace that decides.
	// Omitted: the cluster's default one. Standalone, there is only one.
	// +optional
	DecisionServiceRef *DecisionServiceRef `json:"decisionServiceRef,omitempty"`

	// unlistedTools answers a call of a tool that no hook names.
	// +optional
	// +kubebuilder:default=Allow
	UnlistedTools UnlistedTools `json:"unlistedTools,omitempty"`

	// hooks look at each call, in this order. Omitted: the two built-in hooks
	// with their defaults, a path allowlist and a guard against destructive SQL.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="size(self) > 0",message="hooks must not be an empty list: leave it out for the built-in hooks, or set enforcement to Off"
	// +kubebuilder:validation:XValidation:rule="self.all(h, self.exists_one(g, g.name == h.name))",message="the names of hooks must be unique"
	Hooks []Hook `json:"hooks,omitempty"`

	// approvals are the settings of calls that are held for a person.
	// +optional
	Approvals Approvals `json:"approvals,omitzero"`

	// audit are the settings of the policy's audit chain.
	// +optional
	Audit Audit `json:"audit,omitzero"`
}

// DecisionServiceRef names a DecisionService in the policy's namespace.
type DecisionServiceRef struct {
	// name of the DecisionService.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// Agents selects callers in the policy's namespace.
type Agents struct {
	// serviceAccounts are the names of ServiceAccounts in the policy's namespace.
	// Omitted: all of them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a ServiceAccount: lower-case letters, digits, hyphens and dots"
	ServiceAccounts []string `json:"serviceAccounts,omitempty"`
}

// HookPolicy says what the agents of its namespace may do: each tool call is
// allowed, denied, held for a person or rewritten before it runs.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=hp,categories=hookpolicy-all
// +kubebuilder:printcolumn:name="Enforcement",type=string,JSONPath=`.spec.enforcement`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Programmed",type=string,JSONPath=`.status.conditions[?(@.type=="Programmed")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type HookPolicy struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the policy's owner wants.
	// +required
	Spec HookPolicySpec `json:"spec"`

	// status is what the cluster made of it.
	// +optional
	Status PolicyStatus `json:"status,omitzero"`
}

// HookPolicyList is a list of HookPolicies.
// +kubebuilder:object:root=true
type HookPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is standard list metadata.
	metav1.ListMeta `json:"metadata,omitzero"`
	// items are the policies.
	Items []HookPolicy `json:"items"`
}

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The conditions of a DecisionService.
const (
	// ConditionServiceAccepted is True when the spec can be carried out.
	ConditionServiceAccepted = "Accepted"
	// ConditionServiceProgrammed is True when everything that the service is
	// made of is as the observed generation wants it, and False before that.
	ConditionServiceProgrammed = "Programmed"
	// ConditionServiceReady is True when every replica decides, and False before.
	ConditionServiceReady = "Ready"
	// ConditionApprovalsEnforced is True when the API server refuses forged votes
	// on held calls, and False when it takes them: then no vote is counted, and
	// held calls stay held until their time is over. It is Unknown before any
	// replica has tried.
	ConditionApprovalsEnforced = "ApprovalsEnforced"
)

// The reasons of a DecisionService's conditions, beside those of policies.
const (
	// ReasonReplicasPending: some replica is not up or does not decide yet.
	ReasonReplicasPending = "ReplicasPending"
	// ReasonVotesGuarded: forged votes are refused.
	ReasonVotesGuarded = "VotesGuarded"
	// ReasonVotesUnguarded: forged votes are taken: the admission policies of the
	// chart are missing or changed.
	ReasonVotesUnguarded = "VotesUnguarded"
	// ReasonReady: every replica decides.
	ReasonReady = "Ready"
	// ReasonVolumeTooSmall: a volume is larger already than the spec wants it.
	ReasonVolumeTooSmall = "VolumeTooSmall"
	// ReasonVolumeNotGrown: the volume's class does not let it grow.
	ReasonVolumeNotGrown = "VolumeNotGrown"
)

// Trust says whom a decision service guards against.
// +kubebuilder:validation:Enum=Platform;Tenant
type Trust string

// The kinds of trust.
const (
	// TrustPlatform: the service is the platform's; tenants cannot reach into it.
	TrustPlatform Trust = "Platform"
	// TrustTenant: the service stands in a tenant's namespace; it guards against
	// that namespace's agents, not against its administrators.
	TrustTenant Trust = "Tenant"
)

// BindFrom says which namespaces' policies a decision service serves.
// +kubebuilder:validation:Enum=Same;All;Names
type BindFrom string

// The ways to choose namespaces.
const (
	BindFromSame  BindFrom = "Same"  // the service's own namespace only
	BindFromAll   BindFrom = "All"   // every namespace; the platform's service only
	BindFromNames BindFrom = "Names" // the namespaces listed; the platform's service only
)

// AllowedNamespaces chooses the namespaces whose policies may bind to a
// decision service.
// +kubebuilder:validation:XValidation:rule="(self.?from.orValue('Same') == 'Names') == (size(self.?names.orValue([])) > 0)",message="names go with from: Names, and from: Names needs them"
type AllowedNamespaces struct {
	// from says how namespaces are chosen: Same, All or Names.
	// +optional
	// +kubebuilder:default=Same
	From BindFrom `json:"from,omitempty"`

	// names are the namespaces, for from: Names.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Names []string `json:"names,omitempty"`
}

// AuditVolume is the claim that each replica keeps its audit chains on. It
// outlives the replica and the service: evidence is deleted by people only.
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="storageClassName cannot be changed: the claims exist"
type AuditVolume struct {
	// size is the size of the claim, such as 10Gi; at least 64Mi. It may only
	// grow.
	// +optional
	// +kubebuilder:default="10Gi"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(self) && quantity(self).compareTo(quantity('64Mi')) >= 0",message="must be a size such as 10Gi, and at least 64Mi"
	// +kubebuilder:validation:XValidation:rule="!isQuantity(self) || !isQuantity(oldSelf) || quantity(self).compareTo(quantity(oldSelf)) >= 0",message="may only grow"
	Size string `json:"size,omitempty"`

	// storageClassName is the class of the claim. Omitted: the cluster's default.
	// It cannot be changed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`
}

// DataVolume is a claim in the service's namespace that replicas mount
// read-only, so that they see the links in a tenant's files.
type DataVolume struct {
	// name tells the volume apart from the service's others.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="must be lower-case letters, digits and hyphens"
	Name string `json:"name,omitempty"`

	// claimName is the PersistentVolumeClaim.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClaimName string `json:"claimName,omitempty"`

	// mountPath is where the agents see it, and where the replicas do.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/[^/:,\"\\\\s]+)+/?$') && !self.matches('/[.][.]?(/|$)')",message="must be an absolute path with no white space, colon, comma, quotation mark, . or .. in it, and no doubled slash"
	// +kubebuilder:validation:XValidation:rule="!['/audit','/binding','/tls','/tmp','/proc','/sys','/dev','/etc','/run','/var/run','/hookpolicy','/manager'].exists(p, self == p || self.startsWith(p + '/'))",message="is a place that the service needs for itself"
	MountPath string `json:"mountPath,omitempty"`
}

// ServingCertificate says where the certificate of a service comes from.
type ServingCertificate struct {
	// secretName is a Secret of type kubernetes.io/tls in the service's
	// namespace, such as cert-manager keeps. Omitted: the controller issues and
	// rotates one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`
}

// Unmatched answers callers that no policy governs.
// +kubebuilder:validation:Enum=Deny;Allow
type Unmatched string

// The answers to callers that no policy governs.
const (
	UnmatchedDeny  Unmatched = "Deny"
	UnmatchedAllow Unmatched = "Allow" // once the baseline's hooks have judged
)

// DecisionServiceSpec is what a decision service is made of. Which image it
// runs, with which arguments and as whom, is the manager's to say.
type DecisionServiceSpec struct {
	// replicas is how many replicas decide, each with an audit log of its own.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	Replicas int32 `json:"replicas,omitempty"`

	// resources are the compute resources of each replica. Omitted: requests of
	// 100m CPU and 128Mi memory, and a limit of 512Mi memory.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// audit is the volume of each replica's audit chains.
	// +optional
	// +kubebuilder:default={}
	Audit AuditVolume `json:"audit,omitzero"`

	// dataVolumes are mounted read-only at the paths at which agents see them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	DataVolumes []DataVolume `json:"dataVolumes,omitempty"`

	// tls says where the serving certificate comes from.
	// +optional
	TLS ServingCertificate `json:"tls,omitzero"`

	// allowedNamespaces chooses whose policies may bind to this service. A
	// service outside the platform's namespace serves its own namespace only.
	// +optional
	// +kubebuilder:default={}
	AllowedNamespaces AllowedNamespaces `json:"allowedNamespaces,omitzero"`

	// unmatched answers callers that no policy governs.
	// +optional
	// +kubebuilder:default=Deny
	Unmatched Unmatched `json:"unmatched,omitempty"`
}

// DecisionServiceStatus is what the cluster made of a decision service.
type DecisionServiceStatus struct {
	// observedGeneration is the generation of the spec that the status speaks of.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are the latest observations: Accepted, Programmed, Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// trust says whom the service guards against.
	// +optional
	Trust Trust `json:"trust,omitempty"`

	// url is where agents reach the service.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	URL string `json:"url,omitempty"`

	// audience is the audience that agents' tokens must have.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Audience string `json:"audience,omitempty"`

	// readyReplicas is how many replicas decide.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
}

// DecisionService is the infrastructure that decides: replicas, their volumes,
// certificate and network rules.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=dsvc,categories=hookpolicy-all
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 40",message="the name of a DecisionService must be at most 40 characters"
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.contains('.')",message="the name of a DecisionService must not have a dot in it: it becomes a part of host names"
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.endsWith('-replicas')",message="the name of a DecisionService must not end in -replicas: another one's Service could have it"
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.endsWith('-approvals')",message="the name of a DecisionService must not end in -approvals: another one's RoleBinding could have it"
// +kubebuilder:validation:XValidation:rule="!(self.metadata.name in ['manager', 'metrics'])",message="a DecisionService must not be called manager or metrics: what it is made of would have the names of the manager's own objects"
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Trust",type=string,JSONPath=`.status.trust`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.url`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DecisionService struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the service is to be.
	// +optional
	// +kubebuilder:default={}
	Spec DecisionServiceSpec `json:"spec,omitzero"`

	// status is what the cluster made of it.
	// +optional
	Status DecisionServiceStatus `json:"status,omitzero"`
}

// DecisionServiceList is a list of DecisionServices.
// +kubebuilder:object:root=true
type DecisionServiceList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is standard list metadata.
	metav1.ListMeta `json:"metadata,omitzero"`
	// items are the services.
	Items []DecisionService `json:"items"`
}

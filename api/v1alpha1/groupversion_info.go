package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of every resource of this project.
const Group = "hookpolicy.dev"

// The kinds of this package.
const (
	KindHookPolicy        = "HookPolicy"
	KindClusterHookPolicy = "ClusterHookPolicy"
	KindDecisionService   = "DecisionService"
	KindDecisionReplica   = "DecisionReplica"
	KindToolApproval      = "ToolApproval"
)

var (
	// SchemeGroupVersion is the group and version of this package's kinds.
	SchemeGroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

	// SchemeBuilder collects what AddToScheme adds.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds this package's kinds to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion,
		&HookPolicy{}, &HookPolicyList{},
		&ClusterHookPolicy{}, &ClusterHookPolicyList{},
		&DecisionService{}, &DecisionServiceList{},
		&DecisionReplica{}, &DecisionReplicaList{},
		&ToolApproval{}, &ToolApprovalList{},
	)
	metav1.AddToGroupVersion(s, SchemeGroupVersion)
	return nil
}

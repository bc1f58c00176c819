// Package v1alpha1 holds HookPolicy and ClusterHookPolicy, the resources in
// which tenants and the platform say what agents may do.
//
// The package has types, their schema and the words of their status; it has no
// logic. What a policy means is compiled by package policy, which fills in the
// same defaults as the schema. Durations are integers with their unit in the
// name.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +groupName=hookpolicy.dev
package v1alpha1

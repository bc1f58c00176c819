// Package crd holds the CustomResourceDefinitions that are generated from the
// types in api/v1alpha1, so that files are held to the very schema that the
// cluster enforces.
package crd

import "embed"

// Bases holds every definition, a file each.
//
//go:embed bases/*.yaml
var Bases embed.FS

// HookPolicies is the definition of HookPolicy, in YAML.
//
//go:embed bases/hookpolicy.dev_hookpolicies.yaml
var HookPolicies []byte

// ClusterHookPolicies is the definition of ClusterHookPolicy, in YAML.
//
//go:embed bases/hookpolicy.dev_clusterhookpolicies.yaml
var ClusterHookPolicies []byte

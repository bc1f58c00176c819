// Package admission holds the ValidatingAdmissionPolicies by which the API
// server itself enforces who may vote on held calls and who writes what replicas
// report. Each is bound by a ValidatingAdmissionPolicyBinding of its own name that
// denies; the chart makes both.
package admission

import "embed"

// Policies holds every policy, a file each.
//
//go:embed *.yaml
var Policies embed.FS

// Package kube is the data plane's one door to Kubernetes: the source of its
// policies, the check of its callers' tokens, and the report of what one
// replica has in force.
//
// # Policies
//
// A Source watches HookPolicies and ClusterHookPolicies, compiles each when it
// arrives and keeps the result and the text of the spec, not the object. What
// it makes of them is a plan.Set, as a whole and at once:
//
//   - Nothing is in force before both lists have been read in full.
//   - A policy that does not compile leaves its last good version in force. One
//     without a good version refuses its callers with policy.invalid; of a
//     ClusterHookPolicy those are all callers.
//   - A HookPolicy that is bound to another decision service refuses its callers
//     here with policy.elsewhere.
//   - A deleted policy is gone, last good or not. One that was deleted and made
//     anew under the same name is another policy.
//   - A burst of changes makes one set. An edit compiles one policy, whatever
//     the number of the others.
//
// What is in force is kept in a file, see State. A Source that cannot reach the
// API server starts from it, if it is not older than a day.
//
// # Callers
//
// A TokenReviewer knows callers by their ServiceAccount tokens. A token counts
// only if the API server says that it is meant for this decision service. What
// the API server cannot answer now, nobody answers: the call is refused.
//
// # Report
//
// A Reporter writes the status of the replica's own DecisionReplica: on change,
// and once a second at most. It writes nothing else.
package kube

package main

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/kubetest"
)

// replicasMay asks the API server what replicas of the platform's service and
// of a tenant's may do. It runs once both are made.
func replicasMay(t *testing.T, s *kubetest.Server, team string) {
	t.Helper()
	platformReplica := "system:serviceaccount:" + platform + ":" + contract.ChildName("default")
	tenantReplica := "system:serviceaccount:" + team + ":" + contract.ChildName("own")
	ours := func(namespace, verb, resource, sub, name string) authorizationv1.ResourceAttributes {
		return authorizationv1.ResourceAttributes{Group: v1alpha1.Group, Namespace: namespace, Verb: verb, Resource: resource, Subresource: sub, Name: name}
	}
	review := authorizationv1.ResourceAttributes{Group: "authentication.k8s.io", Verb: "create", Resource: "tokenreviews"}
	secrets := authorizationv1.ResourceAttributes{Namespace: platform, Verb: "get", Resource: "secrets", Name: contract.ServingSecret("default")}
	own := contract.ReplicaName("own", 0)
	for name, tc := range map[string]struct {
		user string
		what authorizationv1.ResourceAttributes
		may  bool
	}{
		"the platform's read every policy":           {platformReplica, ours("", "watch", "hookpolicies", "", ""), true},
		"the platform's report":                      {platformReplica, ours(platform, "patch", "decisionreplicas", "status", contract.ReplicaName("default", 1)), true},
		"the platform's review tokens":               {platformReplica, review, true},
		"the platform's write no policy":             {platformReplica, ours(platform, "patch", "hookpolicies", "", "p"), false},
		"the platform's write no policy's status":    {platformReplica, ours(platform, "patch", "hookpolicies", "status", "p"), false},
		"the platform's read no Secret":              {platformReplica, secrets, false},
		"a tenant's read their namespace's policies": {tenantReplica, ours(team, "list", "hookpolicies", "", ""), true},
		"a tenant's read no other's":                 {tenantReplica, ours("", "list", "hookpolicies", "", ""), false},
		"a tenant's read the baseline":               {tenantReplica, ours("", "watch", "clusterhookpolicies", "", ""), true},
		"a tenant's review tokens":                   {tenantReplica, review, true},
		"a tenant's report":                          {tenantReplica, ours(team, "patch", "decisionreplicas", "status", own), true},
		"a tenant's report for nobody else":          {tenantReplica, ours(team, "patch", "decisionreplicas", "status", own+"1"), false},
		"a tenant's cannot make reports":             {tenantReplica, ours(team, "create", "decisionreplicas", "", own), false},
	} {
		t.Run(name, func(t *testing.T) {
			sar := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: tc.user, ResourceAttributes: &tc.what}}
			s.Create(t, sar)
			if sar.Status.Allowed != tc.may {
				t.Errorf("allowed = %v, want %v: %s", sar.Status.Allowed, tc.may, sar.Status.Reason)
			}
		})
	}
}

package admission_test

import (
	"context"
	"io/fs"
	"os"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/config/admission"
	"github.com/hookpolicy/hookpolicy/internal/kubetest"
)

// patience bounds what happens soon on any machine.
const patience = time.Minute

var kube kubetest.Shared

func TestMain(m *testing.M) { os.Exit(kube.Run(m)) }

// A town is a namespace with a decision service, an agent and people, each with
// the roles that the name says.
type town struct {
	s         *kubetest.Server
	namespace string
	service   client.Client // creates, settles and deletes held calls
	agent     client.Client // a ServiceAccount with everything that an approver has
	people    map[string]client.Client
}

const policyName = "customer-a"

// newTown sets a namespace up. Everybody but noverb and the meddler may approve
// under its policy, everybody may write ToolApprovals.
func newTown(t *testing.T) *town {
	t.Helper()
	s := kube.Server(t)
	install(t, s)
	w := &town{s: s, namespace: s.Namespace(t, "approvals"), people: map[string]client.Client{}}
	rule := func(resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{v1alpha1.Group}, Resources: []string{resource}, Verbs: verbs}
	}
	of := func(policy rbacv1.PolicyRule) rbacv1.PolicyRule {
		policy.ResourceNames = []string{policyName}
		return policy
	}
	everybody := []rbacv1.Subject{account(w.namespace, "agent"), account(w.namespace, "service")}
	for _, name := range []string{"alice", "bob", "carol", "noverb", "ALICE", "mallory"} {
		everybody = append(everybody, person(name))
	}
	w.bind(t, "writer", []rbacv1.PolicyRule{rule("toolapprovals", "get", "list", "watch", "update", "patch")}, everybody...)
	w.bind(t, "approver", []rbacv1.PolicyRule{of(rule("hookpolicies", v1alpha1.VerbApprove))},
		person("alice"), person("bob"), person("carol"), person("ALICE"), account(w.namespace, "agent"), account(w.namespace, "service"))
	w.bind(t, "service", []rbacv1.PolicyRule{
		rule("toolapprovals", "create", "delete", v1alpha1.VerbHold), rule("toolapprovals/status", "get", "update", "patch"),
	}, account(w.namespace, "service"))
	w.bind(t, "meddler", []rbacv1.PolicyRule{
		rule("toolapprovals", "create", "delete", "deletecollection"), rule("toolapprovals/status", "get", "update", "patch"),
	}, person("mallory"))
	for _, name := range []string{"agent", "service"} {
		s.ServiceAccount(t, w.namespace, name)
	}
	w.service = s.ClientFor(t, s.Bearer(s.Token(t, kubetest.TokenFor{Namespace: w.namespace, ServiceAccount: "service"})))
	w.agent = s.ClientFor(t, s.Bearer(s.Token(t, kubetest.TokenFor{Namespace: w.namespace, ServiceAccount: "agent"})))
	for _, name := range []string{"alice", "bob", "carol", "noverb", "ALICE", "mallory"} {
		w.people[name] = s.ClientFor(t, s.User(t, name))
	}
	return w
}

func account(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

func person(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}
}

// bind makes a role in the town's namespace and gives it to subjects.
func (w *town) bind(t *testing.T, role string, rules []rbacv1.PolicyRule, to ...rbacv1.Subject) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: w.namespace, Name: role}
	w.s.Create(t, &rbacv1.Role{ObjectMeta: meta, Rules: rules})
	w.s.Create(t, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role}, Subjects: to,
	})
}

// install puts the policies in force, and waits until they are: the API server
// takes a moment to compile one. A forged vote shows that.
func install(t *testing.T, s *kubetest.Server) {
	t.Helper()
	names, err := fs.Glob(admission.Policies, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(admission.Policies, name)
		if err != nil {
			t.Fatal(err)
		}
		policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
		if err := yaml.UnmarshalStrict(text, policy); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := s.Client().Create(t.Context(), policy); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
		err = s.Client().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			},
		})
		if client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	probe := s.Namespace(t, "probe")
	kubetest.Eventually(t, patience, "the admission policies are in force", func(ctx context.Context) error {
		held := heldCall(probe, "probe", 1)
		held.Spec.Votes = []v1alpha1.ToolApprovalVote{{User: "nobody", Decision: v1alpha1.VoteApprove}}
		return refused(s.Client().Create(ctx, held, client.DryRunAll))
	})
	kubetest.Eventually(t, patience, "the admission policies are in force for a replica's status", func(ctx context.Context) error {
		dr := &v1alpha1.DecisionReplica{ObjectMeta: metav1.ObjectMeta{Namespace: probe, Name: "probe"}, Spec: v1alpha1.DecisionReplicaSpec{ServiceName: "a"}}
		if err := s.Client().Create(ctx, dr); client.IgnoreAlreadyExists(err) != nil {
			return err
		}
		return refused(s.Client().Status().Patch(ctx, dr, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"policies":1}}`)), client.DryRunAll))
	})
}

package kubetest_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/kubetest"
)

var kube kubetest.Shared

func TestMain(m *testing.M) { os.Exit(kube.Run(m)) }

func TestEveryKindIsServed(t *testing.T) {
	s := kube.Server(t)
	for _, list := range []client.ObjectList{
		&v1alpha1.HookPolicyList{}, &v1alpha1.ClusterHookPolicyList{}, &v1alpha1.DecisionServiceList{}, &v1alpha1.DecisionReplicaList{},
	} {
		if err := s.Client().List(t.Context(), list); err != nil {
			t.Errorf("list %T: %v", list, err)
		}
	}
}

func TestATokenBoundToAPodCarriesItsNameAndAudience(t *testing.T) {
	s := kube.Server(t)
	ns := s.Namespace(t, "tokens")
	s.ServiceAccount(t, ns, "agent")
	pod := s.Pod(t, ns, "agent-0", "agent")
	token := s.Token(t, kubetest.TokenFor{
		Namespace: ns, ServiceAccount: "agent", Audience: "hookpolicy.dev/a/b", PodName: pod.Name, PodUID: pod.UID,
	})

	for audience, valid := range map[string]bool{"hookpolicy.dev/a/b": true, "hookpolicy.dev/a/other": false} {
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{audience}}}
		s.Create(t, review)
		if review.Status.Authenticated != valid {
			t.Errorf("audience %s: authenticated = %v, want %v (%s)", audience, review.Status.Authenticated, valid, review.Status.Error)
		}
		if !valid {
			continue
		}
		if got, want := review.Status.User.Username, "system:serviceaccount:"+ns+":agent"; got != want {
			t.Errorf("user is %q, want %q", got, want)
		}
		if got := review.Status.User.Extra["authentication.kubernetes.io/pod-name"]; len(got) != 1 || got[0] != "agent-0" {
			t.Errorf("pod name is %q, want agent-0", got)
		}
	}
}

func TestAServiceAccountAndAUserMayDoNothingAtFirst(t *testing.T) {
	s := kube.Server(t)
	ns := s.Namespace(t, "nobody")
	s.ServiceAccount(t, ns, "agent")
	for who, c := range map[string]client.Client{
		"ServiceAccount": s.ClientFor(t, s.Bearer(s.Token(t, kubetest.TokenFor{Namespace: ns, ServiceAccount: "agent"}))),
		"user":           s.ClientFor(t, s.User(t, "alice", "people")),
	} {
		err := c.List(t.Context(), &v1alpha1.HookPolicyList{}, client.InNamespace(ns))
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: list gives %v, want forbidden", who, err)
		}
	}
}

func TestKubectlReachesTheServer(t *testing.T) {
	s := kube.Server(t)
	out, err := kubetest.Kubectl(t, s.Kubeconfig(t, s.Config()), "", "get", "crd", "-o", "name")
	if err != nil || !strings.Contains(out, "hookpolicies.hookpolicy.dev") {
		t.Errorf("kubectl get crd: %v\n%s", err, out)
	}
}

func TestEventuallyWaitsUntilItIsSo(t *testing.T) {
	calls := 0
	kubetest.Eventually(t, time.Minute, "the third call", func(context.Context) error {
		if calls++; calls < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if calls != 3 {
		t.Errorf("checked %d times, want 3", calls)
	}
}

package kube_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/kube"
	"github.com/hookpolicy/hookpolicy/internal/kubetest"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

func TestPoliciesFollowTheCluster(t *testing.T) {
	s := cluster.Server(t)
	ns := s.Namespace(t, "follow")
	s.Create(t, hookPolicy(t, ns, "p", `{unlistedTools: Allow}`))
	r := start(t, s.Config(), kube.SourceOptions{Binding: platform(ns)})
	r.decides(ns, "agent", "Allow")

	edit(t, s, ns, "p", `{unlistedTools: Ask}`)
	r.decides(ns, "agent", "Ask")

	p := edit(t, s, ns, "p", broken)
	kubetest.Eventually(t, patience, "the broken version is rejected", func(context.Context) error {
		f := r.inForce.Load()
		if !slices.Contains(f.Rejected, v1alpha1.RejectedPolicy{Namespace: ns, Name: "p", Generation: p.Generation}) {
			return fmt.Errorf("rejected are %v", f.Rejected)
		}
		return nil
	})
	if got := outcome(r.set.Load(), ns, "agent"); got != "Ask" {
		t.Errorf("under a broken version the last good one should hold, callers meet %s", got)
	}
	if log := r.log.String(); !strings.Contains(log, "arguments[0].path") {
		t.Errorf("the log does not name the field:\n%s", log)
	}

	edit(t, s, ns, "p", `{unlistedTools: Deny}`)
	r.decides(ns, "agent", "Deny")
	edit(t, s, ns, "p", broken)
	if err := s.Client().Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	r.decides(ns, "agent", "none")

	s.Create(t, hookPolicy(t, ns, "p", broken))
	r.decides(ns, "agent", plan.RefusalInvalid)
	if f := r.inForce.Load(); f.SetDigest != r.set.Load().Digest() || f.Reached.HookPolicies == "" || f.Reached.ClusterHookPolicies == "" {
		t.Errorf("reported %+v for a set with digest %s", f, r.set.Load().Digest())
	}
}

func TestAPolicyIsDecidedWhereItIsBound(t *testing.T) {
	s := cluster.Server(t)
	system, team, other := s.Namespace(t, "system"), s.Namespace(t, "team"), s.Namespace(t, "other")
	for name, spec := range map[string]string{
		"default": `{agents: {serviceAccounts: [plain]}}`,
		"own":     `{agents: {serviceAccounts: [own]}, decisionServiceRef: {name: svc}}`,
		"nowhere": `{agents: {serviceAccounts: [lost]}, decisionServiceRef: {name: no-such}}`,
	} {
		s.Create(t, hookPolicy(t, team, name, spec))
	}
	s.Create(t, hookPolicy(t, other, "p", `{}`))
	// A tenant cannot name the platform's service into existence at home.
	s.Create(t, hookPolicy(t, other, "q", `{agents: {serviceAccounts: [sly]}, decisionServiceRef: {name: default}}`))
	byDefault := types.NamespacedName{Namespace: system, Name: "default"}
	own := kube.Binding{Service: types.NamespacedName{Namespace: team, Name: "svc"}, Default: byDefault, PlatformNamespace: system, AllNamespaces: true}
	some := platform(system)
	some.AllNamespaces, some.Namespaces = false, []string{other}

	for name, tc := range map[string]struct {
		binding kube.Binding
		want    map[string]string // "namespace/account" to what it meets
	}{
		"the platform's": {platform(system), map[string]string{
			team + "/plain": "Allow", team + "/own": plan.RefusalElsewhere, team + "/lost": plan.RefusalElsewhere,
			team + "/stranger": "none", other + "/x": "Allow", other + "/sly": plan.RefusalElsewhere,
		}},
		"a tenant's": {own, map[string]string{
			team + "/plain": plan.RefusalElsewhere, team + "/own": "Allow", team + "/lost": plan.RefusalElsewhere, other + "/x": "none",
		}},
		"one that takes some namespaces": {some, map[string]string{
			team + "/plain": plan.RefusalElsewhere, other + "/x": "Allow",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, s.Config(), kube.SourceOptions{Binding: tc.binding})
			for caller, want := range tc.want {
				namespace, account, _ := strings.Cut(caller, "/")
				r.decides(namespace, account, want)
			}
			if covers := r.set.Load().Covers(other); covers != (tc.binding.Service.Namespace == system) {
				t.Errorf("covers another namespace: %v", covers)
			}
		})
	}
}

func TestAnEditIsOneSetAndKeepsTheOthers(t *testing.T) {
	s := cluster.Server(t)
	ns := s.Namespace(t, "many")
	for i := range 20 {
		s.Create(t, hookPolicy(t, ns, fmt.Sprintf("p%d", i), fmt.Sprintf(`{agents: {serviceAccounts: [a%d]}}`, i)))
	}
	b := platform(ns)
	b.AllNamespaces = false // other tests have policies of their own
	r := start(t, s.Config(), kube.SourceOptions{Binding: b})
	r.decides(ns, "a0", "Allow")
	before := r.set.Load()
	edit(t, s, ns, "p7", `{agents: {serviceAccounts: [a7]}, unlistedTools: Deny}`)
	r.decides(ns, "a7", "Deny")
	for i := range 20 {
		account := fmt.Sprintf("a%d", i)
		if same := before.Lookup(ns, account) == r.set.Load().Lookup(ns, account); same != (i != 7) {
			t.Errorf("segment of %s is the same: %v", account, same)
		}
	}

	applied := r.applied.Load()
	reached := r.inForce.Load().Reached.HookPolicies
	p := edit(t, s, ns, "p3", `{agents: {serviceAccounts: [a3]}}`) // changes nothing but its defaults
	p.Status.ObservedGeneration = p.Generation
	if err := s.Client().Status().Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, patience, "the status is seen", func(context.Context) error {
		if got := r.inForce.Load().Reached.HookPolicies; got == reached {
			return errors.New("reached is " + got)
		}
		return nil
	})
	if got := r.applied.Load(); got != applied {
		t.Errorf("a change of status was applied as if it were one of policy")
	}
}

// unreachable is a configuration of an API server that is not there.
func unreachable() *rest.Config { return &rest.Config{Host: "https://127.0.0.1:1"} }

func TestAReplicaStartsFromItsLastGoodPolicies(t *testing.T) {
	s := cluster.Server(t)
	ns := s.Namespace(t, "cold")
	file := filepath.Join(t.TempDir(), "last-good.json")
	options := kube.SourceOptions{Binding: platform(ns), StateFile: file}
	s.Create(t, hookPolicy(t, ns, "good", `{unlistedTools: Ask, agents: {serviceAccounts: [a]}}`))
	s.Create(t, hookPolicy(t, ns, "edited", `{unlistedTools: Allow, agents: {serviceAccounts: [b]}}`))
	s.Create(t, hookPolicy(t, ns, "never", strings.Replace(broken, "{", "{agents: {serviceAccounts: [c]}, ", 1)))
	r := start(t, s.Config(), options)
	r.decides(ns, "b", "Allow")
	edit(t, s, ns, "edited", strings.Replace(broken, "{", "{agents: {serviceAccounts: [b]}, ", 1))
	kubetest.Eventually(t, patience, "the file holds the broken version and the good one", func(context.Context) error {
		b, err := os.ReadFile(file)
		if err == nil && !strings.Contains(string(b), `"good":`) {
			err = errors.New("it does not")
		}
		return err
	})
	live := r.inForce.Load().SetDigest
	r.stop()
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}

	meets := func(t *testing.T, r *replica) {
		t.Helper()
		r.decides(ns, "a", "Ask")
		r.decides(ns, "b", "Allow")
		r.decides(ns, "c", plan.RefusalInvalid)
	}
	t.Run("without an API server", func(t *testing.T) {
		r := start(t, unreachable(), options)
		meets(t, r)
		if got := r.set.Load().Digest(); got != live {
			t.Errorf("digest %s, was %s", got, live)
		}
		if !strings.Contains(r.log.String(), "last good policies are in force") {
			t.Errorf("the log does not say so:\n%s", r.log.String())
		}
		if f := r.inForce.Load(); f != nil {
			t.Errorf("what nobody has confirmed is reported: %+v", f)
		}
	})
	t.Run("with one, the last good version of a broken policy too", func(t *testing.T) {
		meets(t, start(t, s.Config(), options))
	})
	t.Run("but not from a damaged file", func(t *testing.T) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		bad := filepath.Join(t.TempDir(), "last-good.json")
		if err := os.WriteFile(bad, []byte(strings.Replace(string(b), `"Ask"`, `"Deny"`, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		r := start(t, s.Config(), kube.SourceOptions{Binding: options.Binding, StateFile: bad})
		r.decides(ns, "b", plan.RefusalInvalid) // nobody knows a good version
		if _, err := os.Stat(bad + ".damaged"); err != nil {
			t.Errorf("the damaged file is not set aside: %v", err)
		}
	})
}

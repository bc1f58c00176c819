package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
	"github.com/hookpolicy/hookpolicy/internal/kubetest"
)

// commandsOf returns the lines of a page's blocks in a language.
func commandsOf(t *testing.T, page, language string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range block.FindAllStringSubmatch(string(b), -1) {
		if m[1] == language {
			lines = append(lines, strings.Split(strings.TrimSpace(m[2]), "\n")...)
		}
	}
	if len(lines) == 0 {
		t.Fatalf("%s has no %s block", page, language)
	}
	return lines
}

// TestTheCommandsOfTheOperationsPageWork runs them, in order, beside a service.
func TestTheCommandsOfTheOperationsPageWork(t *testing.T) {
	dir := t.TempDir()
	policy := filepath.Join(dir, "hookpolicy.yaml")
	write(t, dir, "hookpolicy.yaml", readme(t, "yaml")[0])
	p := serve(t, filepath.Join(dir, "audit"), policy)
	for _, line := range commandsOf(t, "operations.md", "console") {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			t.Errorf("not a command: %s", line)
			continue
		}
		command = strings.ReplaceAll(command, "http://127.0.0.1:8181", p.url)
		command = strings.Replace(command, "bin/hookpolicy", `"$SELF"`, 1)
		switch {
		case strings.HasPrefix(command, "sed "):
			before := metricOf(t, p, "hookpolicy_policy_files_set_info")
			shell(t, dir, command)
			kubetest.Eventually(t, patience, "the edited policy is in force", func(context.Context) error {
				if metricOf(t, p, "hookpolicy_policy_files_set_info") == before {
					return errors.New("the earlier set is in force")
				}
				return nil
			})
			continue
		case strings.Contains(command, "DROP TABLE"):
			if out := shell(t, dir, command); !strings.Contains(out, `"decision":"Allow"`) {
				t.Errorf("the policy that is switched off answers %s", out)
			}
			continue
		}
		out := shell(t, dir, command)
		if out == "" && !strings.Contains(command, "tar ") {
			t.Errorf("%s\nprinted nothing", command)
		}
	}
	if err := p.stop(t); err != nil {
		t.Error(err)
	}

	restored := filepath.Join(dir, "restored")
	q := serve(t, restored, policy)
	shell(t, dir, "curl -sf "+q.url+`/v1/decide -d '{"tool":"db_query_sql","args":{"sql":"SELECT 1"}}'`)
	if err := q.stop(t); err != nil {
		t.Error(err)
	}
	if out := shell(t, dir, `"$SELF" audit verify restored`); !strings.Contains(out, "Bad chains: 0.") {
		t.Errorf("after a service went on from a backup:\n%s", out)
	}
	if out := shell(t, dir, `grep -rh '"kind":"boot"' restored/t`); out == "" {
		t.Error("a chain that goes on from a backup does not say so")
	}
}

// metricOf returns the first line of a metric.
func metricOf(t *testing.T, p *process, name string) string {
	t.Helper()
	out := shell(t, t.TempDir(), "curl -sf "+p.url+"/metrics")
	return regexp.MustCompile("(?m)^" + name + ".*$").FindString(out)
}

// TestTheKubectlCommandsOfTheOperationsPageAreAccepted runs them on a real API
// server. There are no pods that run: what is executed in one runs here.
func TestTheKubectlCommandsOfTheOperationsPageAreAccepted(t *testing.T) {
	s := cluster.Server(t)
	const system, tenant = "hookpolicy-system", "customer-a"
	for _, name := range []string{system, tenant} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := client.IgnoreAlreadyExists(s.Client().Create(t.Context(), ns)); err != nil {
			t.Fatal(err)
		}
	}
	in := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	labels := map[string]string{"app": "manager"}
	s.Create(t, &v1alpha1.HookPolicy{ObjectMeta: in(tenant, "quickstart")})
	s.Create(t, &v1alpha1.ClusterHookPolicy{ObjectMeta: in("", "platform"), Spec: v1alpha1.ClusterHookPolicySpec{
		Hooks: []v1alpha1.Hook{{Name: "no-accidents", DestructiveSQL: &v1alpha1.DestructiveSQL{}}},
	}})
	s.Create(t, &v1alpha1.DecisionService{ObjectMeta: in(system, "default"), Spec: v1alpha1.DecisionServiceSpec{Replicas: 1}})
	s.Create(t, &corev1.Secret{ObjectMeta: in(system, "hookpolicy-ca")})
	s.Create(t, &corev1.Secret{ObjectMeta: in(system, "hookpolicy-default-serving")})
	s.ServiceAccount(t, system, "replica")
	s.Pod(t, system, "hookpolicy-default-0", "replica")
	s.Create(t, &corev1.PersistentVolumeClaim{ObjectMeta: in(system, "audit-hookpolicy-default-0"), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}})
	s.Create(t, &appsv1.Deployment{ObjectMeta: in(system, "hookpolicy-manager"), Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "manager"}}},
		},
	}})
	dir := t.TempDir()
	log, err := store.Open(filepath.Join(dir, "audit"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), tenant, &audit.Record{Kind: audit.KindPolicy}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", s.Kubeconfig(t, s.Config()))
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	if _, err := exec.LookPath(kubectl); err != nil {
		t.Fatal(err)
	}
	for _, line := range commandsOf(t, "operations.md", "sh") {
		rest, ok := strings.CutPrefix(line, "kubectl ")
		if !ok {
			t.Errorf("not a command of kubectl: %s", line)
			continue
		}
		if _, inPod, ok := strings.Cut(rest, " -- /hookpolicy "); ok {
			shell(t, dir, `"$SELF" `+strings.Replace(inPod, " /audit", " ./audit", 1))
			continue
		}
		shell(t, dir, kubectl+" "+rest)
	}
	ds := &v1alpha1.DecisionService{}
	if err := s.Client().Get(t.Context(), client.ObjectKey{Namespace: system, Name: "default"}, ds); err != nil {
		t.Fatal(err)
	}
	if ds.Spec.Unmatched != "Allow" {
		t.Errorf("unmatched is %q after the page's commands", ds.Spec.Unmatched)
	}
}

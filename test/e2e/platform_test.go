package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
)

const (
	platformNamespace = "hookpolicy-system"
	releaseName       = "hookpolicy"
	serviceName       = "default"
	scenarioLabel     = "hookpolicy.test/scenario" // of every namespace that a scenario makes
)

// restricted has the API server refuse every pod that is not as the restricted
// Pod Security level says.
var restricted = map[string]string{"pod-security.kubernetes.io/enforce": "restricted", scenarioLabel: "true"}

// A platform is an installed release.
type platform struct {
	*cluster
}

// install installs the chart as a user would and waits until the default
// decision service is ready. Everything is gone when the test ends.
func install(t *testing.T, values string) *platform {
	t.Helper()
	p := &platform{cluster: onCluster(t)}
	p.cleanUp(t) // after a run that was killed
	t.Cleanup(func() { p.cleanUp(t) })
	t.Cleanup(func() { p.describe(t) })
	p.namespace(t, platformNamespace)
	p.helm(t, values, "install", releaseName, filepath.Join(root, "charts", "hookpolicy"), "-f", "-",
		"--set", "image.repository="+image+",image.tag="+imageTag+",image.pullPolicy=Never")
	p.ready(t)
	return p
}

// ready waits for the default decision service as the chart's notes say.
func (p *platform) ready(t *testing.T) {
	t.Helper()
	p.kubectl(t, "-n", platformNamespace, "wait", "decisionservice/"+serviceName, "--for=condition=Ready", "--timeout", patience.String())
}

// namespace makes a namespace that takes restricted pods only.
func (c *cluster) namespace(t *testing.T, name string) {
	t.Helper()
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: restricted}}); err != nil {
		t.Fatal(err)
	}
}

// helm runs Helm in the platform's namespace.
func (p *platform) helm(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, err := p.tryHelm(t, stdin, args...)
	if err != nil {
		t.Fatalf("helm %s: %v\n%s", args[0], err, out)
	}
	return out
}

func (p *platform) tryHelm(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	helm := os.Getenv("HOOKPOLICY_HELM")
	if helm == "" {
		t.Fatal(`HOOKPOLICY_HELM is not set: run the tests with "make e2e"`)
	}
	home := t.TempDir()
	env := []string{"net", "env", "HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home, helm,
		"--kubeconfig", p.kubeconfig(), "-n", platformNamespace}
	return command(t, stdin, filepath.Join(root, "hack", "cluster", "cluster"), append(env, args...)...)
}

// replicas returns the pods of a decision service that are not ending.
func (c *cluster) replicas(ctx context.Context, namespace, service string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels(contract.SelectorLabels(service))); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil }), nil
}

// verifyAudit verifies the chains of every replica of a decision service where
// they are, on their claims, and returns what the program says of them.
func (c *cluster) verifyAudit(t *testing.T, namespace, service string) string {
	t.Helper()
	pods, err := c.replicas(t.Context(), namespace, service)
	if err != nil || len(pods) == 0 {
		t.Fatalf("%d replicas: %v", len(pods), err)
	}
	var all strings.Builder
	for _, pod := range pods {
		out, err := c.tryKubectl(t, "", "-n", namespace, "exec", pod.Name, "--", "/hookpolicy", "audit", "verify", contract.AuditDir)
		if err != nil {
			t.Errorf("%s: %v\n%s", pod.Name, err, out)
		}
		fmt.Fprintf(&all, "%s: %s", pod.Name, out)
	}
	return all.String()
}

// volume is the folder of a bound claim's volume, as this process sees it.
func (c *cluster) volume(t *testing.T, namespace, claim string) string {
	t.Helper()
	name := c.kubectl(t, "-n", namespace, "get", "pvc", claim, "-o", "jsonpath={.spec.volumeName}")
	if name == "" {
		t.Fatalf("claim %s/%s is not bound", namespace, claim)
	}
	return filepath.Join(c.state, "volumes", name)
}

// describe shows the state of the cluster when a test has failed.
func (c *cluster) describe(t *testing.T) {
	if !t.Failed() {
		return
	}
	for _, args := range [][]string{
		{"get", "pods,pvc,decisionservices,hookpolicies", "-A", "-o", "wide"},
		{"get", "events", "-A", "--sort-by=.lastTimestamp"},
		{"-n", platformNamespace, "logs", "--prefix", "--tail=30", "--all-containers", "--ignore-errors", "-l", contract.LabelName + "=" + contract.AppName},
	} {
		out, err := c.tryKubectl(t, "", args...)
		t.Logf("kubectl %q: %v\n%s", args, err, out)
	}
}

// cleanUp removes what scenarios make: the release, their namespaces, and what
// the release leaves in place on purpose.
func (p *platform) cleanUp(t *testing.T) {
	t.Helper()
	if out, err := p.tryHelm(t, "", "uninstall", releaseName, "--ignore-not-found"); err != nil {
		t.Errorf("helm uninstall: %v\n%s", err, out)
	}
	eventually(t, patience, "everything is removed", func(ctx context.Context) error {
		left, err := p.leftovers(ctx)
		if err != nil {
			return err
		}
		for _, object := range left {
			if err := p.Delete(ctx, object); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				return err
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("%d namespaces and definitions are there, one is %s", len(left), left[0].GetName())
		}
		return nil
	})
}

// leftovers are the namespaces of scenarios and the definitions of our kinds.
func (p *platform) leftovers(ctx context.Context) ([]client.Object, error) {
	var namespaces corev1.NamespaceList
	var definitions apiextensionsv1.CustomResourceDefinitionList
	if err := errors.Join(p.List(ctx, &namespaces, client.HasLabels{scenarioLabel}), p.List(ctx, &definitions)); err != nil {
		return nil, err
	}
	var left []client.Object
	for i := range namespaces.Items {
		left = append(left, &namespaces.Items[i])
	}
	for i := range definitions.Items {
		if definitions.Items[i].Spec.Group == v1alpha1.Group {
			left = append(left, &definitions.Items[i])
		}
	}
	return left, nil
}

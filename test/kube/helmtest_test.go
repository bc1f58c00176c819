package kube

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/kubetest"
)

// helmTest does what "helm test" and a node would do: it makes the hooks of the
// chart's test and runs the containers of its pod in order.
func (p *platform) helmTest(t *testing.T) {
	hooks := p.helm(t, "", "get", "hooks", "hookpolicy", "-n", platformNamespace)
	var pod corev1.Pod
	for doc := range strings.SplitSeq(hooks, "\n---\n") {
		switch {
		case !strings.Contains(doc, "helm.sh/hook: test"):
		case strings.Contains(doc, "kind: Pod\n"):
			if err := yaml.UnmarshalStrict([]byte(strings.TrimPrefix(doc, "---\n")), &pod); err != nil {
				t.Fatal(err)
			}
		default:
			p.apply(t, doc)
		}
	}
	if len(pod.Spec.InitContainers) != 1 || len(pod.Spec.Containers) != 1 {
		t.Fatalf("the pod of the test has not one call of each kind: %s", hooks)
	}
	identity := p.identity(t, &pod)
	proxy := p.serviceProxy(t)
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		args := strings.Split(strings.ReplaceAll(strings.Join(c.Args, "\x00"), "/identity/", identity+"/"), "\x00")
		cmd := exec.CommandContext(t.Context(), programs.path(t, "hookpolicy"), args...)
		cmd.Env = append(os.Environ(), "HTTPS_PROXY="+proxy, "NO_PROXY=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s %q: %v\n%s", c.Name, args, err, out)
		}
	}
}

// identity writes the files of the pod's projected volume.
func (p *platform) identity(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	dir := t.TempDir()
	for _, source := range pod.Spec.Volumes[0].Projected.Sources {
		name, content := contract.CAConfigMapKey, []byte(nil)
		if token := source.ServiceAccountToken; token != nil {
			name = token.Path
			content = []byte(p.s.Token(t, kubetest.TokenFor{
				Namespace: platformNamespace, ServiceAccount: pod.Spec.ServiceAccountName, Audience: token.Audience,
			}))
		} else {
			kubetest.Eventually(t, patience, "the CA is published", func(ctx context.Context) (err error) {
				content, err = p.publishedPEM(ctx, platformNamespace)
				return err
			})
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// serviceProxy stands for DNS and the Service: a proxy that leads the service's
// name, and no other, to the first replica. What goes through it is TLS.
func (p *platform) serviceProxy(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != contract.Host(platformNamespace, serviceName)+":443" {
			http.Error(w, "there is no "+r.Host, http.StatusBadGateway)
			return
		}
		replica, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", p.replicas[0].address)
		if err != nil {
			http.Error(w, "no replica", http.StatusBadGateway)
			return
		}
		defer replica.Close()
		w.WriteHeader(http.StatusOK)
		client, rest, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer client.Close()
		var both sync.WaitGroup
		both.Go(func() {
			_, _ = io.Copy(replica, io.MultiReader(bytes.NewReader(buffered(rest.Reader.Buffered(), rest.Reader)), client))
			_ = replica.(*net.TCPConn).CloseWrite()
		})
		both.Go(func() { _, _ = io.Copy(client, replica) })
		both.Wait()
	}))
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	return server.URL
}

// buffered takes what a reader has read ahead.
func buffered(n int, r io.Reader) []byte {
	b := make([]byte, n)
	_, _ = io.ReadFull(r, b)
	return b
}

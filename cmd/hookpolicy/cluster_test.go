package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/kubetest"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// servingPair writes a self-signed certificate for 127.0.0.1 into files.
func servingPair(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, dir, "tls.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		write(t, dir, "tls.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})))
}

// A clusterReplica is hookpolicy serve --kube, as a process.
type clusterReplica struct {
	*process
	api       *kubetest.Server
	namespace string // of the platform
	dir       string
	http      *http.Client
	cert      string
}

const replicaName = "hookpolicy-default-0"

func serveCluster(t *testing.T, api *kubetest.Server, namespace, dir string, config *rest.Config) *clusterReplica {
	t.Helper()
	cert, key := servingPair(t, dir)
	audit, binding := filepath.Join(dir, "audit"), filepath.Join(dir, "binding-key")
	if err := os.WriteFile(binding, bytes.Repeat([]byte{7}, 32), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startProcess(t, program(t, "serve", "--kube", "--kubeconfig", api.Kubeconfig(t, config),
		"--namespace", namespace, "--service", "default", "--default-decision-service", namespace+"/default",
		"--platform-namespace", namespace, "--pod-name", replicaName, "--binding-key-file", binding,
		"--audit-dir", audit, "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key, "--admin-socket", socketPath(t)), audit)
	tlsConfig := &tls.Config{InsecureSkipVerify: true} // as the probes of a kubelet do
	return &clusterReplica{
		process: p, api: api, namespace: namespace, dir: dir, cert: cert,
		http: &http.Client{Transport: &http.Transport{TLSClientConfig: tlsConfig}},
	}
}

// ready asks the readiness probe.
func (r *clusterReplica) ready(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+decisionv1.PathReady, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}

// asks makes one call of a tool that no hook names, with a token, and returns
// the decision, and the code of a Deny.
func (r *clusterReplica) asks(t *testing.T, token string) string {
	t.Helper()
	c, err := decisionv1.New(r.url, decisionv1.Options{
		CAFile: r.cert, Token: func(context.Context) (string, error) { return token, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Decide(t.Context(), decisionv1.Request{Tool: "kb_search", Args: json.RawMessage(`{}`)})
	switch {
	case resp.Decision == decisionv1.Deny: // with an error too: whatever goes wrong is a Deny
		return resp.Reason.Code
	case err != nil:
		t.Fatal(err)
	}
	return string(resp.Decision)
}

func (r *clusterReplica) eventually(t *testing.T, token, want string) {
	t.Helper()
	start := time.Now()
	kubetest.Eventually(t, patience, "the answer is "+want, func(context.Context) error {
		if got := r.asks(t, token); got != want {
			return errors.New("it is " + got)
		}
		return nil
	})
	t.Logf("%s after %s", want, time.Since(start).Round(time.Millisecond))
}

func TestAReplicaDecidesByTheClustersPolicies(t *testing.T) {
	api := cluster.Server(t)
	system, team := api.Namespace(t, "system"), api.Namespace(t, "team")
	api.ServiceAccount(t, team, "agent")
	api.Create(t, &v1alpha1.DecisionReplica{
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: replicaName}, Spec: v1alpha1.DecisionReplicaSpec{ServiceName: "default"},
	})
	policy := &v1alpha1.HookPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "p"}}
	api.Create(t, policy)
	token := api.Token(t, kubetest.TokenFor{Namespace: team, ServiceAccount: "agent", Audience: contract.Audience(system, "default")})
	other := api.Token(t, kubetest.TokenFor{Namespace: team, ServiceAccount: "agent", Audience: contract.Audience(team, "default")})
	edit := func(change func(*v1alpha1.HookPolicySpec)) {
		t.Helper()
		change(&policy.Spec)
		if err := api.Client().Update(t.Context(), policy); err != nil {
			t.Fatal(err)
		}
	}

	r := serveCluster(t, api, system, t.TempDir(), api.Config())
	kubetest.Eventually(t, patience, "ready", r.ready)
	r.eventually(t, token, "Allow")
	if got := r.asks(t, other); got != "caller.unauthenticated" {
		t.Errorf("a token for another service: %s", got)
	}
	edit(func(s *v1alpha1.HookPolicySpec) { s.UnlistedTools = v1alpha1.UnlistedToolsDeny })
	r.eventually(t, token, "tool.unlisted")
	edit(func(s *v1alpha1.HookPolicySpec) { // passes the schema, does not compile
		s.UnlistedTools = v1alpha1.UnlistedToolsAllow
		s.Hooks = []v1alpha1.Hook{{Name: "h", DestructiveSQL: &v1alpha1.DestructiveSQL{
			Declarations: v1alpha1.Declarations{Arguments: []v1alpha1.Argument{{Tool: "t", Path: "a[b"}}},
		}}}
	})
	kubetest.Eventually(t, patience, "the replica reports the broken version", func(ctx context.Context) error {
		dr := &v1alpha1.DecisionReplica{}
		if err := api.Client().Get(ctx, client.ObjectKey{Namespace: system, Name: replicaName}, dr); err != nil {
			return err
		}
		if got := dr.Status.Rejected; len(got) != 1 || got[0].Generation != policy.Generation || dr.Status.Policies != 1 {
			return fmt.Errorf("status is %+v", dr.Status)
		}
		return nil
	})
	if got := r.asks(t, token); got != "tool.unlisted" {
		t.Errorf("under a broken version the last good one should hold: %s", got)
	}
	if err := r.stop(t); err != nil {
		t.Errorf("stop: %v", err)
	}

	// An API server that is not there: what was in force last is, and nobody is known.
	cold := serveCluster(t, api, system, r.dir, &rest.Config{Host: "https://127.0.0.1:1"})
	kubetest.Eventually(t, patience, "ready without an API server", cold.ready)
	if got := cold.asks(t, token); got != "caller.unavailable" {
		t.Errorf("a caller that nobody can vouch for: %s", got)
	}
	if err := cold.stop(t); err != nil {
		t.Errorf("stop: %v", err)
	}

	again := serveCluster(t, api, system, r.dir, api.Config())
	again.eventually(t, token, "tool.unlisted") // the good version, from the volume
	if err := api.Client().Delete(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	again.eventually(t, token, "policy.none")
	elsewhere := &v1alpha1.HookPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "p"}}
	elsewhere.Spec.DecisionServiceRef = &v1alpha1.DecisionServiceRef{Name: "own"}
	api.Create(t, elsewhere)
	again.eventually(t, token, plan.RefusalElsewhere)
	if err := again.stop(t); err != nil {
		t.Errorf("stop: %v", err)
	}
	verified(t, r.auditDir)
	if log := r.logged() + cold.logged() + again.logged(); strings.Contains(log, token) {
		t.Error("a token is in the log")
	}
}

func TestServeInAClusterRefusesWhatCannotWork(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		says string
	}{
		"a policy file":             {[]string{"--kube", "--namespace", "n", "--service", "s", "--policy", "x"}, "--policy"},
		"a token file":              {[]string{"--kube", "--namespace", "n", "--service", "s", "--token-file", "x"}, "--token-file"},
		"no service":                {[]string{"--kube", "--namespace", "n"}, "--service"},
		"no certificate":            {[]string{"--kube", "--namespace", "n", "--service", "s", "--tls-cert", ""}, "--tls-cert"},
		"a default that is no name": {[]string{"--kube", "--namespace", "n", "--service", "s", "--default-decision-service", "x"}, "NAMESPACE/NAME"},
		"a cluster without --kube":  {[]string{"--policy", "x", "--audit-dir", "y", "--service", "s"}, "--kube"},
	} {
		t.Run(name, func(t *testing.T) {
			if status, _, errs := hookpolicy(t, "", append([]string{"serve"}, tc.args...)...); status != exitUsage || !strings.Contains(errs, tc.says) {
				t.Errorf("status %d, want %d and %q in %q", status, exitUsage, tc.says, errs)
			}
		})
	}
}

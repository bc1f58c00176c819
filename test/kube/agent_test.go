package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/kubetest"
)

// Calls that the sample policy answers in each of the four ways.
var (
	searchCall = decisionv1.Request{Tool: "kb_search", Args: json.RawMessage(`{"query":"late orders"}`)}
	selectCall = decisionv1.Request{Tool: "db_query_sql", Args: json.RawMessage(`{"sql":"SELECT 1"}`)}
	deleteCall = decisionv1.Request{Tool: "db_query_sql", Args: json.RawMessage(`{"sql":"DELETE FROM orders"}`)}
	dropCall   = decisionv1.Request{Tool: "db_query_sql", Args: json.RawMessage(`{"sql":"DROP DATABASE customers"}`)}
)

// An agent is a caller in a pod of its own, with the token that a projected
// volume would give it.
type agent struct {
	p     *platform
	token string
	roots *x509.CertPool
}

// newAgent makes a caller in a namespace that exists.
func (p *platform) newAgent(t *testing.T, namespace, serviceAccount, audience string) *agent {
	t.Helper()
	p.s.ServiceAccount(t, namespace, serviceAccount)
	pod := p.s.Pod(t, namespace, serviceAccount+"-0", serviceAccount)
	a := &agent{p: p, token: p.s.Token(t, kubetest.TokenFor{
		Namespace: namespace, ServiceAccount: serviceAccount, Audience: audience, PodName: pod.Name, PodUID: pod.UID,
	})}
	kubetest.Eventually(t, patience, "the CA is published for "+namespace, func(ctx context.Context) (err error) {
		a.roots, err = p.publishedCA(ctx, namespace)
		return err
	})
	return a
}

// publishedCA is the CA as an agent's pod would mount it.
func (p *platform) publishedCA(ctx context.Context, namespace string) (*x509.CertPool, error) {
	pem, err := p.publishedPEM(ctx, namespace)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("no certificate in it")
	}
	return roots, nil
}

func (p *platform) publishedPEM(ctx context.Context, namespace string) ([]byte, error) {
	var bundle certificatesv1.ClusterTrustBundle
	if err := p.s.Client().Get(ctx, client.ObjectKey{Name: contract.TrustBundle}, &bundle); err == nil {
		return []byte(bundle.Spec.TrustBundle), nil
	}
	var cm corev1.ConfigMap
	if err := p.s.Client().Get(ctx, client.ObjectKey{Namespace: namespace, Name: contract.CAConfigMap}, &cm); err != nil {
		return nil, err
	}
	return []byte(cm.Data[contract.CAConfigMapKey]), nil
}

// ask asks one replica, by the name of the service.
func (a *agent) ask(ctx context.Context, r *replica, call decisionv1.Request) (*decisionv1.Response, error) {
	c, err := decisionv1.New("https://"+r.address, decisionv1.Options{
		Token: func(context.Context) (string, error) { return a.token, nil },
		TLS:   &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: a.roots, ServerName: contract.Host(platformNamespace, serviceName)},
	})
	if err != nil {
		return nil, err
	}
	return c.Decide(ctx, call)
}

// gets returns an error unless every replica answers a call with a decision,
// for a reason if one is given.
func (a *agent) gets(ctx context.Context, call decisionv1.Request, want decisionv1.Decision, code string) error {
	for _, r := range a.p.replicas {
		got, err := a.ask(ctx, r, call)
		if err != nil {
			return fmt.Errorf("%s: %w", r.podName, err)
		}
		reason := ""
		if got.Reason != nil {
			reason = got.Reason.Code
		}
		if got.Decision != want || code != "" && reason != code {
			return fmt.Errorf("%s answers %s (%s), want %s %s", r.podName, got.Decision, reason, want, code)
		}
	}
	return nil
}

// soon waits until every replica answers so.
func (a *agent) soon(t *testing.T, call decisionv1.Request, want decisionv1.Decision, code string) {
	t.Helper()
	kubetest.Eventually(t, patience, fmt.Sprintf("every replica answers %s %s", want, code), func(ctx context.Context) error {
		return a.gets(ctx, call, want, code)
	})
}

package server_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/server"
)

// pair makes a self-signed certificate for 127.0.0.1.
func pair(t *testing.T, serial int64) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "decision service"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
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
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

func TestACertificateIsRenewedWithoutARestartAndABadPairIsNot(t *testing.T) {
	certFile, keyFile := filepath.Join(t.TempDir(), "tls.crt"), filepath.Join(t.TempDir(), "tls.key")
	cert, key := pair(t, 1)
	writeFile(t, certFile, cert)
	writeFile(t, keyFile, key)
	certificate, err := server.NewCertificate(certFile, keyFile, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	srv := start(t, &fakeEngine{}, func(c *server.Config) { c.Certificate = certificate })
	serial := func() int64 {
		t.Helper()
		conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(t.Context(), "tcp", srv.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if got := serial(); got != 1 {
		t.Fatalf("certificate %d", got)
	}
	cert2, key2 := pair(t, 2)
	writeFile(t, certFile, cert2)
	if changed, err := certificate.Reload(); err == nil || changed {
		t.Errorf("half a pair: changed %v, error %v", changed, err)
	}
	if got := serial(); got != 1 {
		t.Errorf("certificate %d with half a new pair", got)
	}
	writeFile(t, keyFile, key2)
	if changed, err := certificate.Reload(); err != nil || !changed {
		t.Errorf("a new pair: changed %v, error %v", changed, err)
	}
	if got := serial(); got != 2 {
		t.Errorf("certificate %d", got)
	}
	if changed, err := certificate.Reload(); err != nil || changed {
		t.Errorf("the same pair: changed %v, error %v", changed, err)
	}
}

func TestTLSSpeaksHTTP2AndNothingOld(t *testing.T) {
	dir := t.TempDir()
	cert, key := pair(t, 1)
	writeFile(t, filepath.Join(dir, "tls.crt"), cert)
	writeFile(t, filepath.Join(dir, "tls.key"), key)
	certificate, err := server.NewCertificate(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	// A person takes longer than a body or a plain answer may.
	const limit = 50 * time.Millisecond
	f := &fakeEngine{decideFunc: func(ctx context.Context, _ engine.Request) *decisionv1.Response {
		person, cancel := context.WithTimeout(ctx, 3*limit)
		defer cancel()
		<-person.Done()
		return &decisionv1.Response{Decision: decisionv1.AskUser, Hook: context.Cause(person).Error()}
	}}
	srv := start(t, f, func(c *server.Config) {
		c.Certificate, c.Limits.BodyTimeout, c.Limits.WriteTimeout = certificate, limit, limit
	})
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(cert))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.Replace(srv.url, "http:", "https:", 1)+"/v1/decide",
		strings.NewReader(`{"tool":"t","args":{},"waitSeconds":1}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.ProtoMajor != 2 || resp.StatusCode != 200 {
		t.Errorf("answer %s %s", resp.Proto, resp.Status)
	}
	doc, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := answerOf(t, doc); got.Hook != context.DeadlineExceeded.Error() {
		t.Errorf("answer %s: the request was given up", doc)
	}
	old := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	if conn, err := (&tls.Dialer{Config: old}).DialContext(t.Context(), "tcp", srv.addr); err == nil {
		_ = conn.Close()
		t.Error("TLS 1.1 was spoken")
	}
}

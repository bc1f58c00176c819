package v1

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// A trust sends requests to services whose certificates come from those of a
// file. When the file changes, as a projected volume does when an authority is
// replaced, new connections are held to what it says then. A change that cannot
// be read changes nothing.
type trust struct {
	file   string
	config *tls.Config

	mu   sync.Mutex
	info os.FileInfo
	via  *http.Transport
}

var _ http.RoundTripper = (*trust)(nil)

func newTrust(file string, config *tls.Config) (*trust, error) {
	t := &trust{file: file, config: config}
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("read CA file: %w", err)
	}
	pool, err := readPool(file)
	if err != nil {
		return nil, err
	}
	t.take(info, pool)
	return t, nil
}

// RoundTrip implements http.RoundTripper.
func (t *trust) RoundTrip(r *http.Request) (*http.Response, error) { return t.current().RoundTrip(r) }

// CloseIdleConnections is for http.Client.
func (t *trust) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.via.CloseIdleConnections()
}

// current looks at the file, which costs a microsecond, and not into it.
func (t *trust) current() *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	info, err := os.Stat(t.file)
	if err != nil || os.SameFile(info, t.info) && info.ModTime().Equal(t.info.ModTime()) && info.Size() == t.info.Size() {
		return t.via
	}
	if pool, err := readPool(t.file); err == nil {
		t.via.CloseIdleConnections()
		t.take(info, pool)
	}
	return t.via
}

func (t *trust) take(info os.FileInfo, pool *x509.CertPool) {
	config := t.config.Clone()
	config.RootCAs = pool
	t.info, t.via = info, transport(config)
}

func transport(config *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    5 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

func readPool(path string) (*x509.CertPool, error) {
	doc, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read CA file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(doc) {
		return nil, errors.New("read CA file: it holds no certificate")
	}
	return pool, nil
}

package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// maxPEMBytes bounds a certificate or key file.
const maxPEMBytes = 1 << 20

// A Certificate is a serving certificate with its key, from files that may be
// renewed at any time. A pair that cannot be read or does not match changes
// nothing: the last good one stays in use.
type Certificate struct {
	certFile, keyFile string
	log               *slog.Logger
	pair              atomic.Pointer[tls.Certificate]
	content           contentDigest
}

// NewCertificate reads a pair of PEM files. Watch follows their changes.
func NewCertificate(certFile, keyFile string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, log: log}
	if _, err := c.Reload(); err != nil {
		return nil, err
	}
	return c, nil
}

// Get returns the pair in use, for tls.Config.GetCertificate.
func (c *Certificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.pair.Load(), nil }

// NotAfter is when the pair in use expires.
func (c *Certificate) NotAfter() time.Time { return c.pair.Load().Leaf.NotAfter }

// Watch reloads the files when they change, until ctx ends.
func (c *Certificate) Watch(ctx context.Context) { watch(ctx, c.log, "certificate", c.Reload) }

// Reload reads the files and reports whether they have changed. Handshakes
// from then on use the new pair.
func (c *Certificate) Reload() (changed bool, err error) {
	cert, _, err := readBounded(c.certFile, maxPEMBytes)
	if err != nil {
		return false, fmt.Errorf("read certificate: %w", err)
	}
	key, mode, err := readBounded(c.keyFile, maxPEMBytes)
	if err != nil {
		return false, fmt.Errorf("read key: %w", err)
	}
	if c.content.same(cert, key) {
		return false, nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return false, fmt.Errorf("pair certificate and key: %w", err)
	}
	c.pair.Store(&pair)
	c.content.set(cert, key)
	if mode&0o007 != 0 { // a pod that is not root reads its Secret as the group
		c.log.Warn("Key can be read by others", "path", c.keyFile, "mode", mode.String())
	}
	return true, nil
}

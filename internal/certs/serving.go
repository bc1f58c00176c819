package certs

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"slices"
	"time"
)

// Issue signs a serving certificate for the DNS names, the first of which names
// it.
func (a *Authority) Issue(names []string, now time.Time) (*Pair, error) {
	if len(names) == 0 {
		return nil, errors.New("a serving certificate needs a name")
	}
	subject := pkix.Name{Organization: []string{"HookPolicy"}}
	if len(names[0]) <= 64 { // a common name cannot be longer; nobody reads it
		subject.CommonName = names[0]
	}
	return sign(&x509.Certificate{
		Subject:     subject,
		DNSNames:    names,
		NotBefore:   now.Add(-skew),
		NotAfter:    now.Add(ServingLifetime),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.current)
}

// Serves reports whether a serving certificate is good: for exactly these
// names, signed by somebody in the bundle, and not due for renewal.
func (a *Authority) Serves(p *Pair, names []string, now time.Time) bool {
	if p == nil || !slices.Equal(p.Certificate.DNSNames, names) || !now.Before(p.RenewAt()) {
		return false
	}
	_, err := p.Certificate.Verify(x509.VerifyOptions{
		Roots: a.pool(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return err == nil
}

// RenewAt is when the certificate is to be replaced.
func (p *Pair) RenewAt() time.Time {
	return renewAt(p.Certificate.NotBefore, p.Certificate.NotAfter)
}

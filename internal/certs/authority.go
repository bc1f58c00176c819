package certs

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"
)

// The keys under which an authority is stored.
const (
	keyCert      = "tls.crt"
	keyKey       = "tls.key"
	keyNextCert  = "next.crt"
	keyNextKey   = "next.key"
	keyPrevious  = "previous.crt"
	keyPublished = "next-published" // RFC 3339
)

// An Authority is what signs serving certificates, and what is trusted beside
// it. It is never changed: Advance and Published return a new one.
type Authority struct {
	current *Pair
	// next is published and does not sign yet; nil most of the time.
	next *Pair
	// nextPublished is when next was seen to be published; zero: not yet.
	nextPublished time.Time
	// previous signed once, and are trusted until they expire.
	previous []*x509.Certificate
}

// NewAuthority makes an authority that signs from now on.
func NewAuthority(now time.Time) (*Authority, error) {
	current, err := newSigner(now)
	if err != nil {
		return nil, err
	}
	return &Authority{current: current}, nil
}

func newSigner(now time.Time) (*Pair, error) {
	return sign(&x509.Certificate{
		Subject:               pkix.Name{CommonName: "HookPolicy serving CA", Organization: []string{now.UTC().Format("2006-01-02")}},
		NotBefore:             now.Add(-skew),
		NotAfter:              now.Add(AuthorityLifetime),
		KeyUsage:              x509.KeyUsageCertSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
	}, nil)
}

// ParseAuthority reads an authority from what Data stored. What cannot be read
// is an error and never replaced: it is what everybody trusts.
func ParseAuthority(data map[string][]byte) (*Authority, error) {
	a := &Authority{}
	var err error
	if a.current, err = ParsePair(data[keyCert], data[keyKey]); err != nil {
		return nil, fmt.Errorf("read the authority: %w", err)
	}
	if len(data[keyNextCert]) > 0 {
		if a.next, err = ParsePair(data[keyNextCert], data[keyNextKey]); err != nil {
			return nil, fmt.Errorf("read the next authority: %w", err)
		}
	}
	if text := data[keyPublished]; len(text) > 0 {
		if a.nextPublished, err = time.Parse(time.RFC3339, string(text)); err != nil {
			return nil, errors.New("read when the next authority was published: not a time")
		}
	}
	if a.previous, err = parseCertificates(data[keyPrevious]); err != nil {
		return nil, fmt.Errorf("read the previous authorities: %w", err)
	}
	return a, nil
}

func parseCertificates(data []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for len(bytes.TrimSpace(data)) > 0 {
		block, rest := pem.Decode(data)
		if block == nil {
			return nil, errors.New("not PEM")
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		all, data = append(all, c), rest
	}
	return all, nil
}

// Data is the authority in the form that ParseAuthority reads. It holds keys.
func (a *Authority) Data() map[string][]byte {
	data := map[string][]byte{keyCert: a.current.CertPEM, keyKey: a.current.KeyPEM}
	if a.next != nil {
		data[keyNextCert], data[keyNextKey] = a.next.CertPEM, a.next.KeyPEM
	}
	if !a.nextPublished.IsZero() {
		data[keyPublished] = []byte(a.nextPublished.UTC().Format(time.RFC3339))
	}
	for _, c := range a.previous {
		data[keyPrevious] = append(data[keyPrevious], encodeCertificate(c)...)
	}
	return data
}

// Advance takes the step of the rotation that is due, if one is: it makes the
// next authority, or lets it sign, or forgets one that has expired. It returns
// a itself when none is.
func (a *Authority) Advance(now time.Time) (*Authority, error) {
	switch b := *a; {
	case a.next == nil && !now.Before(a.renewAt()):
		next, err := newSigner(now)
		if err != nil {
			return nil, err
		}
		b.next, b.nextPublished = next, time.Time{}
		return &b, nil
	case a.next != nil && !a.nextPublished.IsZero() && !now.Before(a.nextPublished.Add(OverlapPeriod)):
		b.previous = append(slices.Clone(a.previous), a.current.Certificate)
		b.current, b.next, b.nextPublished = a.next, nil, time.Time{}
		return &b, nil
	case slices.ContainsFunc(a.previous, expired(now)):
		b.previous = slices.DeleteFunc(slices.Clone(a.previous), expired(now))
		return &b, nil
	default:
		return a, nil
	}
}

// Published notes that the bundle, as it is now, was published. It returns a
// itself when there was nothing new in it.
func (a *Authority) Published(now time.Time) *Authority {
	if a.next == nil || !a.nextPublished.IsZero() {
		return a
	}
	b := *a
	b.nextPublished = now
	return &b
}

// NextStep is when Advance has something to do again.
func (a *Authority) NextStep() time.Time {
	at := a.renewAt()
	if a.next != nil {
		at = a.nextPublished.Add(OverlapPeriod)
	}
	for _, c := range a.previous {
		if c.NotAfter.Before(at) {
			at = c.NotAfter
		}
	}
	return at
}

// Bundle is every certificate that is to be trusted, as PEM: the one that
// signs, the next one, and those that signed before.
func (a *Authority) Bundle() []byte {
	bundle := slices.Clone(a.current.CertPEM)
	if a.next != nil {
		bundle = append(bundle, a.next.CertPEM...)
	}
	for _, c := range a.previous {
		bundle = append(bundle, encodeCertificate(c)...)
	}
	return bundle
}

func (a *Authority) renewAt() time.Time {
	return renewAt(a.current.Certificate.NotBefore, a.current.Certificate.NotAfter)
}

func (a *Authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.Bundle())
	return pool
}

func expired(now time.Time) func(*x509.Certificate) bool {
	return func(c *x509.Certificate) bool { return now.After(c.NotAfter) }
}

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"time"
)

const validity = 30 * 24 * time.Hour

// A subject is whom a certificate speaks of.
type subject struct {
	name      string
	groups    []string
	hosts     []string
	addresses []net.IP
}

// An identity is a certificate with its key.
type identity struct {
	cert            *x509.Certificate
	key             *ecdsa.PrivateKey
	certPEM, keyPEM []byte
}

// issue writes a certificate and its key, signed by ca, or an authority of its
// own without one.
func (c *cluster) issue(file string, s subject, ca *identity) (*identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: s.name, Organization: s.groups},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(validity),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		DNSNames:              s.hosts,
		IPAddresses:           s.addresses,
	}
	parent, signer := template, key
	if ca == nil {
		template.IsCA, template.ExtKeyUsage = true, nil
		template.KeyUsage |= x509.KeyUsageCertSign
	} else {
		parent, signer = ca.cert, ca.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	id := &identity{key: key, certPEM: encode("CERTIFICATE", der)}
	if id.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	if id.keyPEM, err = encodeKey(key); err != nil {
		return nil, err
	}
	if err := c.file(file+".crt", id.certPEM); err != nil {
		return nil, err
	}
	return id, c.file(file+".key", id.keyPEM)
}

// tokenKey writes the pair of keys that sign and check tokens.
func (c *cluster) tokenKey(file string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := encodeKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	if err := c.file(file+".key", private); err != nil {
		return err
	}
	return c.file(file+".pub", encode("PUBLIC KEY", public))
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	return encode("EC PRIVATE KEY", der), err
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

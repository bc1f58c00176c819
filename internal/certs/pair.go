package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
)

// A Pair is a certificate and its key.
type Pair struct {
	Certificate *x509.Certificate
	CertPEM     []byte // the certificate, as PEM
	KeyPEM      []byte // its key, as PEM in PKCS#8
	key         *ecdsa.PrivateKey
}

// ParsePair reads a certificate and its key, and refuses a key that is not the
// certificate's.
func ParsePair(certPEM, keyPEM []byte) (*Pair, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, errors.New("the certificate and its key cannot be read, or do not belong together")
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("the key is not an ECDSA key")
	}
	return &Pair{Certificate: pair.Leaf, CertPEM: certPEM, KeyPEM: keyPEM, key: key}, nil
}

// sign makes a key and has the parent certify it; without a parent it
// certifies itself. Serial number and key are the template's only gaps.
func sign(template *x509.Certificate, parent *Pair) (*Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	issuer, issuerKey := template, key
	if parent != nil {
		issuer, issuerKey = parent.Certificate, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, issuerKey)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the certificate just signed: %w", err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("write a key: %w", err)
	}
	return &Pair{
		Certificate: certificate,
		CertPEM:     encodeCertificate(certificate),
		KeyPEM:      pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
		key:         key,
	}, nil
}

func encodeCertificate(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

package checkpoint

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// A Key signs checkpoints.
type Key struct {
	name   string
	secret string
	vkey   string
	signer note.Signer
}

// errKey says nothing of its cause, which could hold the secret.
var errKey = errors.New("not a key to sign checkpoints with")

// GenerateKey makes a key at random; its name is as an origin.
func GenerateKey(name string) (*Key, error) {
	var seed [ed25519.SeedSize]byte
	rand.Read(seed[:]) // never fails
	return NewKey(name, seed)
}

// NewKey makes the key that a name and a seed give.
func NewKey(name string, seed [ed25519.SeedSize]byte) (*Key, error) {
	if !isOrigin(name) {
		return nil, errKey
	}
	public, ok := ed25519.NewKeyFromSeed(seed[:]).Public().(ed25519.PublicKey)
	if !ok {
		return nil, errKey // impossible: it is what it says it is
	}
	vkey, err := note.NewEd25519VerifierKey(name, public)
	if err != nil {
		return nil, errKey
	}
	id := strings.Split(vkey, "+")[1]
	secret := secretPrefix + name + "+" + id + "+" + base64.StdEncoding.EncodeToString(append([]byte{algorithm}, seed[:]...))
	signer, err := note.NewSigner(secret)
	if err != nil {
		return nil, errKey
	}
	return &Key{name: name, secret: secret, vkey: vkey, signer: signer}, nil
}

const (
	secretPrefix = "PRIVATE+KEY+"
	algorithm    = 1 // Ed25519, in c2sp.org/signed-note
)

// ParseKey reads what Secret returned, and nothing else.
func ParseKey(secret string) (*Key, error) {
	parts := strings.SplitN(strings.TrimPrefix(secret, secretPrefix), "+", 3)
	if len(parts) != 3 {
		return nil, errKey
	}
	raw, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(raw) != 1+ed25519.SeedSize {
		return nil, errKey
	}
	k, err := NewKey(parts[0], [ed25519.SeedSize]byte(raw[1:]))
	if err != nil || k.secret != secret {
		return nil, errKey
	}
	return k, nil
}

// Secret returns the key as a text to keep: it is all that one needs to sign.
func (k *Key) Secret() string { return k.secret }

// Name returns the key's name.
func (k *Key) Name() string { return k.name }

// Verifier returns the public half: NAME+ID+KEY, as in c2sp.org/signed-note.
func (k *Key) Verifier() string { return k.vkey }

// Sign returns a checkpoint with its signature, as text.
func (k *Key) Sign(c Checkpoint) ([]byte, error) {
	if !isOrigin(c.Origin) || c.Size > MaxSize {
		return nil, errors.New("sign a checkpoint: not one that can be read again")
	}
	signed, err := note.Sign(&note.Note{Text: c.String()}, k.signer)
	if err != nil {
		return nil, fmt.Errorf("sign a checkpoint: %w", err)
	}
	return signed, nil
}

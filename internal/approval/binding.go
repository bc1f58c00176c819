package approval

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// MinKeyBytes is the least length of the key of a Binding's digest.
const MinKeyBytes = 32

// bindingDomain keeps a digest of a binding from being one of anything else.
const bindingDomain = "hookpolicy.dev/approval-binding/v1"

// A Binding is everything that an approval is bound to.
type Binding struct {
	Tool string
	// Args are the final arguments, after all rewrites and without the
	// reserved ones; values as package strictjson parses them.
	Args        map[string]any
	Caller      chain.Caller
	Session     string   // empty if the caller named none
	PolicyUID   string   // of the policy that governs the caller
	ChainDigest string   // of the compiled chain that asked
	Hooks       []string // the asking hooks; order and repetition mean nothing
}

// Digest returns the name of the binding: an HMAC-SHA-256 over its one
// canonical form, in 52 characters a-z and 2-7 (a Kubernetes label can hold
// them). Numbers count as written: approving id 9007199254740992 does not
// approve 9007199254740993. The key, MinKeyBytes or more, is shared by the
// replicas; without it a digest would give short secrets away.
func (b Binding) Digest(key []byte) (string, error) {
	if len(key) < MinKeyBytes {
		return "", errors.New("digest binding: key is too short")
	}
	hooks := slices.Sorted(slices.Values(b.Hooks))
	list := make([]any, 0, len(hooks))
	for _, h := range slices.Compact(hooks) {
		list = append(list, h)
	}
	text, err := strictjson.Append(nil, []any{
		bindingDomain, b.Tool, b.Args, b.Caller.Namespace, b.Caller.ServiceAccount,
		b.Session, b.PolicyUID, b.ChainDigest, list,
	})
	if err != nil {
		return "", fmt.Errorf("digest binding: %w", err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return lowerBase32.EncodeToString(mac.Sum(nil)), nil
}

var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

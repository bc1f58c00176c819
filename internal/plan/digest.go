package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// digestVersion is part of every digest, so that a change of what plans mean
// never leaves an old digest standing for a new meaning.
const digestVersion = "hookpolicy.dev/plan/v1\n"

// Digest returns "sha256:" and the hash of the plan's meaning, in hexadecimal.
// A plan's JSON form has its fields in a fixed order, no maps, and leaves every
// empty list out, so equal plans give equal bytes. Its texts come from parsed
// documents and are valid UTF-8, so different plans give different ones.
func (p *Plan) Digest() string { return digest("plan", p) }

// Digest returns the digest of one segment alone: what the controller puts in
// a HookPolicy's status beside its generation.
func (s *Segment) Digest() string { return digest("segment", s) }

func digest(what string, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		// Impossible: plans hold strings, numbers and lists of them.
		panic(fmt.Sprintf("plan: marshal %s: %v", what, err))
	}
	h := sha256.New()
	h.Write([]byte(digestVersion + what + "\n"))
	h.Write(b)
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

package kube

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// maxExpires keeps what a token says within what time can hold.
const maxExpires = 1 << 40

// claims are what a token says of itself. Nobody has vouched for it: they are
// used to ask the API server less, never to believe more.
type claims struct {
	ends time.Time // the zero value: it does not say
}

// unverified reads the claims of a JSON Web Token. ok is false for what is
// none: no ServiceAccount has such a token.
func unverified(token string) (c claims, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims{}, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return claims{}, false
	}
	var body struct {
		Expires float64 `json:"exp"`
	}
	if err := json.Unmarshal(payload, &body); err != nil {
		return claims{}, false
	}
	if body.Expires > 0 && body.Expires < maxExpires {
		c.ends = time.Unix(int64(body.Expires), 0)
	}
	return c, true
}

package store

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

func TestACommitmentIsAnHMACUnderTheTenantsKey(t *testing.T) {
	var key secret
	rand.Read(key[:])
	tenant := key.tenantKey("team/p")
	if other := key.tenantKey("team/q"); *other == *tenant {
		t.Error("two tenants have one key")
	}
	for _, n := range []int{0, 1, 63, 64, 65, 959, 960, 961, 5000} {
		data := bytes.Repeat([]byte{'x'}, n)
		h := hmac.New(sha256.New, tenant[:])
		h.Write(data)
		if got, want := tenant.commitment(data), hex.EncodeToString(h.Sum(nil)); got != want {
			t.Errorf("of %d bytes: %s, want %s", n, got, want)
		}
	}
}

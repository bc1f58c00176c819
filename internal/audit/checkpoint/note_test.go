package checkpoint_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
)

// The golden vector was computed independently of this package, in two
// languages.
const (
	goldenOrigin   = "audit.example/acme/r0"
	goldenVerifier = "audit.example/acme/r0+55c79445+AWd0W856itJC7G6TQgRaOWbiph7USxoGkNQ15MHp48Tc"
	goldenNote     = "audit.example/acme/r0\n3\n6egpNaZxO79W/E1qV7WhhCaJoudw5frAMQgCM8lVzc0=\n\n" +
		"— audit.example/acme/r0 VceURcxUPmXKOtB+CbbZHV/h0w9Of1CRqmioyIpsue74p2byIZDPIAkL359OA8HdPZI4PTO7G+0XIlsHMt7nqIa2Vww=\n"
)

func goldenKey(tb testing.TB) *checkpoint.Key {
	tb.Helper()
	k, err := checkpoint.NewKey(goldenOrigin, sha256.Sum256([]byte("test vector only")))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func goldenTree(tb testing.TB) (tree checkpoint.Tree) {
	tb.Helper()
	for _, text := range []string{
		"7f746dea06409eb04009cbb52cff5b4de0ae50bd7f30b6186e3249717a70cad7",
		"ee43ddeba5495bbb767b63070b487ad19059f68bbdef1d98616e0655b8a6358e",
		"555694a41eb825daeb4f8083b92c05630668251033ed1946889bca8ca096dfa6",
	} {
		h, err := hex.DecodeString(text)
		if err != nil {
			tb.Fatal(err)
		}
		tree.Append(checkpoint.Hash(h))
	}
	return tree
}

func TestTheGoldenVectorIsSignedAndRead(t *testing.T) {
	k, tree := goldenKey(t), goldenTree(t)
	if k.Verifier() != goldenVerifier {
		t.Errorf("public key is %s", k.Verifier())
	}
	want := checkpoint.Checkpoint{Origin: goldenOrigin, Size: 3, Root: tree.Root()}
	signed, err := k.Sign(want)
	if err != nil || string(signed) != goldenNote {
		t.Errorf("signed is %q (%v)", signed, err)
	}
	v, err := checkpoint.NewVerifiers(goldenVerifier)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := v.Open([]byte(goldenNote)); err != nil || got != want {
		t.Errorf("opened is %+v (%v)", got, err)
	}
}

func TestAKeyComesBackFromItsSecret(t *testing.T) {
	k, err := checkpoint.GenerateKey(goldenOrigin)
	if err != nil {
		t.Fatal(err)
	}
	back, err := checkpoint.ParseKey(k.Secret())
	if err != nil || back.Verifier() != k.Verifier() || back.Name() != goldenOrigin {
		t.Errorf("comes back as %v (%v)", back, err)
	}
	for _, text := range []string{"", k.Secret() + "\n", k.Secret()[1:], k.Verifier(), k.Secret()[:len(k.Secret())-4]} {
		if _, err := checkpoint.ParseKey(text); err == nil {
			t.Error("another text is taken for a secret")
		} else if strings.Contains(err.Error(), "PRIVATE") {
			t.Error("the error holds the secret")
		}
	}
	if _, err := checkpoint.GenerateKey("a+b"); err == nil {
		t.Error("a name with a plus sign is taken")
	}
}

// T30: malformed notes.
func TestMalformedNotesAreRefused(t *testing.T) {
	v, err := checkpoint.NewVerifiers(goldenVerifier)
	if err != nil {
		t.Fatal(err)
	}
	text, sig, _ := strings.Cut(goldenNote, "\n\n")
	other := "— other.example/log " + "AAAAAcxUPmXKOtB+CbbZHV/h0w9Of1CRqmioyIpsue74p2byIZDPIAkL359OA8HdPZI4PTO7G+0XIlsHMt7nqIa2Vww=\n"
	for name, tc := range map[string]struct {
		note string
		good bool
	}{
		"as signed":                       {goldenNote, true},
		"an unknown signature beside it":  {goldenNote + other, true},
		"the same signature twice":        {goldenNote + sig, true},
		"nothing":                         {"", false},
		"no signature":                    {text + "\n", false},
		"an empty signature block":        {text + "\n\n", false},
		"only an unknown signature":       {text + "\n\n" + other, false},
		"a wrong key id":                  {strings.Replace(goldenNote, " VceURc", " VceURd", 1), false},
		"a bad signature of a known key":  {strings.Replace(goldenNote, "nqIa2Vww=", "nqIa2Vwg=", 1), false},
		"another bad one beside the good": {goldenNote + strings.Replace(sig, "nqIa2Vww=", "nqIa2Vwg=", 1), true}, // the specification lets readers skip repeats
		"another size":                    {strings.Replace(goldenNote, "\n3\n", "\n4\n", 1), false},
		"CRLF":                            {strings.ReplaceAll(goldenNote, "\n", "\r\n"), false},
		"bytes after":                     {goldenNote + "x", false},
		"too many signatures":             {goldenNote + strings.Repeat(other, 16), false},
		"larger than any":                 {goldenNote + strings.Repeat(other, 1000), false},
		"NUL":                             {strings.Replace(goldenNote, "acme", "ac\x00me", 1), false},
	} {
		c, err := v.Open([]byte(tc.note))
		if (err == nil) != tc.good {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

func TestExtensionLinesAreRefusedThoughSigned(t *testing.T) {
	for name, text := range map[string]string{
		"an extension line": "o\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\nextra\n",
		"no root":           "o\n0\n",
		"a short root":      "o\n1\n47DEQpj8HBSa\n",
		"a zero before":     "o\n01\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
		"another empty one": "o\n0\n6egpNaZxO79W/E1qV7WhhCaJoudw5frAMQgCM8lVzc0=\n",
		"no origin":         "\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
		"a space in origin": "o o\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
	} {
		if c, err := checkpoint.Parse(text); err == nil {
			t.Errorf("%s is read: %+v", name, c)
		}
	}
	if _, err := checkpoint.Parse("o\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"); err != nil {
		t.Error(err)
	}
}

func TestTheOrderOfTrustIsHeld(t *testing.T) {
	var w checkpoint.Watermark
	for _, step := range []struct {
		next checkpoint.Watermark
		good bool
	}{
		{checkpoint.Watermark{Written: 5}, true},
		{checkpoint.Watermark{Durable: 6, Written: 5}, false},
		{checkpoint.Watermark{Durable: 5, Written: 7}, true},
		{checkpoint.Watermark{Signed: 6, Durable: 5, Written: 7}, false},
		{checkpoint.Watermark{Signed: 5, Durable: 5, Written: 7}, true},
		{checkpoint.Watermark{Anchored: 6, Signed: 5, Durable: 5, Written: 7}, false},
		{checkpoint.Watermark{Anchored: 5, Signed: 5, Durable: 5, Written: 7}, true},
		{checkpoint.Watermark{Anchored: 4, Signed: 5, Durable: 5, Written: 7}, false},
	} {
		before := w
		if err := w.Advance(step.next); (err == nil) != step.good {
			t.Errorf("%+v: %v", step.next, err)
		} else if err != nil && w != before {
			t.Errorf("%+v: changed by an error", step.next)
		}
	}
}

func FuzzNote(f *testing.F) {
	f.Add([]byte(goldenNote))
	f.Add([]byte(strings.ReplaceAll(goldenNote, "\n", "\r\n")))
	v, err := checkpoint.NewVerifiers(goldenVerifier)
	if err != nil {
		f.Fatal(err)
	}
	want, err := v.Open([]byte(goldenNote))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, signed []byte) {
		c, err := v.Open(signed)
		if err == nil && c != want {
			t.Errorf("a note that nobody signed is taken: %+v", c)
		}
		if c, err := checkpoint.OpenUnverified(signed); err == nil && !bytes.HasPrefix(signed, fmt.Append(nil, c)) {
			t.Errorf("%q is read as %+v", signed, c)
		}
	})
}

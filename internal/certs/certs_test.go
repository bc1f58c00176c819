package certs_test

import (
	"bytes"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/certs"
)

var (
	start = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	names = []string{"hookpolicy-default.platform.svc", "hookpolicy-default-0.hookpolicy-default-replicas.platform.svc"}
)

const day = 24 * time.Hour

func TestAServingCertificateIsRenewedAtTwoThirdsOfItsLife(t *testing.T) {
	a := newAuthority(t)
	p := issue(t, a, start)
	for name, tc := range map[string]struct {
		names []string
		at    time.Time
		want  bool
	}{
		"good when fresh":               {names, start, true},
		"good for a clock that lags":    {names, start.Add(-4 * time.Minute), true},
		"good before two thirds":        {names, start.Add(59 * day), true},
		"due after two thirds":          {names, start.Add(60 * day), false},
		"not good for another name":     {[]string{"other.platform.svc"}, start, false},
		"not good for one name less":    {names[:1], start, false},
		"not good before it was signed": {names, start.Add(-day), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := a.Serves(p, tc.names, tc.at); got != tc.want {
				t.Errorf("Serves = %v, want %v", got, tc.want)
			}
		})
	}
	if a.Serves(nil, names, start) {
		t.Error("no certificate is good")
	}
	if newAuthority(t).Serves(p, names, start) {
		t.Error("a certificate of another authority is good")
	}
}

func TestTheNextAuthorityIsPublishedBeforeItSigns(t *testing.T) {
	a := newAuthority(t)
	old := issue(t, a, start)
	if again := advance(t, a, start.Add(certs.AuthorityLifetime/2)); again != a {
		t.Fatal("rotated at half of its life")
	}
	at := start.Add(certs.AuthorityLifetime / 3 * 2)
	made := advance(t, a, at)
	if made == a || !bytes.HasPrefix(made.Bundle(), a.Bundle()) || len(made.Bundle()) <= len(a.Bundle()) {
		t.Fatal("no next authority in the bundle at two thirds of the life")
	}
	if late := advance(t, made, at.Add(300*day)); late != made {
		t.Error("an authority that was never published came to sign")
	}
	if p := issue(t, made, at); !a.Serves(p, names, at) {
		t.Error("the next authority signed before it was published")
	}
	published := made.Published(at.Add(day))
	if published.Published(at.Add(2*day)) != published {
		t.Error("the time of publication was put off")
	}
	if early := advance(t, published, at.Add(certs.OverlapPeriod)); early != published {
		t.Error("the next authority came to sign before everybody could know it")
	}
	when := published.NextStep()
	if want := at.Add(day + certs.OverlapPeriod); !when.Equal(want) {
		t.Errorf("next step at %v, want %v", when, want)
	}
	rotated := advance(t, published, when)
	if p := issue(t, rotated, when); !made.Serves(p, names, when) || a.Serves(p, names, when) {
		t.Error("the new authority does not sign, or was not in the bundle that was published")
	}
	if !rotated.Serves(old, names, start) {
		t.Error("what the old authority signed is not trusted any more")
	}
	end := start.Add(certs.AuthorityLifetime + day)
	if done := advance(t, rotated, end); done == rotated || len(done.Bundle()) >= len(rotated.Bundle()) {
		t.Error("an expired authority stays in the bundle")
	}
}

func TestAnAuthorityIsReadAsItWasStored(t *testing.T) {
	a := newAuthority(t)
	at := start.Add(certs.AuthorityLifetime / 3 * 2)
	made := advance(t, a, at)
	rotated := advance(t, made.Published(at), at.Add(certs.OverlapPeriod))
	for name, a := range map[string]*certs.Authority{
		"new": a, "with a next one": made, "with a published next one": made.Published(at), "rotated": rotated,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := certs.ParseAuthority(a.Data())
			if err != nil {
				t.Fatal(err)
			}
			if !maps.EqualFunc(got.Data(), a.Data(), bytes.Equal) || !got.NextStep().Equal(a.NextStep()) {
				t.Error("it is another one now")
			}
			if !a.Serves(issue(t, got, at), names, at) {
				t.Error("it does not sign")
			}
		})
	}
}

func TestADamagedAuthorityIsAnError(t *testing.T) {
	at := start.Add(certs.AuthorityLifetime / 3 * 2)
	good := advance(t, newAuthority(t), at).Published(at).Data()
	other := newAuthority(t).Data()
	for key, bad := range map[string][]byte{
		"tls.crt": other["tls.crt"], "tls.key": nil, "next.crt": []byte("x"), "next.key": other["tls.key"],
		"next-published": []byte("yesterday"), "previous.crt": []byte("x"),
	} {
		t.Run(key, func(t *testing.T) {
			data := maps.Clone(good)
			data[key] = bad
			if _, err := certs.ParseAuthority(data); err == nil {
				t.Error("read without an error")
			} else if bytes.Contains([]byte(err.Error()), []byte("PRIVATE")) {
				t.Error("the error holds a key")
			}
		})
	}
	if _, err := certs.ParseAuthority(nil); err == nil {
		t.Error("nothing was read without an error")
	}
}

func TestNothingIsSignedForNobody(t *testing.T) {
	if _, err := newAuthority(t).Issue(nil, start); err == nil {
		t.Error("a certificate without a name was signed")
	}
	long := []string{string(bytes.Repeat([]byte("a"), 63)) + ".platform.svc"}
	p, err := newAuthority(t).Issue(long, start)
	if err != nil || !slices.Equal(p.Certificate.DNSNames, long) {
		t.Errorf("a long name: %v", err)
	}
}

func newAuthority(t *testing.T) *certs.Authority {
	t.Helper()
	a, err := certs.NewAuthority(start)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func issue(t *testing.T, a *certs.Authority, at time.Time) *certs.Pair {
	t.Helper()
	p, err := a.Issue(names, at)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func advance(t *testing.T, a *certs.Authority, at time.Time) *certs.Authority {
	t.Helper()
	b, err := a.Advance(at)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

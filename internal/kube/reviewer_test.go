package kube_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/kube"
	"github.com/hookpolicy/hookpolicy/internal/kubetest"
	"github.com/hookpolicy/hookpolicy/internal/server"
)

const audience = "hookpolicy.dev/system/default"

func request(tb testing.TB, token string) *http.Request {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), http.MethodPost, "/", http.NoBody)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

// code is how an error is answered: a code, or "unavailable" for none.
func code(err error) string {
	refused, ok := errors.AsType[*engine.RefusedError](err)
	switch {
	case err == nil:
		return ""
	case ok:
		return refused.Code
	default:
		return "unavailable"
	}
}

func TestCallersAreKnownByTokensForThisService(t *testing.T) {
	s := cluster.Server(t)
	ns := s.Namespace(t, "callers")
	s.ServiceAccount(t, ns, "agent")
	reviewer := kube.NewTokenReviewer(newClient(t, s.Config()), audience, nil)
	token := func(audience string) string {
		return s.Token(t, kubetest.TokenFor{Namespace: ns, ServiceAccount: "agent", Audience: audience})
	}
	good := token(audience)
	for name, tc := range map[string]struct{ token, want, code string }{
		"its own":                       {good, ns + "/agent", ""},
		"its own again":                 {good, ns + "/agent", ""},
		"one for another service":       {token("hookpolicy.dev/system/other"), "/", server.CodeUnauthenticated},
		"one for the API server":        {token(""), "/", server.CodeUnauthenticated},
		"one with a changed signature":  {good[:len(good)-4] + "AAAA", "/", server.CodeUnauthenticated},
		"one that is no JSON Web Token": {"0123456789abcdef", "/", server.CodeUnauthenticated},
		"none":                          {"", "/", server.CodeUnauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			caller, err := reviewer.Authenticate(request(t, tc.token))
			if caller.String() != tc.want || code(err) != tc.code {
				t.Errorf("caller %s, error %v", caller, err)
			}
		})
	}
}

// reviews is an API server that answers every review with the same status.
func reviews(t *testing.T, status string, down *atomic.Bool) (*rest.Config, *atomic.Int64) {
	t.Helper()
	asked := new(atomic.Int64)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if down.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":` + status + `}`))
	}))
	t.Cleanup(srv.Close)
	return &rest.Config{Host: srv.URL}, asked
}

// jwt is a token that says nothing of itself.
const jwt = "e30.e30.c2ln"

func TestAnAnswerOfTheAPIServerIsJudged(t *testing.T) {
	for name, tc := range map[string]struct{ status, want, code string }{
		"a ServiceAccount":                           {`{"authenticated":true,"audiences":["x","` + audience + `"],"user":{"username":"system:serviceaccount:ns:sa"}}`, "ns/sa", ""},
		"no audience, from a server that knows none": {`{"authenticated":true,"user":{"username":"system:serviceaccount:ns:sa"}}`, "/", server.CodeUnauthenticated},
		"another audience":                           {`{"authenticated":true,"audiences":["x"],"user":{"username":"system:serviceaccount:ns:sa"}}`, "/", server.CodeUnauthenticated},
		"a person":                                   {`{"authenticated":true,"audiences":["` + audience + `"],"user":{"username":"alice"}}`, "/", server.CodeUnauthenticated},
		"a name with too many parts":                 {`{"authenticated":true,"audiences":["` + audience + `"],"user":{"username":"system:serviceaccount:a:b:c"}}`, "/", server.CodeUnauthenticated},
		"a name with an empty part":                  {`{"authenticated":true,"audiences":["` + audience + `"],"user":{"username":"system:serviceaccount::b"}}`, "/", server.CodeUnauthenticated},
		"nothing":                                    {`{}`, "/", server.CodeUnauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			config, _ := reviews(t, tc.status, new(atomic.Bool))
			caller, err := kube.NewTokenReviewer(newClient(t, config), audience, nil).Authenticate(request(t, jwt))
			if caller.String() != tc.want || code(err) != tc.code {
				t.Errorf("caller %s, error %v", caller, err)
			}
		})
	}
}

func TestWithoutTheAPIServerOnlyKnownTokensCount(t *testing.T) {
	down := new(atomic.Bool)
	config, asked := reviews(t, `{"authenticated":true,"audiences":["`+audience+`"],"user":{"username":"system:serviceaccount:ns:sa"}}`, down)
	reviewer := kube.NewTokenReviewer(newClient(t, config), audience, nil)
	for range 3 {
		if _, err := reviewer.Authenticate(request(t, jwt)); err != nil {
			t.Fatal(err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("one token was reviewed %d times", n)
	}
	down.Store(true)
	if _, err := reviewer.Authenticate(request(t, jwt)); err != nil {
		t.Errorf("a known token: %v", err)
	}
	if _, err := reviewer.Authenticate(request(t, "e30.e30.b3RoZXI")); code(err) != "unavailable" {
		t.Errorf("an unknown token: %v", err)
	}
}

func TestATokenThatHasEndedIsNotAskedAbout(t *testing.T) {
	config, asked := reviews(t, `{}`, new(atomic.Bool))
	reviewer := kube.NewTokenReviewer(newClient(t, config), audience, nil)
	const ended = "e30.eyJleHAiOjF9.c2ln" // {"exp":1}
	if _, err := reviewer.Authenticate(request(t, ended)); code(err) != server.CodeUnauthenticated || asked.Load() != 0 {
		t.Errorf("error %v after %d questions", err, asked.Load())
	}
}

package v1_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
)

func newClient(t *testing.T, h http.HandlerFunc, o v1.Options) *v1.Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := v1.New(srv.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// says answers every request alike.
func says(status int, media, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

var question = v1.Request{Tool: "db_query_sql", Args: json.RawMessage(`{"sql":"SELECT 1"}`)}

func TestAnAnswerComesBackAsItWasGiven(t *testing.T) {
	var got v1.Request
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != v1.PathDecide || r.Header.Get("Authorization") != "Bearer t0" {
			t.Errorf("request %s %s %v", r.Method, r.URL, r.Header)
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		says(200, "application/json; charset=utf-8", `{"decision":"Rewrite","args":{"n":9007199254740993},"new":1}`)(w, r)
	}, v1.Options{Token: func(context.Context) (string, error) { return "t0", nil }})
	resp, err := c.Decide(t.Context(), question)
	if err != nil || resp.Decision != v1.Rewrite || string(resp.Args) != `{"n":9007199254740993}` {
		t.Errorf("answer %+v, error %v", resp, err)
	}
	if diff := cmp.Diff(question, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestWhateverGoesWrongIsADeny(t *testing.T) {
	const allow = `{"decision":"Allow","args":{}}`
	elsewhere := httptest.NewServer(says(200, "application/json", allow))
	defer elsewhere.Close()
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		code    string
		noError bool
	}{
		"no decision":                {says(200, "application/json", `{"args":{}}`), v1.CodeBadAnswer, false},
		"another decision":           {says(200, "application/json", `{"decision":"allow","args":{}}`), v1.CodeBadAnswer, false},
		"null":                       {says(200, "application/json", `null`), v1.CodeBadAnswer, false},
		"an array":                   {says(200, "application/json", `[`+allow+`]`), v1.CodeBadAnswer, false},
		"an allow without arguments": {says(200, "application/json", `{"decision":"Allow"}`), v1.CodeBadAnswer, false},
		"an allow of null":           {says(200, "application/json", `{"decision":"Allow","args":null}`), v1.CodeBadAnswer, false},
		"an allow of a list":         {says(200, "application/json", `{"decision":"Rewrite","args":[]}`), v1.CodeBadAnswer, false},
		"an allow of another status": {says(201, "application/json", allow), v1.CodeBadAnswer, false},
		"an allow with a refusal":    {says(403, "application/json", allow), v1.CodeBadAnswer, false},
		"an allow with a failure":    {says(500, "application/json", allow), v1.CodeBadAnswer, false},
		"an allow that is no JSON":   {says(200, "text/plain", allow), v1.CodeBadAnswer, false},
		"an allow without a media":   {says(200, "", allow), v1.CodeBadAnswer, false},
		"two documents":              {says(200, "application/json", allow+allow), v1.CodeBadAnswer, false},
		"half a document":            {says(200, "application/json", allow[:20]), v1.CodeBadAnswer, false},
		"a page of a proxy":          {says(502, "text/html", "<html>"), v1.CodeBadAnswer, false},
		"a document without an end":  {says(200, "application/json", `{"decision":"Allow","args":{"a":"`+strings.Repeat("x", 5<<20)+`"}}`), v1.CodeBadAnswer, false},
		"a redirect to another's word": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, v1.CodeBadAnswer, false},
		"a connection that ends": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, v1.CodeUnreachable, false},
		"a body that ends early": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			says(200, "application/json", allow)(w, r)
		}, v1.CodeUnreachable, false},
		"a failure that says why": {says(503, "application/json", `{"decision":"Deny","reason":{"code":"service.busy","message":"m"}}`), "service.busy", false},
		"a refusal is an answer":  {says(401, "application/json", `{"decision":"Deny","reason":{"code":"caller.unauthenticated","message":"m"}}`), "caller.unauthenticated", true},
		"a deny is an answer":     {says(200, "application/json", `{"decision":"Deny","reason":{"code":"path.outside","message":"m"}}`), "path.outside", true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, tc.handler, v1.Options{})
			resp, err := c.Decide(t.Context(), question)
			if resp == nil || resp.Decision != v1.Deny || resp.Reason == nil || resp.Reason.Code != tc.code || (err == nil) != tc.noError {
				t.Errorf("answer %+v, error %v", resp, err)
			}
		})
	}
}

func TestAServiceThatDoesNotAnswerIsADenyInTime(t *testing.T) {
	release := make(chan struct{})
	c := newClient(t, func(http.ResponseWriter, *http.Request) { <-release }, v1.Options{Timeout: 20 * time.Millisecond})
	defer close(release)
	resp, err := c.Decide(t.Context(), question)
	if resp.Decision != v1.Deny || resp.Reason.Code != v1.CodeUnreachable || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("answer %+v, error %v", resp, err)
	}
	gone, err := v1.New("http://127.0.0.1:1", v1.Options{})
	if err != nil {
		t.Fatal(err)
	}
	resp, err = gone.Decide(t.Context(), v1.Request{CallID: "c", Tool: "t", Args: json.RawMessage(`{}`)})
	if err == nil || resp.Decision != v1.Deny || resp.Reason.Code != v1.CodeUnreachable || resp.CallID != "c" {
		t.Errorf("answer %+v, error %v", resp, err)
	}
	resp, err = gone.Decide(t.Context(), v1.Request{Tool: "t", Args: json.RawMessage(`{`)})
	if err == nil || resp.Decision != v1.Deny || resp.Reason.Code != v1.CodeBadRequest {
		t.Errorf("answer %+v, error %v", resp, err)
	}
}

func TestOnlyAQuestionWithACallIDIsAskedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		id    string
		asked int64
		want  v1.Decision
	}{
		"with a call id":    {"c1", 2, v1.Allow},
		"without a call id": {"", 1, v1.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) == 1 {
					panic(http.ErrAbortHandler)
				}
				says(200, "application/json", `{"callId":"c1","decision":"Allow","args":{}}`)(w, r)
			}, v1.Options{})
			req := question
			req.CallID = tc.id
			resp, _ := c.Decide(t.Context(), req)
			if resp.Decision != tc.want || asked.Load() != tc.asked {
				t.Errorf("answer %+v after %d questions", resp, asked.Load())
			}
		})
	}
	t.Run("and its answer must be its own", func(t *testing.T) {
		c := newClient(t, says(200, "application/json", `{"callId":"c2","decision":"Allow","args":{}}`), v1.Options{})
		req := question
		req.CallID = "c1"
		if resp, err := c.Decide(t.Context(), req); err == nil || resp.Decision != v1.Deny || resp.Reason.Code != v1.CodeBadAnswer {
			t.Errorf("answer %+v, error %v", resp, err)
		}
	})
	t.Run("never without an end", func(t *testing.T) {
		var asked atomic.Int64
		c := newClient(t, func(http.ResponseWriter, *http.Request) { asked.Add(1); panic(http.ErrAbortHandler) }, v1.Options{})
		req := question
		req.CallID = "c1"
		if resp, err := c.Decide(t.Context(), req); err == nil || resp.Decision != v1.Deny || asked.Load() != 3 {
			t.Errorf("answer %+v after %d questions", resp, asked.Load())
		}
	})
}

func TestATokenFileIsReadEachTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	var got []string
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		says(200, "application/json", `{"decision":"Deny"}`)(w, r)
	}, v1.Options{TokenFile: path})
	if resp, err := c.Decide(t.Context(), question); err == nil || resp.Reason.Code != v1.CodeUnreachable {
		t.Errorf("answer %+v without a token", resp)
	}
	for _, token := range []string{"one", "two\n"} {
		if err := os.WriteFile(path, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Decide(t.Context(), question); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"Bearer one", "Bearer two"}, got); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

func TestAServiceIsKnownByItsCA(t *testing.T) {
	srv := httptest.NewTLSServer(says(200, "application/json", `{"decision":"Allow","args":{}}`))
	defer srv.Close()
	ca := filepath.Join(t.TempDir(), "ca.crt")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}
	if err := os.WriteFile(ca, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		options v1.Options
		want    v1.Decision
	}{
		"of the file": {v1.Options{CAFile: ca}, v1.Allow},
		"of another":  {v1.Options{}, v1.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := v1.New(srv.URL, tc.options)
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := c.Decide(t.Context(), question); resp.Decision != tc.want {
				t.Errorf("answer %+v, error %v", resp, err)
			}
		})
	}
}

func TestAClientTrustsWhatItsCAFileSaysNow(t *testing.T) {
	allow := says(200, "application/json", `{"decision":"Allow","args":{}}`)
	old, next := httptest.NewTLSServer(allow), httptest.NewUnstartedServer(allow)
	defer old.Close()
	defer next.Close()
	next.TLS = &tls.Config{Certificates: []tls.Certificate{selfSigned(t)}}
	next.StartTLS()
	ca := filepath.Join(t.TempDir(), "ca.crt")
	publish := func(text []byte) {
		t.Helper()
		if err := errors.Join(os.WriteFile(ca+".new", text, 0o600), os.Rename(ca+".new", ca)); err != nil {
			t.Fatal(err)
		}
	}
	of := func(srv *httptest.Server) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	}
	publish(of(old))
	toOld, err1 := v1.New(old.URL, v1.Options{CAFile: ca})
	toNext, err2 := v1.New(next.URL, v1.Options{CAFile: ca})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		file      []byte
		old, next v1.Decision
	}{
		{of(old), v1.Allow, v1.Deny}, {of(next), v1.Deny, v1.Allow}, {[]byte("half written"), v1.Deny, v1.Allow}, {append(of(old), of(next)...), v1.Allow, v1.Allow},
	} {
		publish(step.file)
		a, _ := toOld.Decide(t.Context(), question)
		b, _ := toNext.Decide(t.Context(), question)
		if a.Decision != step.old || b.Decision != step.next {
			t.Errorf("with %.30q: %s and %s", step.file, a.Decision, b.Decision)
		}
	}
}

// selfSigned is a certificate of its own authority, for loopback addresses.
func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestAClientThatWouldBeUnsafeIsNotMade(t *testing.T) {
	token := func(context.Context) (string, error) { return "t", nil }
	for name, tc := range map[string]struct {
		url     string
		options v1.Options
	}{
		"no URL":                        {"", v1.Options{}},
		"another scheme":                {"unix:///run/x", v1.Options{}},
		"a password in the URL":         {"https://u:p@host", v1.Options{}},
		"a query in the URL":            {"https://host?x=1", v1.Options{}},
		"a token in the clear":          {"http://host:8080", v1.Options{Token: token}},
		"two sources of the token":      {"https://host", v1.Options{Token: token, TokenFile: "f"}},
		"two sources of TLS settings":   {"https://host", v1.Options{HTTPClient: &http.Client{}, CAFile: "f"}},
		"a CA file that does not exist": {"https://host", v1.Options{CAFile: filepath.Join(t.TempDir(), "none")}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := v1.New(tc.url, tc.options); err == nil {
				t.Error("it was made")
			} else if strings.Contains(err.Error(), "u:p") {
				t.Errorf("error %v holds a password", err)
			}
		})
	}
	for url, options := range map[string]v1.Options{
		"http://localhost:8080/": {Token: token}, "http://[::1]:80": {Token: token}, "http://host": {Token: token, AllowPlaintext: true}, "http://h": {},
	} {
		if _, err := v1.New(url, options); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestOutcomeAndApproval(t *testing.T) {
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.String() {
		case "POST /v1/outcomes":
			says(409, "application/json", `{"decision":"Deny","reason":{"code":"outcome.repeated","message":"m"}}`)(w, r)
		case "GET /v1/approvals/ap-1?wait=5m0s":
			says(200, "application/json", `{"id":"ap-1","state":"Approved","prompt":"p","expiresAt":"2026-01-02T03:04:05Z"}`)(w, r)
		case "GET /v1/approvals/ap%2F2?wait=0s":
			says(200, "application/json", `{"id":"ap-1","state":"Approved"}`)(w, r)
		default:
			t.Errorf("request %s %s", r.Method, r.URL)
		}
	}, v1.Options{})
	_, err := c.Outcome(t.Context(), v1.Outcome{})
	if e, ok := errors.AsType[*v1.StatusError](err); !ok || e.StatusCode != 409 || e.Code != "outcome.repeated" {
		t.Errorf("error %v", err)
	}
	if a, err := c.Approval(t.Context(), "ap-1", time.Hour); err != nil || a.State != v1.Approved {
		t.Errorf("approval %+v, error %v", a, err)
	}
	if a, err := c.Approval(t.Context(), "ap/2", 0); err == nil {
		t.Errorf("approval %+v of another id was taken", a)
	}
}

// service answers decisions with a fixed text and keeps the outcomes.
type service struct {
	decision string
	outcomes []v1.Outcome
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == v1.PathDecide {
		var req v1.Request
		_ = json.NewDecoder(r.Body).Decode(&req)
		says(200, "application/json", fmt.Sprintf(`{"callId":%q,%s}`, req.CallID, s.decision))(w, r)
		return
	}
	var o v1.Outcome
	_ = json.NewDecoder(r.Body).Decode(&o)
	s.outcomes = append(s.outcomes, o)
	says(200, "application/json", `{"callId":"c"}`)(w, r)
}

func TestRunGivesTheToolWhatWasDecidedAndReportsWhatItDid(t *testing.T) {
	const receipt = `"audit":{"chain":"c","seq":"7","hash":"h"}`
	failed := errors.New("no such table " + strings.Repeat("é", 2000))
	for name, tc := range map[string]struct {
		decision string
		toolErr  error
		status   string // "" if the tool must not run
	}{
		"allow":                  {`"decision":"Allow","args":{"sql":"SELECT 1"},` + receipt, nil, v1.OutcomeOK},
		"rewrite":                {`"decision":"Rewrite","args":{"sql":"SELECT 1"},` + receipt, nil, v1.OutcomeOK},
		"an error of the tool":   {`"decision":"Allow","args":{"sql":"SELECT 1"},` + receipt, failed, v1.OutcomeError},
		"deny":                   {`"decision":"Deny","args":{"sql":"SELECT 1"},` + receipt, nil, ""},
		"ask":                    {`"decision":"AskUser","args":{"sql":"SELECT 1"},` + receipt, nil, ""},
		"a word that is unknown": {`"decision":"Yes","args":{"sql":"SELECT 1"},` + receipt, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &service{decision: tc.decision}
			c := newClient(t, s.ServeHTTP, v1.Options{})
			ranWith := ""
			ran, err := c.Run(t.Context(), v1.Request{Tool: "t", Args: json.RawMessage(`{"sql":"DROP TABLE t"}`)},
				func(_ context.Context, args json.RawMessage) ([]byte, error) {
					ranWith = string(args)
					return []byte("result"), tc.toolErr
				})
			if tc.status == "" {
				if e, ok := errors.AsType[*v1.NotAllowedError](err); !ok || e.Response == nil || ran != nil || ranWith != "" || len(s.outcomes) != 0 {
					t.Errorf("ran with %q, error %v", ranWith, err)
				}
				return
			}
			if ran == nil || !errors.Is(err, tc.toolErr) || ran.OutcomeErr != nil || string(ran.Result) != "result" || ranWith != `{"sql":"SELECT 1"}` {
				t.Fatalf("ran %+v with %s, error %v", ran, ranWith, err)
			}
			o := s.outcomes[0]
			if o.Status != tc.status || o.CallID == "" || o.CallID != ran.Response.CallID || o.Audit.Seq != "7" || o.ResultDigest != "" {
				t.Errorf("outcome %+v", o)
			}
			if (o.Error != "") != (tc.toolErr != nil) || len(o.Error) > 1024 || strings.Contains(o.Error, "\ufffd") {
				t.Errorf("error %q reported", o.Error)
			}
		})
	}
}

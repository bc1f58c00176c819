package server_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/server"
)

func TestACallReachesTheEngineAsWrittenAndItsAnswerComesBack(t *testing.T) {
	f := &fakeEngine{}
	srv := start(t, f, nil)
	resp, doc := srv.do(t, http.MethodPost, "/v1/decide",
		`{"callId":"c1","tool":"t","args":{"id":9007199254740993,"e":1e400},"session":"s"}`,
		http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}) // what curl -d sends
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("answer %d %s", resp.StatusCode, doc)
	}
	want := `{"callId":"c1","decision":"Allow","args":{"e":1e400,"id":9007199254740993}}` + "\n"
	if string(doc) != want {
		t.Errorf("answer %s, want %s", doc, want)
	}
	if len(f.callers) != 1 || f.callers[0] != etl {
		t.Errorf("callers %v", f.callers)
	}
}

func TestWhatIsNoCallIsRefusedAndRecorded(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := z.Write(bytes.Repeat([]byte(" "), 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	padded := question + strings.Repeat(" ", 1<<20+1-len(question)) // valid JSON, one byte above the limit
	for name, tc := range map[string]struct {
		method, path, body string
		header             http.Header
		status             int
		code               string
	}{
		"the call in a query string":       {http.MethodGet, "/v1/decide?tool=db_query_sql&sql=DROP", "", nil, 405, "request.method"},
		"another method":                   {http.MethodPut, "/v1/decide", question, nil, 405, "request.method"},
		"a method that nobody knows":       {"BREW", "/v1/outcomes", question, nil, 405, "request.method"},
		"an unknown path":                  {http.MethodPost, "/v1/decide/", question, nil, 404, "request.path"},
		"a path that a mux would redirect": {http.MethodPost, "//v1/decide", question, nil, 404, "request.path"},
		"a path in another case":           {http.MethodPost, "/V1/decide", question, nil, 404, "request.path"},
		"a compressed body":                {http.MethodPost, "/v1/decide", bomb.String(), http.Header{"Content-Encoding": {"gzip"}}, 415, "request.encoding"},
		"a body coded twice":               {http.MethodPost, "/v1/decide", question, http.Header{"Content-Encoding": {"identity, gzip"}}, 415, "request.encoding"},
		"one byte too many":                {http.MethodPost, "/v1/decide", padded, nil, 413, "request.too_large"},
		"nothing":                          {http.MethodPost, "/v1/decide", "", nil, 400, "request.syntax"},
		"a page of another origin":         {http.MethodPost, "/v1/decide", question, http.Header{"Origin": {"https://evil.example"}}, 403, "request.cross_origin"},
		"a page of another site":           {http.MethodPost, "/v1/decide", question, http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403, "request.cross_origin"},
		"a name that was pointed here":     {http.MethodPost, "/v1/decide", question, http.Header{"Host": {"evil.example"}}, 403, "request.host"},
		"a name like ours":                 {http.MethodGet, "/metrics", "", http.Header{"Host": {"localhost.evil.example:80"}}, 403, "request.host"},
		"an id that is no id":              {http.MethodGet, "/v1/approvals/..%2fx", "", nil, 404, "approval.unknown"},
		"no id":                            {http.MethodGet, "/v1/approvals/", "", nil, 404, "approval.unknown"},
		"a wait that is too long":          {http.MethodGet, "/v1/approvals/ap-1?wait=301s", "", nil, 400, "request.wait"},
		"an outcome without its decision":  {http.MethodPost, "/v1/outcomes", `{"status":"ok"}`, nil, 400, "request.audit"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeEngine{}
			srv := start(t, f, nil)
			resp, doc := srv.do(t, tc.method, tc.path, tc.body, tc.header)
			caller := etl.String()
			if tc.status == http.StatusForbidden {
				caller = "" // refused before anyone asked who it is
			}
			wantDeny(t, f, tc.status, doc, resp.StatusCode, tc.code, caller)
			if len(f.requests) != 0 {
				t.Error("the engine was asked")
			}
		})
	}
}

func TestABodyOfUnknownLengthIsNeverInspectedInPart(t *testing.T) {
	f := &fakeEngine{}
	srv := start(t, f, nil)
	chunk := "100000\r\n" + question + strings.Repeat(" ", 1<<20-len(question)) + "\r\n"
	resp, doc, _ := srv.raw(t, "POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk+"1\r\n \r\n0\r\n\r\n")
	wantDeny(t, f, 413, doc, resp.StatusCode, "request.too_large", etl.String())
	resp, doc, _ = srv.raw(t, "POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk+"0\r\n\r\n")
	if resp.StatusCode != http.StatusOK {
		t.Errorf("answer %d %s to a document of exactly 1 MiB", resp.StatusCode, doc)
	}
}

func TestADecisionHasItsStatus(t *testing.T) {
	denied := func(code string) *decisionv1.Response {
		return &decisionv1.Response{Decision: decisionv1.Deny, Reason: &decisionv1.Reason{Code: code}}
	}
	for name, tc := range map[string]struct {
		resp     *decisionv1.Response
		status   int
		decision decisionv1.Decision
		code     string
	}{
		"a deny is 200":                  {denied("path.outside"), 200, decisionv1.Deny, "path.outside"},
		"a deny for want of a log too":   {denied("audit.unavailable"), 200, decisionv1.Deny, "audit.unavailable"},
		"a reused call id is 409":        {denied("call.id_reused"), 409, decisionv1.Deny, "call.id_reused"},
		"an ask is 200":                  {&decisionv1.Response{Decision: decisionv1.AskUser}, 200, decisionv1.AskUser, ""},
		"no answer is a deny":            {nil, 500, decisionv1.Deny, "service.failed"},
		"a zero answer is a deny":        {&decisionv1.Response{}, 500, decisionv1.Deny, "service.failed"},
		"another word is a deny":         {&decisionv1.Response{Decision: "allow"}, 500, decisionv1.Deny, "service.failed"},
		"an allow of nothing is a deny":  {&decisionv1.Response{Decision: decisionv1.Allow}, 500, decisionv1.Deny, "service.failed"},
		"what cannot be written is deny": {&decisionv1.Response{Decision: decisionv1.AskUser, Hook: "\xff"}, 500, decisionv1.Deny, "service.failed"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeEngine{decideFunc: func(context.Context, engine.Request) *decisionv1.Response { return tc.resp }}
			resp, doc := start(t, f, nil).do(t, http.MethodPost, "/v1/decide", question, nil)
			got := answerOf(t, doc)
			code := ""
			if got.Reason != nil {
				code = got.Reason.Code
			}
			if resp.StatusCode != tc.status || got.Decision != tc.decision || code != tc.code {
				t.Errorf("answer %d %s", resp.StatusCode, doc)
			}
		})
	}
}

func TestAPanicIsADenyAndNothingOfItLeaves(t *testing.T) {
	var log bytes.Buffer
	f := &fakeEngine{decideFunc: func(context.Context, engine.Request) *decisionv1.Response { panic("SELECT secret") }}
	srv := start(t, f, func(c *server.Config) { c.Logger = logTo(&log) })
	resp, doc := srv.do(t, http.MethodPost, "/v1/decide", question, nil)
	wantDeny(t, f, 500, doc, resp.StatusCode, "service.failed", etl.String())

	f.refuseFunc = func() *decisionv1.Response { panic("once more") }
	resp, doc = srv.do(t, http.MethodPost, "/v1/decide", question, nil)
	if got := answerOf(t, doc); resp.StatusCode != 500 || got.Decision != decisionv1.Deny {
		t.Errorf("answer %d %s when recording panics too", resp.StatusCode, doc)
	}
	if bytes.Contains(doc, []byte("secret")) || strings.Contains(log.String(), "secret") {
		t.Errorf("the panic's text leaves: %s, log %s", doc, &log)
	}
	if !strings.Contains(log.String(), "Handler panicked") {
		t.Errorf("log %s", &log)
	}
}

func TestARefusalIsADenyWhateverTheEngineSays(t *testing.T) {
	f := &fakeEngine{refuseFunc: func() *decisionv1.Response {
		return &decisionv1.Response{Decision: decisionv1.Allow, Args: json.RawMessage(`{}`)}
	}}
	resp, doc := start(t, f, nil).do(t, http.MethodPost, "/v1/decide", `{`, nil)
	wantDeny(t, f, 400, doc, resp.StatusCode, "request.syntax", etl.String())
}

func TestOutcomesAndApprovals(t *testing.T) {
	var outcome decisionv1.Outcome
	f := &fakeEngine{
		outcomeFunc: func(o decisionv1.Outcome) (*decisionv1.OutcomeResponse, error) {
			switch outcome = o; o.CallID {
			case "again":
				return nil, &engine.RefusedError{Code: "outcome.repeated", Message: "reported already"}
			case "broken":
				return nil, errors.New("disk /var/lib on fire")
			}
			return &decisionv1.OutcomeResponse{CallID: o.CallID, Audit: &decisionv1.Receipt{Chain: "c", Seq: "8", Hash: "h"}}, nil
		},
		approvalFunc: func(_ context.Context, id string, wait time.Duration) (*decisionv1.Approval, error) {
			if id != "ap-1" {
				return nil, &engine.RefusedError{Code: "approval.unknown", Message: "no such approval"}
			}
			if wait != 30*time.Second {
				return nil, errors.New("no wait")
			}
			return &decisionv1.Approval{ID: id, State: decisionv1.Pending}, nil
		},
	}
	srv := start(t, f, nil)
	report := func(callID string) (*http.Response, []byte) {
		return srv.do(t, http.MethodPost, "/v1/outcomes",
			`{"callId":"`+callID+`","audit":{"chain":"c","seq":"7","hash":"h"},"status":"ok","durationMs":12}`, nil)
	}
	resp, doc := report("c1")
	if want := `{"callId":"c1","audit":{"chain":"c","seq":"8","hash":"h"}}` + "\n"; resp.StatusCode != 200 || string(doc) != want {
		t.Errorf("answer %d %s", resp.StatusCode, doc)
	}
	want := decisionv1.Outcome{CallID: "c1", Audit: decisionv1.Receipt{Chain: "c", Seq: "7", Hash: "h"}, Status: "ok", DurationMs: 12}
	if diff := cmp.Diff(want, outcome); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	resp, doc = report("again")
	if got := answerOf(t, doc); resp.StatusCode != 409 || got.Decision != decisionv1.Deny || got.Reason.Code != "outcome.repeated" {
		t.Errorf("answer %d %s", resp.StatusCode, doc)
	}
	if n := len(f.refused()); n != 0 {
		t.Errorf("%d refusals recorded by the server: the engine has recorded its own", n)
	}
	resp, doc = report("broken")
	wantDeny(t, f, 500, doc, resp.StatusCode, "service.failed", etl.String())
	if strings.Contains(string(doc), "disk") {
		t.Errorf("answer %s tells of the inside", doc)
	}

	resp, doc = srv.do(t, http.MethodGet, "/v1/approvals/ap-1?wait=30s", "", nil)
	if resp.StatusCode != 200 || !strings.Contains(string(doc), `"state":"Pending"`) {
		t.Errorf("answer %d %s", resp.StatusCode, doc)
	}
	resp, doc = srv.do(t, http.MethodGet, "/v1/approvals/ap-2", "", nil)
	if got := answerOf(t, doc); resp.StatusCode != 404 || got.Reason.Code != "approval.unknown" {
		t.Errorf("answer %d %s", resp.StatusCode, doc)
	}
}

func TestProbesAndMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	f := &fakeEngine{unready: errors.New("no policy is loaded")}
	srv := start(t, f, func(c *server.Config) { c.Registerer, c.Gatherer = registry, registry })
	if resp, doc := srv.do(t, http.MethodGet, "/healthz", "", nil); resp.StatusCode != 200 || string(doc) != "ok\n" {
		t.Errorf("health %d %s", resp.StatusCode, doc)
	}
	if resp, doc := srv.do(t, http.MethodGet, "/readyz", "", nil); resp.StatusCode != 503 || string(doc) != "no policy is loaded\n" {
		t.Errorf("readiness %d %s", resp.StatusCode, doc)
	}
	f.mu.Lock()
	f.unready = nil
	f.mu.Unlock()
	for path, want := range map[string]string{"/readyz": "ok\n", "/readyz?verbose": "audit: 1 corrupt chain\nok\n"} {
		if resp, doc := srv.do(t, http.MethodGet, path, "", nil); resp.StatusCode != 200 || string(doc) != want {
			t.Errorf("GET %s = %d %q, want 200 %q", path, resp.StatusCode, doc, want)
		}
	}
	if resp, _ := srv.do(t, http.MethodHead, "/readyz", "", nil); resp.StatusCode != 200 {
		t.Errorf("readiness %d", resp.StatusCode)
	}
	srv.do(t, http.MethodPost, "/v1/decide", question, nil)
	srv.do(t, http.MethodPost, "/v1/decide", "{", nil)
	srv.do(t, http.MethodPost, "/secret-path", "{", nil)
	_, doc := srv.do(t, http.MethodGet, "/metrics", "", nil)
	for _, want := range []string{
		`hookpolicy_http_requests_total{code="200",route="/v1/decide"} 1`,
		`hookpolicy_http_requests_total{code="400",route="/v1/decide"} 1`,
		`hookpolicy_http_requests_total{code="404",route="other"} 1`,
		`hookpolicy_http_requests_refused_total{code="request.syntax"} 1`,
		`hookpolicy_http_request_duration_seconds_count{route="/v1/decide"} 2`,
		`hookpolicy_http_requests_in_flight{route="/metrics"} 1`,
	} {
		if !strings.Contains(string(doc), want+"\n") {
			t.Errorf("metrics lack %s", want)
		}
	}
	if strings.Contains(string(doc), "secret") {
		t.Error("metrics hold what a client wrote")
	}
}

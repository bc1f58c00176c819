package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/server"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// fakeEngine allows everything and remembers what reached it. It stands in for
// the engine where a test is about HTTP.
type fakeEngine struct {
	decideFunc   func(ctx context.Context, req engine.Request) *decisionv1.Response
	outcomeFunc  func(o decisionv1.Outcome) (*decisionv1.OutcomeResponse, error)
	approvalFunc func(ctx context.Context, id string, wait time.Duration) (*decisionv1.Approval, error)
	refuseFunc   func() *decisionv1.Response
	events       chan engine.Event

	mu       sync.Mutex
	unready  error
	callers  []chain.Caller
	requests []engine.Request
	refusals []refusal
}

type refusal struct {
	Caller string // "" if not known
	Code   string
}

var _ server.Engine = (*fakeEngine)(nil)

func (f *fakeEngine) Decide(ctx context.Context, caller chain.Caller, req engine.Request) *decisionv1.Response {
	f.mu.Lock()
	f.callers = append(f.callers, caller)
	f.requests = append(f.requests, req)
	f.mu.Unlock()
	if f.decideFunc != nil {
		return f.decideFunc(ctx, req)
	}
	args, err := strictjson.Append(nil, req.Args)
	if err != nil {
		return nil
	}
	return &decisionv1.Response{CallID: req.CallID, Decision: decisionv1.Allow, Args: args}
}

func (f *fakeEngine) Refuse(ctx context.Context, caller *chain.Caller, code, message string) *decisionv1.Response {
	if ctx.Err() != nil {
		return nil // what a log that honours the context would do
	}
	f.mu.Lock()
	r := refusal{Code: code}
	if caller != nil {
		r.Caller = caller.String()
	}
	f.refusals = append(f.refusals, r)
	f.mu.Unlock()
	if f.refuseFunc != nil {
		return f.refuseFunc()
	}
	return &decisionv1.Response{
		Decision: decisionv1.Deny, Reason: &decisionv1.Reason{Code: code, Message: message},
		Audit: &decisionv1.Receipt{Chain: "_service", Seq: "1", Hash: "00"},
	}
}

func (f *fakeEngine) Outcome(_ context.Context, _ chain.Caller, o decisionv1.Outcome) (*decisionv1.OutcomeResponse, error) {
	return f.outcomeFunc(o)
}

func (f *fakeEngine) Approval(ctx context.Context, _ chain.Caller, id string, wait time.Duration) (*decisionv1.Approval, error) {
	return f.approvalFunc(ctx, id, wait)
}

func (f *fakeEngine) Subscribe(context.Context, chain.Caller) <-chan engine.Event { return f.events }

func (f *fakeEngine) Ready() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unready
}

func (f *fakeEngine) Warnings() []string { return []string{"audit: 1 corrupt chain"} }

func (f *fakeEngine) refused() []refusal {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]refusal(nil), f.refusals...)
}

var etl = chain.Caller{Namespace: "customer-a", ServiceAccount: "etl-agent"}

// A running server on a real socket.
type running struct {
	url, addr string
	stop      context.CancelFunc
	stopped   chan error
	client    *http.Client
}

// start serves with Loopback identity unless the change says otherwise.
func start(t testing.TB, e server.Engine, change func(*server.Config)) *running {
	t.Helper()
	config := server.Config{Engine: e, Authenticator: server.Loopback{Caller: etl}}
	if change != nil {
		change(&config)
	}
	s, err := server.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	r := &running{
		url: "http://" + ln.Addr().String(), addr: ln.Addr().String(), stop: stop,
		stopped: make(chan error, 1), client: &http.Client{Transport: transport},
	}
	go func() {
		defer close(r.stopped)
		r.stopped <- s.Serve(ctx, ln)
	}()
	t.Cleanup(func() {
		stop()
		transport.CloseIdleConnections()
		<-r.stopped
	})
	return r
}

// do sends a request and reads its whole answer.
func (r *running) do(t testing.TB, method, path, body string, header http.Header) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(req.Header, header)
	if host := header.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	doc, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, doc
}

// answerOf reads an answer to a call, which every status code must carry.
func answerOf(t testing.TB, doc []byte) decisionv1.Response {
	t.Helper()
	var resp decisionv1.Response
	if err := json.Unmarshal(doc, &resp); err != nil {
		t.Fatalf("answer %q: %v", doc, err)
	}
	return resp
}

// wantDeny checks that a refusal has its status, its code and its record.
func wantDeny(t testing.TB, f *fakeEngine, status int, doc []byte, gotStatus int, code, caller string) {
	t.Helper()
	resp := answerOf(t, doc)
	if gotStatus != status || resp.Decision != decisionv1.Deny || resp.Reason == nil || resp.Reason.Code != code {
		t.Fatalf("answer %d %s, want %d with Deny %s", gotStatus, doc, status, code)
	}
	refusals := f.refused()
	if len(refusals) == 0 || refusals[len(refusals)-1] != (refusal{Caller: caller, Code: code}) {
		t.Errorf("recorded %v, want %s of %q last", refusals, code, caller)
	}
}

// raw sends bytes as they are and returns the first answer, and whether the
// server closed the connection after it.
func (r *running) raw(t *testing.T, text string) (*http.Response, []byte, bool) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return nil, nil, true
	}
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	doc, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !resp.Close {
		return resp, doc, false
	}
	_, err = in.ReadByte()
	return resp, doc, err != nil
}

const question = `{"tool":"db_query_sql","args":{"sql":"SELECT 1"}}`

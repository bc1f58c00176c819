package server_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/server"
)

func TestStoppingAnswersWhatIsInWorkAndWaitsForNobody(t *testing.T) {
	begun, release := make(chan struct{}, 3), make(chan struct{})
	f := &fakeEngine{
		decideFunc: func(ctx context.Context, req engine.Request) *decisionv1.Response {
			begun <- struct{}{}
			if req.Wait > 0 {
				select {
				case <-req.Stopping:
					close(release) // only now may the decision below end
				case <-ctx.Done():
				}
				return &decisionv1.Response{Decision: decisionv1.AskUser}
			}
			<-release
			return &decisionv1.Response{Decision: decisionv1.Deny, Reason: &decisionv1.Reason{Code: "path.outside"}}
		},
		approvalFunc: func(ctx context.Context, id string, _ time.Duration) (*decisionv1.Approval, error) {
			begun <- struct{}{}
			<-ctx.Done()
			return &decisionv1.Approval{ID: id, State: decisionv1.Pending}, nil
		},
	}
	srv := start(t, f, nil)
	answers := make(chan string, 3)
	ask := func(method, path, body string) {
		resp, doc := srv.do(t, method, path, body, nil)
		answers <- http.StatusText(resp.StatusCode) + " " + string(doc)
	}
	go ask(http.MethodPost, "/v1/decide", question)
	go ask(http.MethodPost, "/v1/decide", `{"tool":"t","args":{},"waitSeconds":300}`)
	go ask(http.MethodGet, "/v1/approvals/ap-1?wait=300s", "")
	for range 3 {
		<-begun
	}
	srv.stop()
	var got []string
	for range 3 {
		got = append(got, <-answers)
	}
	all := strings.Join(got, "")
	for _, want := range []string{`OK {"decision":"AskUser"}`, `OK {"decision":"Deny","reason":{"code":"path.outside"`, `"state":"Pending"`} {
		if !strings.Contains(all, want) {
			t.Errorf("answers %s lack %s", all, want)
		}
	}
	if err := <-srv.stopped; err != nil {
		t.Errorf("stopped with %v", err)
	}
}

func TestStoppingHasATimeLimit(t *testing.T) {
	begun, gone := make(chan struct{}), make(chan struct{})
	f := &fakeEngine{decideFunc: func(ctx context.Context, _ engine.Request) *decisionv1.Response {
		close(begun)
		<-ctx.Done() // the connection is closed under it
		close(gone)
		return nil
	}}
	srv := start(t, f, func(c *server.Config) { c.Limits.ShutdownTimeout = 20 * time.Millisecond })
	go func() {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.url+"/v1/decide", strings.NewReader(question))
		if err != nil {
			return
		}
		if resp, err := srv.client.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	<-begun
	srv.stop()
	if err := <-srv.stopped; err == nil || !strings.Contains(err.Error(), "requests in work") {
		t.Errorf("stopped with %v", err)
	}
	<-gone
}

func TestEventsArriveAsServerSentEvents(t *testing.T) {
	f := &fakeEngine{events: make(chan engine.Event)}
	srv := start(t, f, func(c *server.Config) { c.Limits.Heartbeat = 10 * time.Millisecond })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.url+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := srv.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("answer %d %v", resp.StatusCode, resp.Header)
	}
	lines := bufio.NewScanner(resp.Body)
	next := func() string {
		for lines.Scan() {
			if text := lines.Text(); text != "" && text != ":" {
				return text
			}
		}
		return "end"
	}
	if got := next(); got != ": subscribed" {
		t.Errorf("first line %q", got)
	}
	f.events <- engine.Event{Name: decisionv1.EventDenied, Data: decisionv1.Event{
		Tool: "a\nevent: forged", Reason: &decisionv1.Reason{Code: "path.outside", Message: "m"},
	}}
	if got := next(); got != "event: hook_denied" {
		t.Errorf("name line %q", got)
	}
	if got, want := next(), `data: {"tool":"a\nevent: forged","reason":{"code":"path.outside","message":"m"}}`; got != want {
		t.Errorf("data line %q, want %q", got, want)
	}
	for lines.Scan() {
		if lines.Text() == ":" {
			break // a heartbeat
		}
	}
	close(f.events) // as the engine does to a subscriber that lags
	if got := next(); got != "end" {
		t.Errorf("line %q after the end", got)
	}
}

func TestStoppingEndsEventStreams(t *testing.T) {
	srv := start(t, &fakeEngine{}, nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.url+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := srv.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	srv.stop()
	if err := <-srv.stopped; err != nil {
		t.Errorf("stopped with %v", err)
	}
}

func TestEventStreamsAreBoundedByCaller(t *testing.T) {
	f := &fakeEngine{}
	srv := start(t, f, func(c *server.Config) { c.Limits.MaxStreamsPerCaller = 1 })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.url+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	first, err := srv.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Body.Close()
	resp, doc := srv.do(t, http.MethodGet, "/v1/events", "", nil)
	wantDeny(t, f, 429, doc, resp.StatusCode, "caller.busy", etl.String())
}

package server_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/server"
)

func TestABodyThatDoesNotArriveInTimeIsRefusedAndItsConnectionClosed(t *testing.T) {
	f := &fakeEngine{}
	srv := start(t, f, func(c *server.Config) { c.Limits.BodyTimeout = 50 * time.Millisecond })
	resp, doc, closed := srv.raw(t, "POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"tool\"")
	wantDeny(t, f, 408, doc, resp.StatusCode, "request.timeout", etl.String())
	if !closed {
		t.Error("the connection stays open")
	}
}

func TestAHeaderThatDoesNotArriveInTimeClosesTheConnection(t *testing.T) {
	srv := start(t, &fakeEngine{}, func(c *server.Config) {
		c.Limits.HeaderTimeout, c.Limits.BodyTimeout = 50*time.Millisecond, time.Hour // the latter must not be what helps
	})
	if resp, _, closed := srv.raw(t, "POST /v1/decide HTTP/1.1\r\nHost: local"); !closed {
		t.Errorf("answer %v, the connection stays open", resp)
	}
}

func TestAHeaderThatIsTooLargeReachesNobody(t *testing.T) {
	f := &fakeEngine{}
	srv := start(t, f, nil)
	resp, _, _ := srv.raw(t, "POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 32<<10)+"\r\n\r\n")
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge || len(f.requests) != 0 {
		t.Errorf("answer %d", resp.StatusCode)
	}
}

// Not a byte of the body comes: a server that waited for it would never answer.
func TestABodyThatSaysItIsTooLargeIsRefusedUnread(t *testing.T) {
	f := &fakeEngine{}
	srv := start(t, f, func(c *server.Config) { c.Limits.BodyTimeout = time.Hour })
	resp, doc, _ := srv.raw(t, "POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048577\r\n\r\n")
	wantDeny(t, f, 413, doc, resp.StatusCode, "request.too_large", etl.String())
}

func TestABodyThatEndsEarlyIsRecorded(t *testing.T) {
	f := &fakeEngine{}
	done := make(chan struct{})
	f.refuseFunc = func() *decisionv1.Response { close(done); return nil }
	srv := start(t, f, nil)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", srv.addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	<-done
	if got := f.refused(); got[0].Code != "request.incomplete" {
		t.Errorf("recorded %v", got)
	}
}

// The deadline for reading a body must not end a decision that takes longer.
func TestADecisionMayTakeLongerThanItsBody(t *testing.T) {
	const limit = 50 * time.Millisecond
	f := &fakeEngine{decideFunc: func(ctx context.Context, _ engine.Request) *decisionv1.Response {
		slow, cancel := context.WithTimeout(ctx, 3*limit)
		defer cancel()
		<-slow.Done()
		return &decisionv1.Response{Decision: decisionv1.AskUser, Hook: context.Cause(slow).Error()}
	}}
	srv := start(t, f, func(c *server.Config) { c.Limits.BodyTimeout = limit })
	_, doc := srv.do(t, http.MethodPost, "/v1/decide", question, nil)
	if got := answerOf(t, doc); got.Hook != context.DeadlineExceeded.Error() {
		t.Errorf("answer %s: the request was given up", doc)
	}
}

func TestAWaitIsNotCutByTheTimeForAnAnswer(t *testing.T) {
	const limit = 50 * time.Millisecond
	f := &fakeEngine{decideFunc: func(_ context.Context, req engine.Request) *decisionv1.Response {
		<-time.After(3 * limit) // stands for a person
		return &decisionv1.Response{Decision: decisionv1.AskUser, Hook: req.Wait.String()}
	}}
	srv := start(t, f, func(c *server.Config) { c.Limits.WriteTimeout = limit })
	_, doc := srv.do(t, http.MethodPost, "/v1/decide", `{"tool":"t","args":{},"waitSeconds":9}`, nil)
	if got := answerOf(t, doc); got.Hook != "9s" {
		t.Errorf("answer %s", doc)
	}
}

func TestAClientThatIsGoneEndsItsRequest(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 1)
	f := &fakeEngine{decideFunc: func(ctx context.Context, _ engine.Request) *decisionv1.Response {
		close(begun)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil
	}}
	srv := start(t, f, nil)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.url+"/v1/decide", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-begun
		cancel()
	}()
	if resp, err := srv.client.Do(req); err == nil {
		resp.Body.Close()
		t.Fatal("an answer came")
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("context %v", err)
	}
}

func TestRequestsInWorkAreBoundedByCaller(t *testing.T) {
	for name, tc := range map[string]struct {
		limits server.Limits
		status int
		code   string
	}{
		"of one caller": {server.Limits{MaxInFlight: 8, MaxInFlightPerCaller: 1}, 429, "caller.busy"},
		"in all":        {server.Limits{MaxInFlight: 1}, 429, "caller.busy"}, // one caller alone has them all
	} {
		t.Run(name, func(t *testing.T) {
			begun, release := make(chan struct{}), make(chan struct{})
			f := &fakeEngine{decideFunc: func(context.Context, engine.Request) *decisionv1.Response {
				begun <- struct{}{}
				<-release
				return &decisionv1.Response{Decision: decisionv1.AskUser}
			}}
			srv := start(t, f, func(c *server.Config) { c.Limits = tc.limits })
			first := make(chan int, 1)
			go func() {
				resp, _ := srv.do(t, http.MethodPost, "/v1/decide", question, nil)
				first <- resp.StatusCode
			}()
			<-begun
			resp, doc := srv.do(t, http.MethodPost, "/v1/decide", question, nil)
			wantDeny(t, f, tc.status, doc, resp.StatusCode, tc.code, etl.String())
			if resp.Header.Get("Retry-After") == "" {
				t.Error("the answer does not say when to come again")
			}
			close(release)
			if status := <-first; status != http.StatusOK {
				t.Errorf("first answer %d", status)
			}
			go func() { <-begun }()
			if resp, _ := srv.do(t, http.MethodPost, "/v1/decide", question, nil); resp.StatusCode != http.StatusOK {
				t.Errorf("answer %d after there was room again", resp.StatusCode)
			}
		})
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	srv := start(t, &fakeEngine{}, func(c *server.Config) { c.Limits.MaxConnections = 1 })
	dial := func() net.Conn {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", srv.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	first := dial()
	if _, err := http.ReadResponse(bufio.NewReader(first), nil); err != nil {
		t.Fatal(err)
	}
	second := dial()
	if err := second.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Read(make([]byte, 1)); err == nil {
		t.Error("a connection above the bound is served")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := second.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := http.ReadResponse(bufio.NewReader(second), nil); err != nil {
		t.Errorf("the next connection in line: %v", err)
	}
}

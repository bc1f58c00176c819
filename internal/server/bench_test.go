package server_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/engine"
)

// noEngine answers at once, so that what is measured is the server.
type noEngine struct {
	fakeEngine
	answer *decisionv1.Response
}

func (e *noEngine) Decide(context.Context, chain.Caller, engine.Request) *decisionv1.Response {
	return e.answer
}

const benchQuestion = `{"callId":"0192f0c1-7a7b-7c3d-8e9f-0123456789ab","tool":"db_query_sql","args":{"sql":"SELECT id, name FROM customers WHERE region = 'north' ORDER BY name","params":["a",1],"read_only":true},"session":"session-1","hints":{"branch":"main"}}`

func benchAnswer() *decisionv1.Response {
	return &decisionv1.Response{
		CallID: "0192f0c1-7a7b-7c3d-8e9f-0123456789ab", Decision: decisionv1.Allow,
		Args:   json.RawMessage(`{"params":["a",1],"read_only":true,"sql":"SELECT id, name FROM customers WHERE region = 'north' ORDER BY name"}`),
		Policy: &decisionv1.Policy{Namespace: "customer-a", Name: "customer-a", Generation: 3, Digest: strings.Repeat("0", 71)},
		Audit:  &decisionv1.Receipt{Chain: "hookpolicy.dev/customer-a/replica-0", Seq: "1234567", Hash: strings.Repeat("0", 64)},
	}
}

// echo is the bare net/http service that budgets are measured against.
func echo(w http.ResponseWriter, r *http.Request) {
	var v map[string]any
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func benchmarkRequests(b *testing.B, url string) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	defer client.CloseIdleConnections()
	var failed atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			resp, err := client.Post(url, "application/json", strings.NewReader(benchQuestion))
			if err != nil {
				failed.Add(1)
				continue
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				failed.Add(1)
			}
		}
	})
	if n := failed.Load(); n > 0 {
		b.Fatalf("%d requests failed", n)
	}
}

func BenchmarkServerWithoutAnEngine(b *testing.B) {
	srv := start(b, &noEngine{answer: benchAnswer()}, nil)
	benchmarkRequests(b, srv.url+"/v1/decide")
}

func BenchmarkBareEcho(b *testing.B) {
	ln, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(echo), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go func() { _ = srv.Serve(ln) }()
	defer srv.Close()
	benchmarkRequests(b, "http://"+ln.Addr().String())
}

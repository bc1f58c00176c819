package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/engine"
)

// decide answers POST /v1/decide.
func (s *Server) decide(x *exchange) error {
	buf := s.buffers.get()
	defer s.buffers.put(buf)
	doc, err := readBody(x, (*buf)[:0])
	*buf = doc
	if err != nil {
		return err
	}
	req, err := parseDecide(doc)
	if err != nil {
		return err
	}
	if req.Wait > 0 {
		req.Stopping = s.stopping
		s.extendWrite(x, req.Wait)
	}
	resp := s.engine.Decide(x.r.Context(), *x.caller, req)
	status := http.StatusOK
	if resp != nil && resp.Reason != nil && resp.Reason.Code == engine.CodeIDReused {
		status = statusOf(engine.CodeIDReused)
	}
	s.answer(x, status, resp)
	return nil
}

// outcome answers POST /v1/outcomes.
func (s *Server) outcome(x *exchange) error {
	buf := s.buffers.get()
	defer s.buffers.put(buf)
	doc, err := readBody(x, (*buf)[:0])
	*buf = doc
	if err != nil {
		return err
	}
	outcome, err := parseOutcome(doc)
	if err != nil {
		return err
	}
	// What a tool did is recorded even if the client does not wait for it.
	resp, err := s.engine.Outcome(context.WithoutCancel(x.r.Context()), *x.caller, outcome)
	if err != nil {
		return err
	}
	if resp == nil {
		return errNoAnswer
	}
	return x.replyValue(resp)
}

var errNoAnswer = errors.New("the engine gave no answer")

// approval answers GET /v1/approvals/{id}.
func (s *Server) approval(x *exchange) error {
	id := strings.TrimPrefix(x.r.URL.Path, decisionv1.PathApprovals)
	if !validID(id) {
		return refuse(engine.CodeApprovalUnknown, "there is no such approval")
	}
	wait, err := parseWait(x.r.URL.Query()["wait"])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	if wait > 0 {
		s.extendWrite(x, wait)
		go func() {
			select {
			case <-s.stopping:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	approval, err := s.engine.Approval(ctx, *x.caller, id, wait)
	if err != nil {
		return err
	}
	if approval == nil {
		return errNoAnswer
	}
	return x.replyValue(approval)
}

// extendWrite gives an answer the time that it waits for a person. A writer
// without deadlines needs none.
func (s *Server) extendWrite(x *exchange, wait time.Duration) {
	_ = x.control().SetWriteDeadline(time.Now().Add(wait + s.limits.WriteTimeout))
}

// maxIDBytes bounds an approval's id.
const maxIDBytes = 128

func validID(id string) bool {
	if id == "" || len(id) > maxIDBytes {
		return false
	}
	for _, c := range id {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// parseWait reads how long to wait: a duration such as 30s, or seconds.
func parseWait(values []string) (time.Duration, error) {
	const limit = decisionv1.MaxWaitSeconds * time.Second
	if len(values) == 0 {
		return 0, nil
	}
	wait, err := time.ParseDuration(values[0])
	if err != nil {
		var seconds int64
		seconds, err = strconv.ParseInt(values[0], 10, 16)
		wait = time.Duration(seconds) * time.Second
	}
	if err != nil || len(values) > 1 || wait < 0 || wait > limit {
		return 0, refuse(CodeWait, "wait must be one duration from 0s to "+limit.String())
	}
	return wait, nil
}

// health answers GET /healthz: the process serves.
func (s *Server) health(x *exchange) error { return probe(x, http.StatusOK, "ok") }

// ready answers GET /readyz: the service can decide. With ?verbose it adds what
// an operator should look at meanwhile.
func (s *Server) ready(x *exchange) error {
	if s.isStopping() {
		return probe(x, http.StatusServiceUnavailable, "stopping")
	}
	if err := s.engine.Ready(); err != nil {
		return probe(x, http.StatusServiceUnavailable, err.Error())
	}
	text := "ok"
	if w, ok := s.engine.(warner); ok && x.r.URL.Query().Has("verbose") {
		text = strings.Join(append(w.Warnings(), text), "\n")
	}
	return probe(x, http.StatusOK, text)
}

// A warner is an Engine that can decide and still has something to say. Its
// words are shown to anyone who asks.
type warner interface{ Warnings() []string }

func probe(x *exchange, status int, text string) error {
	x.Header().Set("Content-Type", "text/plain; charset=utf-8")
	x.Header().Set("X-Content-Type-Options", "nosniff")
	x.WriteHeader(status)
	_, _ = io.WriteString(x, text+"\n") // a prober that is gone needs no answer
	return nil
}

// showMetrics answers GET /metrics.
func (s *Server) showMetrics() handler {
	h := promhttp.HandlerFor(s.gatherer, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
	return func(x *exchange) error {
		h.ServeHTTP(x, x.r)
		return nil
	}
}

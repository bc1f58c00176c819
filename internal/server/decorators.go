package server

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/engine"
)

// withMetrics counts and times what a route answers.
func (s *Server) withMetrics(path string, next handler) handler {
	m := s.metrics.route(path)
	return func(x *exchange) error {
		start := time.Now()
		m.inFlight.Inc()
		defer func() {
			m.inFlight.Dec()
			m.duration.Observe(time.Since(start).Seconds())
			m.count(x.status)
			if x.code != "" {
				s.metrics.refused.WithLabelValues(x.code).Inc()
			}
		}()
		return next(x)
	}
}

// withRefusal answers the requests that next refuses.
func (s *Server) withRefusal(next handler) handler {
	return func(x *exchange) error {
		if err := next(x); err != nil {
			s.refused(x, err)
		}
		return nil
	}
}

// withRecovery makes a refusal of a panic. When the answer has begun it breaks
// the connection: half an answer is none.
func (s *Server) withRecovery(next handler) handler {
	return func(x *exchange) (err error) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			s.logPanic("Handler panicked", p)
			if x.status != 0 {
				panic(http.ErrAbortHandler) // net/http's own way to end a connection
			}
			err = refuse(CodeFailed, "the decision service failed")
		}()
		return next(x)
	}
}

// logPanic writes down where, and what only if it cannot hold a call's words.
func (s *Server) logPanic(message string, p any) {
	what := "not shown"
	if e, ok := p.(runtime.Error); ok {
		what = e.Error()
	}
	s.log.Error("Panicked", "where", message, "panic", what, "stack", string(debug.Stack()))
}

// withOrigin refuses what a browser sends on behalf of a foreign page.
func (s *Server) withOrigin(next handler) handler {
	return func(x *exchange) error {
		if s.place != nil {
			if err := s.place.CheckHost(x.r.Host); err != nil {
				return refuse(CodeHost, "the service is not known under this host name")
			}
		}
		if err := s.origin.Check(x.r); err != nil {
			return refuse(CodeCrossOrigin, "a page of another origin may not ask")
		}
		return next(x)
	}
}

// withCaller lets only known callers pass.
func (s *Server) withCaller(next handler) handler {
	return func(x *exchange) error {
		caller, err := s.authenticator.Authenticate(x.r)
		if err != nil {
			if e, ok := errors.AsType[*engine.RefusedError](err); ok {
				return refuse(e.Code, e.Message)
			}
			s.log.Error("Cannot authenticate callers", "error", err)
			return refuse(CodeCallerUnavailable, "callers cannot be authenticated now")
		}
		x.caller = &caller
		return next(x)
	}
}

// withMethod lets one method pass, and HEAD where GET is.
func withMethod(method string, next handler) handler {
	return func(x *exchange) error {
		if m := x.r.Method; m != method && (m != http.MethodHead || method != http.MethodGet) {
			x.Header()["Allow"] = []string{method}
			return refuse(CodeMethod, "this path takes "+method+" only")
		}
		return next(x)
	}
}

// withSlot bounds how many requests are in work.
func (s *Server) withSlot(l *limiter, next handler) handler {
	return func(x *exchange) error {
		if err := l.acquire(*x.caller); err != nil {
			return err
		}
		defer l.release(*x.caller)
		return next(x)
	}
}

// record tells the engine of a refusal. It returns nil if that fails too.
func (s *Server) record(x *exchange, r *refusal) (resp *decisionv1.Response) {
	defer func() {
		if p := recover(); p != nil {
			s.logPanic("Engine panicked on a refusal", p)
			resp = nil
		}
	}()
	// The attempt is recorded even if the client did not wait for it.
	return s.engine.Refuse(context.WithoutCancel(x.r.Context()), x.caller, r.code, r.message)
}

// codeText is strconv.Itoa for a status code; none counts as 200, for then
// net/http sends that.
func codeText(status int) string {
	if status == 0 {
		status = http.StatusOK
	}
	return strconv.Itoa(status)
}

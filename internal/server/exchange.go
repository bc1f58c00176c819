package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/server/dialect"
)

// An exchange is one request on its way to an answer. It is the writer of that
// answer too, so that the status code is known afterwards.
type exchange struct {
	http.ResponseWriter
	r      *http.Request
	caller *chain.Caller // nil until authenticated
	status int           // 0 until the answer has begun
	code   string        // of the refusal, if it was one
	// question is the event of an agent's hook, once it is read.
	question *dialect.Question
}

// WriteHeader remembers the status code.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write begins the answer with 200 if nothing has begun it.
func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	return x.ResponseWriter.Write(b)
}

// Unwrap lets a ResponseController find the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

func (x *exchange) control() *http.ResponseController {
	return http.NewResponseController(x.ResponseWriter)
}

// reply writes a whole JSON document.
func (x *exchange) reply(status int, doc []byte) {
	h := x.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Cache-Control"] = []string{"no-store"}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	h["Content-Length"] = []string{strconv.Itoa(len(doc))}
	x.WriteHeader(status)
	// A client that does not take its answer is gone; there is nobody to tell.
	_, _ = x.Write(doc)
}

// replyValue writes what is not an answer to a call.
func (x *exchange) replyValue(v any) error {
	doc, err := json.Marshal(v)
	if err != nil {
		return err
	}
	x.reply(http.StatusOK, append(doc, '\n'))
	return nil
}

// answer writes an answer to a call. What is not one becomes a Deny.
func (s *Server) answer(x *exchange, status int, resp *decisionv1.Response) {
	if !wellFormed(resp) {
		s.log.Error("Engine gave no answer")
		status, resp = http.StatusInternalServerError, deny(CodeFailed, "the decision service failed")
	}
	buf := s.buffers.get()
	defer s.buffers.put(buf)
	doc, err := appendResponse((*buf)[:0], resp)
	if err != nil {
		s.log.Error("Cannot encode an answer", "decision", string(resp.Decision))
		status = http.StatusInternalServerError
		// Constants encode.
		doc, _ = appendResponse(doc[:0], deny(CodeFailed, "the decision service failed"))
	}
	*buf = doc
	x.reply(status, doc)
}

// wellFormed reports whether an answer says what a client may do.
func wellFormed(r *decisionv1.Response) bool {
	if r == nil {
		return false
	}
	switch r.Decision {
	case decisionv1.Allow, decisionv1.Rewrite:
		return len(r.Args) > 0
	case decisionv1.Deny, decisionv1.AskUser:
		return true
	default:
		return false
	}
}

func deny(code, message string) *decisionv1.Response {
	return &decisionv1.Response{Decision: decisionv1.Deny, Reason: &decisionv1.Reason{Code: code, Message: message}}
}

// refused records a refusal and writes it.
func (s *Server) refused(x *exchange, err error) {
	r := refusalOf(err)
	x.code = r.code
	resp := deny(r.code, r.message)
	if !r.recorded {
		if d := s.record(x, r); d != nil && d.Decision == decisionv1.Deny {
			resp = d
		}
	}
	h := x.Header()
	if slices.Contains([]string{CodeTimeout, CodeIncomplete}, r.code) {
		h["Connection"] = []string{"close"} // what follows on it is not a request
	}
	if doc := denyHook(x, resp); doc != nil {
		x.reply(http.StatusOK, doc)
		return
	}
	switch r.status {
	case http.StatusUnauthorized:
		h["Www-Authenticate"] = []string{"Bearer"}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h["Retry-After"] = []string{"1"}
	}
	s.answer(x, r.status, resp)
}

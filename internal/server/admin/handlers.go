package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/card"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// Bounds of a vote.
const (
	maxBodyBytes   = 8 << 10
	maxReasonBytes = 1024
)

const pathApprovals = "/approvals"

// A handler answers one request of somebody who is served.
type handler func(w http.ResponseWriter, r *http.Request, p peer)

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, route := range []struct {
		pattern string
		handler handler
	}{
		{"GET " + pathApprovals, s.list},
		{"GET " + pathApprovals + "/{id}", s.get},
		{"POST " + pathApprovals + "/{id}/approve", s.vote(true)},
		{"POST " + pathApprovals + "/{id}/reject", s.vote(false)},
		{"/", notFound},
	} {
		mux.Handle(route.pattern, served(route.handler))
	}
	return mux
}

// served lets only known and allowed users pass.
func served(next handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, _ := r.Context().Value(peerKey{}).(peer)
		if !p.served {
			refuse(w, http.StatusForbidden, &Error{
				Code: "approver.unknown", Message: "only root and the user that the service runs as may decide here",
			})
			return
		}
		next(w, r, p)
	})
}

func notFound(w http.ResponseWriter, _ *http.Request, _ peer) {
	refuse(w, http.StatusNotFound, &Error{Code: "request.path", Message: "there is nothing under this path"})
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, _ peer) {
	states := []approval.State{approval.Pending}
	if r.URL.Query().Get("all") == "true" {
		states = nil
	}
	found, err := s.desk.List(r.Context(), states...)
	if err != nil {
		s.fail(w, err)
		return
	}
	answer := list{Approvals: make([]Held, 0, len(found))}
	for _, a := range found {
		answer.Approvals = append(answer.Approvals, card.Of(a))
	}
	s.reply(w, answer)
}

func (s *Server) get(w http.ResponseWriter, r *http.Request, _ peer) {
	found, err := s.desk.List(r.Context())
	if err != nil {
		s.fail(w, err)
		return
	}
	for _, a := range found {
		if a.ID == r.PathValue("id") {
			s.reply(w, card.Of(a))
			return
		}
	}
	s.fail(w, approval.ErrNotFound)
}

func (s *Server) vote(approve bool) handler {
	return func(w http.ResponseWriter, r *http.Request, p peer) {
		reason, refused := readReason(w, r)
		if refused != nil {
			refuse(w, http.StatusBadRequest, refused)
			return
		}
		// A vote that arrived counts, also if its sender has hung up since.
		a, err := s.desk.Vote(context.WithoutCancel(r.Context()), r.PathValue("id"),
			approval.Vote{User: p.user, Approve: approve, Reason: reason, Via: Via})
		if err != nil {
			s.fail(w, err)
			return
		}
		s.log.Info("Recorded a vote", "approval", a.ID, "user", p.user, "approve", approve, "state", string(a.State))
		s.reply(w, card.Of(a))
	}
}

// readReason reads the optional body of a vote.
func readReason(w http.ResponseWriter, r *http.Request) (string, *Error) {
	doc, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		return "", &Error{Code: "request.incomplete", Message: "the body did not arrive, or is too large"}
	}
	if len(doc) == 0 {
		return "", nil
	}
	v, err := strictjson.Parse(doc)
	if e, ok := errors.AsType[*strictjson.Error](err); ok {
		return "", &Error{Code: string(e.Code), Message: e.Detail}
	}
	obj, ok := v.(map[string]any)
	for name := range obj {
		ok = ok && name == "reason"
	}
	reason, isText := obj["reason"].(string)
	if !ok || (!isText && len(obj) > 0) || len(reason) > maxReasonBytes {
		return "", &Error{Code: "request.reason", Message: `the body must be {"reason": "…"} with at most 1024 bytes`}
	}
	return reason, nil
}

func (s *Server) fail(w http.ResponseWriter, err error) {
	status, e := errorOf(err)
	if status >= http.StatusInternalServerError {
		s.log.Error("Cannot serve an approver", "error", err)
	}
	refuse(w, status, e)
}

func (s *Server) reply(w http.ResponseWriter, v any) {
	doc, err := json.Marshal(v)
	if err != nil {
		s.fail(w, err)
		return
	}
	write(w, http.StatusOK, doc)
}

func refuse(w http.ResponseWriter, status int, e *Error) {
	doc, err := json.Marshal(refusal{Error: e})
	if err != nil {
		doc = nil // two strings always encode
	}
	write(w, status, doc)
}

func write(w http.ResponseWriter, status int, doc []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(doc, '\n')) // a client that is gone needs no answer
}

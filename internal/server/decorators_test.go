package server

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestAPanicAfterTheAnswerHasBegunBreaksTheConnection(t *testing.T) {
	s := &Server{log: slog.New(slog.DiscardHandler)}
	h := s.withRecovery(func(x *exchange) error {
		x.WriteHeader(http.StatusOK)
		panic("in the middle")
	})
	defer func() {
		if p := recover(); p != http.ErrAbortHandler { //nolint:errorlint // what was thrown is no error to unwrap
			t.Errorf("recovered %v: half an answer would look like a whole one", p)
		}
	}()
	err := h(&exchange{ResponseWriter: httptest.NewRecorder()})
	t.Errorf("handler returned %v", err)
}

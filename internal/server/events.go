package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/engine"
)

// streamWriteTimeout bounds one write to an event stream: who does not read is
// dropped.
const streamWriteTimeout = 10 * time.Second

// events answers GET /v1/events with the caller's own events, as server-sent
// events, until the client goes or falls behind, or the server stops.
func (s *Server) events(x *exchange) error {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	events := s.engine.Subscribe(ctx, *x.caller)
	h := x.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no") // or a proxy would keep events back
	x.WriteHeader(http.StatusOK)
	if x.r.Method == http.MethodHead {
		return nil
	}
	beat := time.NewTicker(s.limits.Heartbeat)
	defer beat.Stop()
	// The client learns that it is subscribed before anything happens.
	for chunk := []byte(": subscribed\n\n"); ; {
		if err := send(x, chunk); err != nil {
			return nil // the client is gone or too slow; nobody is left to tell
		}
		select {
		case e, open := <-events:
			if !open {
				return nil
			}
			if chunk = s.encodeEvent(e); chunk == nil {
				return nil
			}
		case <-beat.C:
			chunk = []byte(":\n\n")
		case <-ctx.Done():
			return nil
		case <-s.stopping:
			return nil
		}
	}
}

// encodeEvent returns one event as it is sent, nil if it cannot be. JSON holds
// no line break, so the data is one line.
func (s *Server) encodeEvent(e engine.Event) []byte {
	data, err := json.Marshal(e.Data)
	if err != nil {
		s.log.Error("Cannot encode an event", "event", e.Name)
		return nil
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", e.Name, data)
}

func send(x *exchange, chunk []byte) error {
	c := x.control()
	// A writer without deadlines is a test's: it is as fast as its reader.
	_ = c.SetWriteDeadline(time.Now().Add(streamWriteTimeout))
	if _, err := x.Write(chunk); err != nil {
		return err
	}
	return c.Flush()
}

package server

import (
	"github.com/hookpolicy/hookpolicy/internal/engine"
)

// ReadCall reads the body of a question as POST /v1/decide does, for whoever
// decides calls that come from elsewhere than a socket. What it refuses is an
// *engine.RefusedError with the code that the socket would answer.
func ReadCall(doc []byte) (engine.Request, error) {
	req, err := parseDecide(doc)
	if err != nil {
		r := refusalOf(err)
		return engine.Request{}, &engine.RefusedError{Code: r.code, Message: r.message}
	}
	return req, nil
}

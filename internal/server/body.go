package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// Sizes of the buffers that requests and answers share. A larger one grows
// only as bytes arrive, so that a Content-Length costs its sender something,
// and is not kept.
const (
	bufferBytes     = 4 << 10
	maxPresizeBytes = 64 << 10
	maxPooledBytes  = 64 << 10
)

// A bufferPool lends byte slices. The zero value is ready.
type bufferPool struct{ pool sync.Pool }

func (p *bufferPool) get() *[]byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return b
	}
	return new(make([]byte, 0, bufferBytes))
}

func (p *bufferPool) put(b *[]byte) {
	if cap(*b) > maxPooledBytes {
		return
	}
	*b = (*b)[:0]
	p.pool.Put(b)
}

// readBody reads a request's whole body into buf and returns it. The time limit
// for that ends with the body: net/http lifts it, so how long the answer takes
// is the engine's.
func readBody(x *exchange, buf []byte) ([]byte, error) {
	for _, coding := range x.r.Header["Content-Encoding"] {
		if !strings.EqualFold(strings.TrimSpace(coding), "identity") {
			return buf, &refusal{
				status: http.StatusUnsupportedMediaType, code: string(strictjson.CodeEncoding),
				message: "the body must not be compressed",
			}
		}
	}
	if x.r.ContentLength > strictjson.MaxBytes {
		return buf, errTooLarge()
	}
	var src io.Reader = x.r.Body
	if x.r.ContentLength < 0 {
		src = http.MaxBytesReader(x.ResponseWriter, x.r.Body, strictjson.MaxBytes)
	}
	buf, err := readAll(src, buf, x.r.ContentLength)
	if err != nil {
		return buf, explainRead(err)
	}
	return buf, nil
}

// readAll appends src to buf. The hint is the expected size, or negative.
func readAll(src io.Reader, buf []byte, hint int64) ([]byte, error) {
	// One byte more than expected lets the last Read report the end.
	if want := min(hint, maxPresizeBytes) + 1; want > int64(cap(buf)) {
		buf = make([]byte, 0, want)
	}
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := src.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return buf, err
		}
	}
}

func errTooLarge() *refusal {
	return refuse(string(strictjson.CodeTooLarge), "the body is larger than 1 MiB")
}

func explainRead(err error) error {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return errTooLarge()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return refuse(CodeTimeout, "the body did not arrive in time")
	}
	return refuse(CodeIncomplete, "the body did not arrive")
}

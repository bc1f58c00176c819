package server_test

import (
	"fmt"
	"strings"
	"testing"
)

// What two readers of one connection could cut into requests differently is
// refused, or read as the one request that the engine then sees.
func TestAConnectionIsCutIntoRequestsInOneWayOnly(t *testing.T) {
	t.Parallel()
	hidden := `{"tool":"hidden","args":{}}`
	length := fmt.Sprintf("Content-Length: %d\r\n", len(question))
	for name, tc := range map[string]struct {
		text   string
		called bool // the engine may see the question, and nothing else
	}{
		"a length and chunks":        {"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\n" + length + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nPOST /v1/decide HTTP/1.1\r\n\r\n" + hidden, false},
		"two lengths":                {"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\n" + length + "Content-Length: 3\r\n\r\n" + question, false},
		"two lengths in one":         {"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3, 4\r\n\r\n" + question, false},
		"a length with a sign":       {"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: +3\r\n\r\n" + question, false},
		"a length below zero":        {"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n" + question, false},
		"an unknown coding":          {"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n" + question, false},
		"chunks twice":               {"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false},
		"a blank before the colon":   {"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length : 3\r\n\r\n" + question, false},
		"a header that goes on":      {"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n" + length + "\r\n" + question, true},
		"two hosts":                  {"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n" + length + "\r\n" + question, false},
		"no host":                    {"POST /v1/decide HTTP/1.1\r\n" + length + "\r\n" + question, false},
		"NUL in a header":            {"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n" + length + "\r\n" + question, false},
		"a chunk of a false length":  {"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + question, false},
		"a chunk of an endless size": {"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n" + question, false},
		"HTTP without a version":     {"POST /v1/decide\r\n\r\n" + question, false},
		"HTTP/2 in plain text":       {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", false},
		"a body in chunks":           {"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(question), question), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeEngine{}
			srv := start(t, f, nil)
			resp, doc, _ := srv.raw(t, tc.text)
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, r := range f.requests {
				if !tc.called || r.Tool != "db_query_sql" {
					t.Errorf("the engine was asked about %s", r.Tool)
				}
			}
			if strings.Contains(string(doc), `"Allow"`) != (len(f.requests) > 0) {
				t.Errorf("answer %v %s", resp, doc)
			}
		})
	}
}

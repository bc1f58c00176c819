package main

import (
	"bytes"
	"fmt"
	"strconv"
)

// hole marks the digits of a request that differ each time it is sent: the
// number of the request, in so many digits.
const hole = "@@@@@@@@@@@@"

// The bodies of the requests under load: a query whose text is the same each
// time, and one whose text never is. Both have what an enforcement point
// sends: a call id of their own and a session.
const (
	sameText = `{"callId":"0192f0c1-7a7b-7c3d-8e9f-` + hole + `","tool":"db_query_sql","args":{"sql":` +
		`"SELECT id, name FROM customers WHERE region = 'north' AND id > '000000000000' ORDER BY name LIMIT 50","params":["a",1]},"session":"session-1"}`
	newText = `{"callId":"0192f0c1-7a7b-7c3d-8e9f-` + hole + `","tool":"db_query_sql","args":{"sql":` +
		`"SELECT id, name FROM customers WHERE region = 'north' AND id > '` + hole + `' ORDER BY name LIMIT 50","params":["a",1]},"session":"session-1"}`
)

// A request is the bytes of an HTTP request, with holes.
type request struct {
	text  []byte
	holes []int
}

// post makes a request of a body. Header lines end in a line break.
func post(path, header, body string) request {
	text := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s",
		path, header, len(body), body)
	r := request{text: text}
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(hole))
		if i < 0 {
			return r
		}
		r.holes = append(r.holes, at+i)
		at += i + len(hole)
	}
}

func decide(body string) request { return post("/v1/decide", "", body) }

// number writes n into the holes of a copy of the request's text.
func (r request) number(text []byte, n uint64) {
	var digits [20]byte
	d := strconv.AppendUint(digits[:0], n, 10)
	for _, at := range r.holes {
		gap := text[at : at+len(hole)]
		for i := range gap {
			gap[i] = '0'
		}
		copy(gap[len(gap)-len(d):], d)
	}
}

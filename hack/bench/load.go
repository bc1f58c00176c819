package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A target is a server and what it is asked.
type target struct {
	addr string
	pid  int
	// request is what one connection sends.
	request func(connection int) request
	// want stands in every right answer.
	want string
}

// A load is what a target did in one round.
type load struct {
	perSecond float64
	p50, p99  time.Duration
	// cpu is the time that the server's process used for an answer, 0 where
	// the system does not tell.
	cpu time.Duration
}

// errAnswer ends the run: what is measured must be what was meant.
var errAnswer = errors.New("the answer is not the one that is measured")

// A generator sends requests: it keeps the number of the last.
type generator struct{ serial atomic.Uint64 }

// run keeps so many connections busy for a time, each with one request after
// the other.
func (g *generator) run(ctx context.Context, t target, connections int, span time.Duration) (load, error) {
	clients, err := dial(ctx, t, connections)
	if err != nil {
		return load{}, err
	}
	defer func() {
		for _, c := range clients {
			_ = c.conn.Close() // nothing is left to send
		}
	}()
	var wg sync.WaitGroup
	errs := make([]error, connections)
	cpu, start := cpuTime(t.pid), time.Now()
	for i, c := range clients {
		wg.Go(func() { errs[i] = c.work(g, start.Add(span)) })
	}
	wg.Wait()
	elapsed, cpu := time.Since(start), cpuTime(t.pid)-cpu
	if err := errors.Join(errs...); err != nil {
		return load{}, err
	}
	var times []time.Duration
	for _, c := range clients {
		times = append(times, c.times...)
	}
	return load{
		perSecond: float64(len(times)) / elapsed.Seconds(),
		p50:       quantile(times, 0.5), p99: quantile(times, 0.99),
		cpu: cpu / time.Duration(len(times)),
	}, nil
}

func dial(ctx context.Context, t target, connections int) ([]*client, error) {
	var clients []*client
	for i := range connections {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", t.addr)
		if err != nil {
			return nil, fmt.Errorf("connect: %w", err)
		}
		r := t.request(i)
		clients = append(clients, &client{
			conn: conn, request: r, text: bytes.Clone(r.text), want: []byte(t.want), buf: make([]byte, 64<<10),
		})
	}
	return clients, nil
}

// A client is one connection. It costs as little as it can, for it runs on the
// processors of the server that it measures.
type client struct {
	conn    net.Conn
	request request
	text    []byte
	want    []byte
	buf     []byte
	times   []time.Duration
}

func (c *client) work(g *generator, until time.Time) error {
	for start := time.Now(); start.Before(until); {
		c.request.number(c.text, g.serial.Add(1))
		body, err := c.exchange()
		if err != nil {
			return err
		}
		if !bytes.Contains(body, c.want) {
			return fmt.Errorf("%w: %.300s", errAnswer, body)
		}
		end := time.Now()
		c.times = append(c.times, end.Sub(start))
		start = end
	}
	return nil
}

// exchange sends the request and returns the body of its answer, which must
// have the status 200 and a Content-Length.
func (c *client) exchange() ([]byte, error) {
	if _, err := c.conn.Write(c.text); err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	for have, whole := 0, -1; ; {
		n, err := c.conn.Read(c.buf[have:])
		if err != nil {
			return nil, fmt.Errorf("receive: %w", err)
		}
		have += n
		header := bytes.Index(c.buf[:have], []byte("\r\n\r\n"))
		if header >= 0 && whole < 0 {
			size, err := bodySize(c.buf[:header+2])
			if err != nil {
				return nil, err
			}
			whole = header + 4 + size
		}
		if whole >= 0 && have >= whole {
			return c.buf[header+4 : whole], nil
		}
	}
}

func bodySize(header []byte) (int, error) {
	if !bytes.HasPrefix(header, []byte("HTTP/1.1 200")) {
		return 0, fmt.Errorf("%w: %.300s", errAnswer, header)
	}
	_, after, _ := bytes.Cut(header, []byte("\r\nContent-Length: "))
	digits, _, _ := bytes.Cut(after, []byte("\r\n"))
	size, err := strconv.Atoi(string(digits))
	if err != nil {
		return 0, fmt.Errorf("read Content-Length: %w", err)
	}
	return size, nil
}

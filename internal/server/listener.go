package server

import (
	"errors"
	"net"
	"sync"
)

// A boundedListener accepts no further connection while limit of them are
// open. netutil.LimitListener does the same, but its connections cannot be
// closed for writing alone, and then net/http resets a connection whose body
// it did not read, and the client never sees its refusal.
type boundedListener struct {
	net.Listener
	slots     chan struct{}
	closed    chan struct{}
	closeOnce sync.Once
}

func boundListener(ln net.Listener, limit int) *boundedListener {
	return &boundedListener{Listener: ln, slots: make(chan struct{}, limit), closed: make(chan struct{})}
}

// Accept waits for a slot, then for a connection.
func (l *boundedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		l.free()
		return nil, err
	}
	return &boundedConn{Conn: conn, free: l.free}, nil
}

// Close ends a waiting Accept too.
func (l *boundedListener) Close() error {
	l.closeOnce.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

func (l *boundedListener) free() { <-l.slots }

// A boundedConn gives its slot back when it is closed.
type boundedConn struct {
	net.Conn
	freeOnce sync.Once
	free     func()
}

// Close closes the connection.
func (c *boundedConn) Close() error {
	err := c.Conn.Close()
	c.freeOnce.Do(c.free)
	return err
}

// CloseWrite sends the end of the answer while the client may still write.
func (c *boundedConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return errors.ErrUnsupported
}

package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"
)

// maxPathBytes is what every Unix takes for a socket's path.
const maxPathBytes = 103

// Listen makes the socket, with mode 0600. A socket that a service left behind
// is replaced; one that still answers, or a file of another kind, is not.
func Listen(ctx context.Context, path string) (*net.UnixListener, error) {
	if len(path) > maxPathBytes {
		return nil, fmt.Errorf("listen on admin socket: path is longer than %d bytes", maxPathBytes)
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, fmt.Errorf("listen on admin socket: %w", err)
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on admin socket: %w", err)
	}
	// Who connects before this is judged by its user like anyone else.
	if err := os.Chmod(path, 0o600); err != nil {
		_ = ln.Close() // the other error says what happened
		return nil, fmt.Errorf("listen on admin socket: %w", err)
	}
	unixListener, ok := ln.(*net.UnixListener)
	if !ok {
		_ = ln.Close()
		return nil, errors.New("listen on admin socket: it is none")
	}
	return unixListener, nil
}

// removeStale removes a socket that nobody answers on.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s exists and is no socket", path)
	}
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		_ = conn.Close()
		return fmt.Errorf("another service answers on %s", path)
	case !errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("see whether another service answers: %w", err)
	}
	return os.Remove(path)
}

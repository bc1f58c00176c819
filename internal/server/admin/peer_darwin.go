package admin

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// peerUID returns the user at the other end, as the kernel knows it.
func peerUID(conn *net.UnixConn) (uint32, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("read peer credentials: %w", err)
	}
	var (
		cred   *unix.Xucred
		sysErr error
	)
	if err := raw.Control(func(fd uintptr) {
		cred, sysErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	}); err != nil {
		return 0, fmt.Errorf("read peer credentials: %w", err)
	}
	if sysErr != nil {
		return 0, fmt.Errorf("read peer credentials: %w", sysErr)
	}
	return cred.Uid, nil
}

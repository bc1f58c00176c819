package paths

import (
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// An entry is a handle of what a name was at one moment. It needs no right to
// read what it stands for, and opening one touches no device, pipe or socket.
type entry struct {
	fd   int
	kind fs.FileMode
}

func openTop() (entry, error) { return openEntry(unix.AT_FDCWD, "/") }

// lookup opens a name in a directory and follows no link.
func (e entry) lookup(name string) (entry, error) { return openEntry(e.fd, name) }

func openEntry(dir int, name string) (entry, error) {
	for {
		fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return entry{}, fmt.Errorf("open directory entry: %w", err)
		}
		e := entry{fd: fd}
		if err := e.stat(); err != nil {
			e.close()
			return entry{}, err
		}
		return e, nil
	}
}

func (e *entry) stat() error {
	var st unix.Stat_t
	if err := unix.Fstat(e.fd, &st); err != nil {
		return fmt.Errorf("stat directory entry: %w", err)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		e.kind = 0
	case unix.S_IFDIR:
		e.kind = fs.ModeDir
	case unix.S_IFLNK:
		e.kind = fs.ModeSymlink
	default:
		e.kind = fs.ModeIrregular
	}
	return nil
}

// mode is the entry's type: a file, a directory, a link or something else.
func (e entry) mode() fs.FileMode { return e.kind }

// readlink reads the link that the handle stands for, whatever has its name by
// now.
func (e entry) readlink() (string, error) {
	buf := make([]byte, maxPathBytes+1)
	n, err := unix.Readlinkat(e.fd, "", buf)
	if err != nil {
		return "", fmt.Errorf("read link: %w", err)
	}
	if n > maxPathBytes {
		return "", errLinkText
	}
	return string(buf[:n]), nil
}

func (e entry) close() { _ = unix.Close(e.fd) } // an O_PATH handle has nothing to lose

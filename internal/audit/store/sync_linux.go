package store

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func (f osFile) Datasync() error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return err
		}
	}
}

// syncFileSystem is syncfs. Since Linux 5.8 it tells of every error since the
// directory was opened.
func syncFileSystem(dir *os.File) error {
	return unix.Syncfs(int(dir.Fd()))
}

func (f osFile) Allocate(size int64) error {
	err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, syscall.EOPNOTSUPP) {
		return fillZeros(f, size)
	}
	return err
}

// maxOpenFiles is how many tenants' files stay open by default: a quarter of
// what the process may open.
func maxOpenFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fewOpenFiles
	}
	return int(min(limit.Cur/4, manyOpenFiles))
}

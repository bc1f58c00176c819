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

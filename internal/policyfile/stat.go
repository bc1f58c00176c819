package policyfile

import (
	"io/fs"
	"syscall"
)

// statOf keeps what tells two states of a file apart, its inode included: a
// file that was moved into place can have the size and the time of the old one.
func statOf(name string, info fs.FileInfo) stat {
	s := stat{name: name, size: info.Size(), time: info.ModTime()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode = sys.Ino
	}
	return s
}

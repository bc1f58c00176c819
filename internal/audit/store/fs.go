package store

import (
	"io"
	"io/fs"
)

// An FS is the file system that a Log writes to. Names are relative to the
// log's directory, with forward slashes.
type FS interface {
	// OpenFile opens a file for reading and writing; flag may add os.O_CREATE
	// and os.O_TRUNC.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// Mkdir makes a directory; fs.ErrExist if it is there.
	Mkdir(name string, perm fs.FileMode) error
	Rename(from, to string) error
	// Remove removes a file; fs.ErrNotExist if it is not there.
	Remove(name string) error
	// ReadDir returns the names in a directory, sorted.
	ReadDir(name string) ([]string, error)
	// SyncDir makes the entries of a directory durable.
	SyncDir(name string) error
	// SyncAll makes everything in the file system durable. It returns an error
	// if anything written since the FS was made, or since the last call, could
	// not be.
	SyncAll() error
	// Lock makes the file and locks it, and the log's directory, against other
	// processes until it is closed; ErrLocked if another one holds either.
	Lock(name string) (io.Closer, error)
}

// A File is an open file of an FS.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	// Datasync makes what was written durable, as fdatasync does.
	Datasync() error
	Size() (int64, error)
	// Allocate gives an empty file a size and the space for it.
	Allocate(size int64) error
}

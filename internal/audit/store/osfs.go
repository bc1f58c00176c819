package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// osFS is a directory of the operating system. It holds the directory open, so
// that renaming it or putting a link in its place leads nowhere else.
type osFS struct{ root *os.Root }

func openOS(dir string) (*osFS, error) {
	if err := os.MkdirAll(dir, dirPerm); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &osFS{root}, nil
}

func (o *osFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := o.root.OpenFile(name, flag|os.O_RDWR, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (o *osFS) Mkdir(name string, perm fs.FileMode) error { return o.root.Mkdir(name, perm) }
func (o *osFS) Rename(from, to string) error              { return o.root.Rename(from, to) }

func (o *osFS) ReadDir(name string) ([]string, error) {
	d, err := o.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

func (o *osFS) SyncDir(name string) error {
	d, err := o.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (o *osFS) Lock(name string) (io.Closer, error) {
	f, err := o.root.OpenFile(name, os.O_RDWR|os.O_CREATE, filePerm)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // the error to report is the other one
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return f, nil
}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

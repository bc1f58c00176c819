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
type osFS struct {
	root *os.Root
	// dir is the directory itself: what it locks stays locked though somebody
	// removes LOCK, and SyncAll tells through it of every error since.
	dir *os.File
}

func openOS(dir string) (*osFS, error) {
	if err := os.MkdirAll(dir, dirPerm); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	d, err := root.Open(".")
	if err != nil {
		_ = root.Close() // the error to report is the other one
		return nil, err
	}
	return &osFS{root, d}, nil
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
func (o *osFS) Remove(name string) error                  { return o.root.Remove(name) }
func (o *osFS) SyncAll() error                            { return syncFileSystem(o.dir) }

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
	if err := flock(o.dir); err != nil {
		return nil, err
	}
	f, err := o.root.OpenFile(name, os.O_RDWR|os.O_CREATE, filePerm)
	if err == nil {
		err = flock(f)
	}
	if err != nil {
		if f != nil {
			_ = f.Close() // the error to report is the other one
		}
		return nil, errors.Join(err, o.dir.Close())
	}
	return locks{f, o.dir, o.root}, nil
}

func flock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil
}

// locks are closed together, which unlocks them.
type locks []io.Closer

func (l locks) Close() error {
	var err error
	for _, c := range l {
		err = errors.Join(err, c.Close())
	}
	return err
}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

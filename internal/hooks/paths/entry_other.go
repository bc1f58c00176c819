//go:build !linux

package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// An entry is what a name was at one moment. Without O_PATH a directory must
// be readable to be walked through.
type entry struct {
	parent *os.Root
	name   string
	info   fs.FileInfo
	dir    *os.Root // if it is a directory
}

var errChanged = errors.New("directory entry changed while it was opened")

func openTop() (entry, error) {
	top, err := os.OpenRoot("/")
	if err != nil {
		return entry{}, fmt.Errorf("open top directory: %w", err)
	}
	return entry{dir: top}, nil
}

// lookup looks at a name in a directory and follows no link.
func (e entry) lookup(name string) (entry, error) {
	if e.dir == nil {
		return entry{}, errNotDir
	}
	info, err := e.dir.Lstat(name)
	if err != nil {
		return entry{}, fmt.Errorf("stat directory entry: %w", err)
	}
	child := entry{parent: e.dir, name: name, info: info}
	if !info.IsDir() {
		return child, nil
	}
	if child.dir, err = e.dir.OpenRoot(name); err != nil {
		return entry{}, fmt.Errorf("open directory entry: %w", err)
	}
	opened, err := child.dir.Stat(".")
	if err == nil && !os.SameFile(info, opened) {
		err = errChanged // OpenRoot has followed a link
	}
	if err != nil {
		child.close()
		return entry{}, err
	}
	return child, nil
}

// mode is the entry's type.
func (e entry) mode() fs.FileMode {
	if e.info == nil {
		return fs.ModeDir
	}
	return e.info.Mode().Type()
}

func (e entry) readlink() (string, error) {
	text, err := e.parent.Readlink(e.name)
	if err != nil {
		return "", fmt.Errorf("read link: %w", err)
	}
	return text, nil
}

func (e entry) close() {
	if e.dir != nil {
		_ = e.dir.Close()
	}
}

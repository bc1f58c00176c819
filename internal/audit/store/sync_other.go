//go:build !linux

package store

import (
	"errors"
	"os"
)

func (f osFile) Datasync() error { return f.Sync() }

// syncFileSystem is known of Linux only to tell of errors.
func syncFileSystem(*os.File) error { return errors.ErrUnsupported }

func (f osFile) Allocate(size int64) error { return fillZeros(f, size) }

func maxOpenFiles() int { return fewOpenFiles }

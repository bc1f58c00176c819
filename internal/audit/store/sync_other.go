//go:build !linux

package store

func (f osFile) Datasync() error { return f.Sync() }

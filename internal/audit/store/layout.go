package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

const (
	filePerm fs.FileMode = 0o600
	dirPerm  fs.FileMode = 0o700

	keyName       = "commitment.key" // in layout.Keys
	tornSuffix    = ".torn"
	unnamedSuffix = ".new" // of quarantined bytes that no record names yet
)

// TenantID returns the name of a tenant's directory.
func TenantID(tenant string) string { return layout.TenantID(tenant) }

func chainDir(id string) string  { return path.Join(layout.Tenants, id, layout.Chain) }
func statePath(id string) string { return path.Join(layout.Tenants, id, layout.State) }

func segmentPath(dir string, first uint64) string { return path.Join(dir, layout.Segment(first)) }

// segmentsOf returns the first numbers of the segments in a directory, in
// order; none if there is no such directory.
func segmentsOf(fsys FS, dir string) ([]uint64, error) {
	names, err := fsys.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read directory %s: %w", dir, err)
	}
	var firsts []uint64
	for _, name := range names {
		if first, ok := layout.ParseSegment(name); ok {
			firsts = append(firsts, first)
		}
	}
	return firsts, nil
}

// makeDir makes a directory. One that is there is taken as it is.
func makeDir(fsys FS, name string) error {
	if err := fsys.Mkdir(name, dirPerm); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make directory %s: %w", name, err)
	}
	return nil
}

// mkdir makes a directory durably. One that is there may be left from a crash,
// so its entry is made durable again.
func mkdir(fsys FS, name string) error {
	if err := makeDir(fsys, name); err != nil {
		return err
	}
	if err := fsys.SyncDir(path.Dir(name)); err != nil {
		return fmt.Errorf("sync directory %s: %w", path.Dir(name), err)
	}
	return nil
}

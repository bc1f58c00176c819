package auditor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

const tmpSuffix = ".tmp" // of files that are being made

// formats are the layouts that this version knows.
var formats = []string{layout.V1, layout.V2}

// kept are all names in a log's directory, those of the service beside it
// included.
var kept = []string{
	layout.Lock, layout.Format, layout.Keys, layout.Journal, layout.Tenants, layout.Quarantine, layout.Anchor, layout.Info,
	layout.Reserve, layout.Probe, "admin.sock", "last-good.json",
}

// AnchorTenant is the tenant of the chain whose records are the checkpoints of
// all others.
const AnchorTenant = layout.AnchorTenant

// TenantID returns the name of a tenant's directory.
func TenantID(tenant string) string { return layout.TenantID(tenant) }

// errIrregular says that a file is none: a link, a pipe, a device.
var errIrregular = errors.New("not a regular file")

// openRegular opens a regular file, and neither follows a link nor waits for
// somebody to write into a pipe.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, errIrregular
	}
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close() // nothing was written
		return nil, errors.Join(errIrregular, err)
	}
	return f, nil
}

// maxSmall bounds the files that are read as a whole.
const maxSmall = 64 << 10

// readSmall reads a small file; nil without error if there is none.
func readSmall(path string) ([]byte, error) {
	f, err := openRegular(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, maxSmall)
	n, err := f.ReadAt(b, 0)
	if n == maxSmall {
		return nil, fmt.Errorf("%s: larger than it can be", path)
	}
	if n == 0 && err != nil {
		return []byte{}, nil
	}
	return b[:n], nil
}

// isDir reports whether a directory is there, a link to one not being one.
func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// A listing is what a directory holds, sorted by name.
type listing struct {
	segments []uint64
	others   []os.DirEntry
}

// list takes the segments of a directory apart from what else it holds.
func list(dir string) (listing, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return listing{}, err
	}
	var l listing
	for _, e := range entries {
		if first, ok := layout.ParseSegment(e.Name()); ok && e.Type().IsRegular() {
			l.segments = append(l.segments, first)
		} else {
			l.others = append(l.others, e)
		}
	}
	slices.Sort(l.segments)
	return l, nil
}

func segmentPath(dir string, first uint64) string {
	return filepath.Join(dir, layout.Segment(first))
}

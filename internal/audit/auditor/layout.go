package auditor

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// What a log's directory holds; package store makes it.
const (
	formatName    = "FORMAT"
	tenantsDir    = "t"
	logDir        = "log"
	stateName     = "state"
	journalDir    = "journal"
	journalNext   = "next"
	quarantineDir = "quarantine"
	anchorDir     = "anchor"
	anchorName    = "checkpoint"
	headsName     = "heads.jsonl"
	infoName      = "log.json"
	segmentSuffix = ".jsonl"
	segmentDigits = 20

	tmpSuffix = ".tmp" // of files that are being made
)

// formats are the layouts that this version knows.
var formats = []string{"hookpolicy audit v1\n", "hookpolicy audit v2\n"}

// kept are all names in a log's directory, those of the service beside it
// included.
var kept = []string{
	"LOCK", formatName, "keys", journalDir, tenantsDir, quarantineDir, anchorDir, infoName, "reserve", "probe", "admin.sock", "last-good.json",
}

// AnchorTenant is the tenant of the chain whose records are the checkpoints of
// all others.
const AnchorTenant = "_anchor"

// TenantID returns the name of a tenant's directory.
func TenantID(tenant string) string {
	h := sha256.Sum256([]byte(tenant))
	return strings.ToLower(base32.StdEncoding.EncodeToString(h[:10]))
}

// parseSegment returns the number that a segment's name says.
func parseSegment(name string) (first uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok || len(digits) != segmentDigits {
		return 0, false
	}
	first, err := strconv.ParseUint(digits, 10, 64)
	return first, err == nil
}

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
		if first, ok := parseSegment(e.Name()); ok && e.Type().IsRegular() {
			l.segments = append(l.segments, first)
		} else {
			l.others = append(l.others, e)
		}
	}
	slices.Sort(l.segments)
	return l, nil
}

func segmentPath(dir string, first uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%0*d%s", segmentDigits, first, segmentSuffix))
}

package store

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

const (
	filePerm fs.FileMode = 0o600
	dirPerm  fs.FileMode = 0o700

	lockName      = "LOCK"
	formatName    = "FORMAT"
	formatText    = "hookpolicy audit v2\n"
	formatBefore  = "hookpolicy audit v1\n" // without a journal
	keysDir       = "keys"
	keyName       = "commitment.key"
	tenantsDir    = "t"
	logDir        = "log"
	stateName     = "state"
	journalDir    = "journal"
	newName       = "next" // a segment that is being made
	quarantineDir = "quarantine"
	tornSuffix    = ".torn"
	unnamedSuffix = ".new" // of quarantined bytes that no record names yet
	reserveName   = "reserve"
	probeName     = "probe"
	segmentSuffix = ".jsonl"
	segmentDigits = 20
)

// TenantID returns the name of a tenant's directory.
func TenantID(tenant string) string {
	h := sha256.Sum256([]byte(tenant))
	return strings.ToLower(base32.StdEncoding.EncodeToString(h[:10]))
}

func chainDir(id string) string  { return path.Join(tenantsDir, id, logDir) }
func statePath(id string) string { return path.Join(tenantsDir, id, stateName) }

func segmentPath(dir string, first uint64) string { return path.Join(dir, segmentName(first)) }

// segmentsOf returns the first numbers of the segments in a directory, in
// order; none if there is no such directory.
func segmentsOf(fsys FS, dir string) ([]uint64, error) {
	names, err := fsys.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read directory %s: %w", dir, err)
	}
	var firsts []uint64
	for _, name := range names {
		if first, ok := parseSegment(name); ok {
			firsts = append(firsts, first)
		}
	}
	return firsts, nil
}

func segmentName(first uint64) string {
	return fmt.Sprintf("%0*d%s", segmentDigits, first, segmentSuffix)
}

// parseSegment returns the first sequence number that a segment's name says.
func parseSegment(name string) (first uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok || len(digits) != segmentDigits {
		return 0, false
	}
	first, err := strconv.ParseUint(digits, 10, 64)
	return first, err == nil
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

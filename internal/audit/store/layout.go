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
	formatText    = "hookpolicy audit v1\n"
	keysDir       = "keys"
	keyName       = "commitment.key"
	tenantsDir    = "t"
	logDir        = "log"
	quarantineDir = "quarantine"
	probeName     = "probe"
	segmentSuffix = ".jsonl"
	segmentDigits = 20
)

// TenantID returns the name of a tenant's directory.
func TenantID(tenant string) string {
	h := sha256.Sum256([]byte(tenant))
	return strings.ToLower(base32.StdEncoding.EncodeToString(h[:10]))
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

// mkdir makes a directory durably. One that is there is taken as it is: it may
// be left from a crash, so its entry is made durable again.
func mkdir(fsys FS, name string) error {
	if err := fsys.Mkdir(name, dirPerm); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make directory %s: %w", name, err)
	}
	if err := fsys.SyncDir(path.Dir(name)); err != nil {
		return fmt.Errorf("sync directory %s: %w", path.Dir(name), err)
	}
	return nil
}

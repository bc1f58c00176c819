package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

// maxNamed bounds how many files one record names. The rest waits for the next.
const maxNamed = 16

// setAside copies bytes to quarantine/, durably, before they are cut off. Done
// again after a crash in between, it makes the same file again. The file has a
// name of its own until a record names it: see asides.
func setAside(fsys FS, owner string, segment uint64, offset int64, data []byte) error {
	sum := sha256.Sum256(data)
	name := path.Join(layout.Quarantine, fmt.Sprintf("%s-%s-%d-%d-%x%s", owner, layout.Digits(segment), offset, len(data), sum, tornSuffix))
	if err := writeDurably(fsys, name+unnamedSuffix, data); err != nil {
		return fmt.Errorf("set aside what is cut off: %w", err)
	}
	return nil
}

// cutOff sets aside what follows an offset of a file, and cuts it off.
func cutOff(fsys FS, f File, name, owner string, segment uint64, offset int64) error {
	rest, err := readFrom(f, name, offset)
	if err != nil || len(rest) == 0 {
		return err
	}
	if err := setAside(fsys, owner, segment, offset, rest); err != nil {
		return err
	}
	if err := f.Truncate(offset); err != nil {
		return fmt.Errorf("cut torn bytes off %s: %w", name, err)
	}
	if err := f.Datasync(); err != nil {
		return fmt.Errorf("sync %s: %w", name, err)
	}
	return nil
}

// asides returns what is in quarantine/ and no record names, by whose it was:
// journalDir or a tenant_id. The values are members of a record.
func asides(fsys FS) (map[string][]any, error) {
	names, err := fsys.ReadDir(layout.Quarantine)
	if err != nil {
		return nil, fmt.Errorf("read directory %s: %w", layout.Quarantine, err)
	}
	found := make(map[string][]any)
	for _, name := range names {
		base, unnamed := strings.CutSuffix(name, unnamedSuffix)
		if !unnamed {
			continue
		}
		parts := strings.Split(strings.TrimSuffix(base, tornSuffix), "-")
		if len(parts) != 5 || len(parts[4]) != hex.EncodedLen(sha256.Size) {
			continue
		}
		if size, err := strconv.ParseUint(parts[3], 10, 63); err != nil || strconv.FormatUint(size, 10) != parts[3] {
			continue
		}
		found[parts[0]] = append(found[parts[0]], map[string]any{
			"bytes": json.Number(parts[3]), "file": path.Join(layout.Quarantine, base), "sha256": parts[4],
		})
	}
	return found, nil
}

// unnamed returns what the chain's next record is to name: what was cut off the
// journal, which may have been anybody's, and what was cut off the chain.
func (l *Log) unnamed(c *chain) []any {
	l.asidesMu.Lock()
	defer l.asidesMu.Unlock()
	cuts := append(append([]any(nil), l.asides[layout.Journal]...), l.asides[c.id]...)
	cuts = cuts[:min(len(cuts), maxNamed)]
	for _, cut := range cuts {
		c.names = append(c.names, cut.(map[string]any)["file"].(string))
	}
	return cuts
}

// named notes that a durable record names files in quarantine/. If that fails,
// another one will name them too.
func (l *Log) named(names []string) {
	if len(names) == 0 {
		return
	}
	for _, name := range names {
		if err := l.fs.Rename(name+unnamedSuffix, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.health.fellBehind(err)
		}
	}
	if err := l.fs.SyncDir(layout.Quarantine); err != nil {
		l.health.fellBehind(err)
	}
}

// isPrefix reports whether what is there is the beginning of what should be.
func isPrefix(there, want []byte) bool { return bytes.HasPrefix(want, there) }

package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"strconv"

	"github.com/hookpolicy/hookpolicy/internal/audit"
)

// A recovery brings one tenant's chain back to its last good record.
type recovery struct {
	fs     FS
	tenant string
	id     string
	cuts   []any // what was moved to quarantine/, as members of a record
}

// run fills in where the chain stands and how its next record introduces it.
func (r *recovery) run(c *chain) error {
	dir := path.Join(tenantsDir, r.id)
	c.dir = path.Join(dir, logDir)
	for _, d := range []string{dir, c.dir} {
		if err := mkdir(r.fs, d); err != nil {
			return err
		}
	}
	segments, err := segmentsOf(r.fs, c.dir)
	if err != nil {
		return err
	}
	if len(segments) > 0 {
		if err := r.position(c, segments); err != nil {
			return err
		}
	}
	if c.pos.next == 0 {
		return r.begin(c)
	}
	if err := r.origin(c, path.Join(c.dir, segmentName(segments[0]))); err != nil {
		return err
	}
	return c.introduce(audit.KindBoot, r.detail("last_seq", strconv.FormatUint(c.pos.next-1, 10)))
}

// begin gives a new chain its origin.
func (r *recovery) begin(c *chain) error {
	c.origin = newOrigin(r.id)
	return c.introduce(audit.KindGenesis, r.detail("", ""))
}

func (r *recovery) detail(name, value string) map[string]any {
	d := make(map[string]any)
	if name != "" {
		d[name] = value
	}
	if r.cuts != nil {
		d["quarantined"] = r.cuts
	}
	return d
}

func segmentsOf(fsys FS, dir string) ([]uint64, error) {
	names, err := fsys.ReadDir(dir)
	if err != nil {
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

// position finds the last good record in the last two segments. The one before
// the last may hold more than the last one's name allows: what was written to
// it when its fdatasync failed.
func (r *recovery) position(c *chain, segments []uint64) error {
	n := len(segments) - 1
	last, err := r.end(path.Join(c.dir, segmentName(segments[n])), math.MaxUint64)
	if err != nil {
		return err
	}
	c.seg = segment{name: path.Join(c.dir, segmentName(segments[n])), size: last.end, lastLen: last.lastLen}
	if n > 0 {
		name := path.Join(c.dir, segmentName(segments[n-1]))
		before, err := r.end(name, segments[n])
		if err != nil {
			return err
		}
		if !before.good || before.last.Seq+1 != segments[n] {
			return fmt.Errorf("%w: %s: does not reach the next segment", ErrCorrupt, name)
		}
		if !last.good {
			last.last = before.last
		}
	} else if !last.good {
		if segments[0] != 0 {
			return fmt.Errorf("%w: %s: the records before it are missing", ErrCorrupt, c.seg.name)
		}
		return nil // nothing was ever acknowledged
	}
	c.pos = position{last.last.Seq + 1, last.last.Hash, last.last.Time}
	c.seg.next, c.seg.head = c.pos.next, c.pos.head
	return nil
}

// end reads the end of a segment and sets aside what is torn.
func (r *recovery) end(name string, limit uint64) (tail, error) {
	f, err := r.fs.OpenFile(name, 0, 0)
	if err != nil {
		return tail{}, fmt.Errorf("open %s: %w", name, err)
	}
	t, err := readTail(f, name, limit)
	if err == nil && len(t.torn) > 0 {
		err = r.setAside(f, name, &t)
	}
	if closeErr := f.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("close %s: %w", name, closeErr)
	}
	return t, err
}

// setAside copies torn bytes to quarantine/ and then cuts them off. Done again
// after a crash in between, it makes the same file again.
func (r *recovery) setAside(f File, name string, t *tail) error {
	sum := sha256.Sum256(t.torn)
	base, _ := parseSegment(path.Base(name))
	copyName := path.Join(quarantineDir, fmt.Sprintf("%s-%0*d-%d-%x.torn", r.id, segmentDigits, base, t.end, sum[:4]))
	if err := writeDurably(r.fs, copyName, t.torn); err != nil {
		return fmt.Errorf("set torn bytes of %s aside: %w", name, err)
	}
	if err := f.Truncate(t.end); err != nil {
		return fmt.Errorf("cut torn bytes off %s: %w", name, err)
	}
	if err := f.Datasync(); err != nil {
		return fmt.Errorf("sync %s: %w", name, err)
	}
	r.cuts = append(r.cuts, map[string]any{
		"bytes":  json.Number(strconv.Itoa(len(t.torn))),
		"file":   copyName,
		"sha256": hex.EncodeToString(sum[:]),
	})
	return nil
}

// origin reads the chain's origin from its genesis.
func (r *recovery) origin(c *chain, name string) error {
	f, err := r.fs.OpenFile(name, 0, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer f.Close()
	b := make([]byte, audit.MaxLine)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", name, err)
	}
	b = b[:n]
	line, err := audit.ParseLine(b[:bytes.IndexByte(b, '\n')+1])
	switch {
	case err != nil:
		return fmt.Errorf("%w: %s:1: %w", ErrCorrupt, name, err)
	case line.Kind != audit.KindGenesis || line.Seq != 0 || line.Log == "":
		return fmt.Errorf("%w: %s:1: not the genesis of a chain", ErrCorrupt, name)
	case line.Tenant != r.tenant:
		return fmt.Errorf("%w: %s:1: genesis of another tenant", ErrCorrupt, name)
	}
	c.origin = line.Log
	return nil
}

// createFlags make a segment, or empty one in which nothing is durable.
const createFlags = os.O_CREATE | os.O_TRUNC

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync/atomic"

	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

const defaultSegmentBytes = 64 << 20

// A journal is what a batch is written to first. It belongs to the goroutine
// that writes it, but for undrained.
type journal struct {
	fs    FS
	limit int64 // a segment is full at this size

	file  File // nil: the next batch begins a segment
	first uint64
	size  int64
	next  uint64 // number of the next line
	fault error  // why a segment was given up since whoever asks asked last

	// undrained is how many bytes are in the segments before this one.
	undrained atomic.Int64
}

// A sealed segment takes no more lines: it can go once they are durable in the
// tenants' files.
type sealed struct {
	first uint64
	size  int64
}

var errJournalFull = errors.New("the journal is full: tenants' files cannot be written")

// append makes a batch durable: with one write and one sync or, if these fail,
// with those of one new segment. It returns the segments that it ended.
// The last batches of a log go in however full the journal is.
func (j *journal) append(data []byte, lines uint64, last bool) (ended []sealed, err error) {
	before := j.undrained.Load()
	if before > 0 && before+j.size > 3*j.limit && !last {
		return nil, errJournalFull
	}
	if j.file != nil && (j.size < j.limit || before > 0) {
		if err = j.write(data); err == nil {
			j.next += lines
			return nil, nil
		}
		j.fault = err
		// The file may hold more than it should now. It is named nowhere as
		// holding that; cutting it off makes it readable by itself.
		_ = j.file.Truncate(j.size)
	}
	old := sealed{j.first, j.size}
	if err := j.begin(data, lines); err != nil {
		return nil, err
	}
	if old.first == j.first {
		return nil, nil // it held nothing, and the new one has its name
	}
	j.undrained.Add(old.size)
	return []sealed{old}, nil
}

func (j *journal) write(data []byte) error {
	name := segmentPath(layout.Journal, j.first)
	if err := writeAll(j.file, data, j.size); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := j.file.Datasync(); err != nil {
		return fmt.Errorf("sync %s: %w", name, err)
	}
	j.size += int64(len(data))
	return nil
}

// begin makes a segment that holds lines. It has its name, durably, only after
// the lines are durable. If it fails, the next batch begins one again.
func (j *journal) begin(data []byte, lines uint64) error {
	j.close()
	name, made := segmentPath(layout.Journal, j.next), path.Join(layout.Journal, layout.Next)
	if err := j.fs.Remove(made); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", made, err)
	}
	f, err := j.fs.OpenFile(made, os.O_CREATE|os.O_TRUNC, filePerm)
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	if err = writeAll(f, data, 0); err == nil {
		err = f.Datasync()
	}
	if err == nil {
		err = j.fs.Rename(made, name)
	}
	if err == nil {
		err = j.fs.SyncDir(layout.Journal)
	}
	if err != nil {
		_ = f.Close() // the error to report is the other one
		return fmt.Errorf("begin %s: %w", name, err)
	}
	j.file, j.first, j.size = f, j.next, int64(len(data))
	j.next += lines
	return nil
}

// close closes the segment: all that counts in it was synced.
func (j *journal) close() {
	if j.file != nil {
		_ = j.file.Close()
		j.file = nil
	}
}

// removeSegments removes segments of the journal whose lines are durable in the
// tenants' files. That they are gone need not be durable.
func removeSegments(fsys FS, segments []sealed) error {
	for _, s := range segments {
		name := segmentPath(layout.Journal, s.first)
		if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	return nil
}

package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/hookpolicy/hookpolicy/internal/audit"
)

// tailWindow is how much of the end of a file recovery reads. All that a crash
// can have torn is in it: one batch, with the line that made it full, after at
// least one line that was durable before.
const tailWindow = maxBatchBytes + 3*audit.MaxLine

// A tail is the end of a segment.
type tail struct {
	good    bool // there is a good line
	last    audit.Line
	lastLen int
	end     int64  // offset after the last good line
	torn    []byte // what follows it
}

// readTail finds the last good line whose sequence number is below limit. What
// follows it is torn; if a good line follows it, the file is corrupt.
func readTail(f File, name string, limit uint64) (tail, error) {
	size, err := f.Size()
	if err != nil {
		return tail{}, fmt.Errorf("size of %s: %w", name, err)
	}
	b := make([]byte, min(size, tailWindow))
	offset := size - int64(len(b))
	if _, err := f.ReadAt(b, offset); err != nil && !errors.Is(err, io.EOF) {
		return tail{}, fmt.Errorf("read %s: %w", name, err)
	}
	if offset > 0 { // b begins inside a line
		begun := bytes.IndexByte(b, '\n') + 1
		b, offset = b[begun:], offset+int64(begun)
	}
	t := tail{end: offset}
	for line := range bytes.Lines(b) {
		l, err := audit.ParseLine(line)
		if err != nil || l.Seq >= limit {
			break
		}
		if t.good && (l.Seq != t.last.Seq+1 || l.Prev != t.last.Hash) {
			return tail{}, corrupt(f, name, t.end, "record does not follow the one before it")
		}
		t = tail{good: true, last: l, lastLen: len(line), end: t.end + int64(len(line))}
	}
	t.torn = b[t.end-offset:]
	switch {
	case !t.good && offset > 0:
		return tail{}, corrupt(f, name, offset, "no good record near the end")
	case holdsRecord(t.torn, limit):
		return tail{}, corrupt(f, name, t.end, "bad record before a good one")
	}
	return t, nil
}

// holdsRecord reports whether a good line is among torn ones.
func holdsRecord(torn []byte, limit uint64) bool {
	for line := range bytes.Lines(torn) {
		if l, err := audit.ParseLine(line); err == nil && l.Seq < limit {
			return true
		}
	}
	return false
}

// corrupt returns ErrCorrupt with the line at an offset of a file.
func corrupt(f File, name string, offset int64, detail string) error {
	line, err := lineAt(f, offset)
	if err != nil {
		return fmt.Errorf("%w: %s: byte %d: %s", ErrCorrupt, name, offset, detail)
	}
	return fmt.Errorf("%w: %s:%d: %s", ErrCorrupt, name, line, detail)
}

func lineAt(f File, offset int64) (int64, error) {
	line := int64(1)
	b := make([]byte, 256<<10)
	for at := int64(0); at < offset; {
		n, err := f.ReadAt(b[:min(int64(len(b)), offset-at)], at)
		if err != nil && (!errors.Is(err, io.EOF) || n == 0) {
			return 0, err
		}
		line += int64(bytes.Count(b[:n], []byte{'\n'}))
		at += int64(n)
	}
	return line, nil
}

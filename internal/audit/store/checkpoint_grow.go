package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
)

// growTree adds to a tree the records of a tenant's files from its size up to
// another one. It reads these records and little more.
func growTree(fsys FS, id string, tree checkpoint.Tree, size uint64) (checkpoint.Tree, error) {
	if tree.Size() == size {
		return tree, nil
	}
	dir := chainDir(id)
	segments, err := segmentsOf(fsys, dir)
	if err != nil {
		return tree, err
	}
	for i, first := range segments {
		end := size
		if i+1 < len(segments) {
			end = min(end, segments[i+1]) // what else it holds was never acknowledged
		}
		if end <= tree.Size() {
			continue
		}
		if err := growBy(fsys, segmentPath(dir, first), &tree, end); err != nil {
			return tree, err
		}
	}
	if tree.Size() != size {
		return tree, fmt.Errorf("%w: %s: records %d to %d are missing", ErrCorrupt, dir, tree.Size(), size-1)
	}
	return tree, nil
}

// growBy adds the records of one segment, up to but not including end.
func growBy(fsys FS, name string, tree *checkpoint.Tree, end uint64) error {
	f, err := fsys.OpenFile(name, 0, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer f.Close()
	at, err := before(f, tree.Size())
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	size, err := f.Size()
	if err != nil {
		return fmt.Errorf("size of %s: %w", name, err)
	}
	var buf []byte
	for r := io.NewSectionReader(f, at, size-at); tree.Size() < end; {
		n := len(buf)
		buf = slices.Grow(buf, 4*audit.MaxLine)[:n+4*audit.MaxLine]
		m, err := io.ReadFull(r, buf[n:])
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%w: %s: record %d is missing", ErrCorrupt, name, tree.Size())
		}
		buf = buf[:n+m]
		whole := bytes.LastIndexByte(buf, '\n') + 1
		if err := growLines(buf[:whole], tree, end); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrCorrupt, name, err)
		}
		buf = append(buf[:0], buf[whole:]...)
		if len(buf) > audit.MaxLine {
			return fmt.Errorf("%w: %s: a line is longer than any record", ErrCorrupt, name)
		}
	}
	return nil
}

func growLines(lines []byte, tree *checkpoint.Tree, end uint64) error {
	for line := range bytes.Lines(lines) {
		l, err := audit.ParseLine(line)
		switch {
		case err != nil:
			return fmt.Errorf("record %d: %w", tree.Size(), err)
		case l.Seq < tree.Size():
			continue
		case l.Seq >= end:
			return nil
		case l.Seq > tree.Size():
			return fmt.Errorf("record %d is missing", tree.Size())
		}
		tree.Append(l.Hash)
	}
	return nil
}

// growWindow is how much of the end of a segment is looked at first.
const growWindow = 1 << 20

// before returns the offset of a line at or before record seq, or of the
// file's beginning. It doubles what it reads of the end until it has it.
func before(f File, seq uint64) (int64, error) {
	size, err := f.Size()
	if err != nil {
		return 0, err
	}
	line := make([]byte, 2*audit.MaxLine)
	for window := int64(growWindow); window < size; window *= 2 {
		at := size - window
		n, err := f.ReadAt(line, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		_, rest, _ := bytes.Cut(line[:n], []byte{'\n'}) // it begins inside a line
		skipped := int64(n - len(rest))
		l, err := audit.ParseLine(rest[:bytes.IndexByte(rest, '\n')+1])
		if err == nil && l.Seq <= seq {
			return at + skipped, nil
		}
	}
	return 0, nil
}

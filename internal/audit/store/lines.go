package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

const readChunk = 1 << 20

// eachLine gives take the lines of a file from an offset on, newlines included,
// until it says no. It returns the offset after the last one that was taken.
// Neither an end without a newline nor what is longer than any line is given.
func eachLine(f File, name string, from int64, take func(raw []byte, at int64) (bool, error)) (end int64, err error) {
	size, err := f.Size()
	if err != nil {
		return from, fmt.Errorf("size of %s: %w", name, err)
	}
	if size <= from {
		return from, nil
	}
	buf := make([]byte, 0, min(size-from, readChunk))
	for at := from; ; {
		n, err := f.ReadAt(buf[len(buf):cap(buf)], at+int64(len(buf)))
		if err != nil && !errors.Is(err, io.EOF) {
			return at, fmt.Errorf("read %s: %w", name, err)
		}
		buf = buf[:len(buf)+n]
		used := 0
		for {
			i := bytes.IndexByte(buf[used:], '\n')
			if i < 0 {
				break
			}
			more, err := take(buf[used:used+i+1], at+int64(used))
			if err != nil || !more {
				return at + int64(used), err
			}
			used += i + 1
		}
		at += int64(used)
		rest := copy(buf, buf[used:])
		buf = buf[:rest]
		if n == 0 || rest == cap(buf) {
			return at, nil
		}
	}
}

// readJournal gives take all lines of the journal up to a number. It demands
// that they are as they were written.
func readJournal(fsys FS, upTo uint64, take func(raw []byte, line *audit.Line) error) error {
	firsts, err := segmentsOf(fsys, layout.Journal)
	if err != nil {
		return err
	}
	for i, first := range firsts {
		end := upTo
		if i+1 < len(firsts) {
			end = min(upTo, firsts[i+1])
		}
		if first >= end {
			continue
		}
		if err := readLines(fsys, segmentPath(layout.Journal, first), end-first, take); err != nil {
			return err
		}
	}
	return nil
}

func readLines(fsys FS, name string, count uint64, take func(raw []byte, line *audit.Line) error) error {
	f, err := fsys.OpenFile(name, 0, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer f.Close()
	end, err := eachLine(f, name, 0, func(raw []byte, at int64) (bool, error) {
		if count == 0 {
			return false, nil
		}
		count--
		line, err := audit.ParseLine(raw)
		if err != nil {
			return false, corrupt(f, name, at, err.Error())
		}
		return true, take(raw, &line)
	})
	if err == nil && count > 0 {
		err = corrupt(f, name, end, "records are missing at the end")
	}
	return err
}

func readWhole(fsys FS, name string) ([]byte, error) {
	f, err := fsys.OpenFile(name, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	defer f.Close()
	return readFrom(f, name, 0)
}

// corrupt returns ErrCorrupt with the offset in a file and the line there.
func corrupt(f File, name string, offset int64, detail string) error {
	line, err := lineAt(f, offset)
	if err != nil {
		return fmt.Errorf("%w: %s: byte %d: %s", ErrCorrupt, name, offset, detail)
	}
	return fmt.Errorf("%w: %s:%d: byte %d: %s", ErrCorrupt, name, line, offset, detail)
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

// readFrom reads a file from an offset to its end, which must be near.
func readFrom(f File, name string, offset int64) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("size of %s: %w", name, err)
	}
	if size <= offset {
		return nil, nil
	}
	if size-offset > math.MaxInt32 {
		return nil, corrupt(f, name, offset, "no good record near the end")
	}
	b := make([]byte, size-offset)
	n, err := f.ReadAt(b, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return b[:n], nil
}

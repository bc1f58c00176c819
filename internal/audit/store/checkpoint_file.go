package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
)

// An AnchorFile publishes anchors as lines of a file that the operator keeps
// elsewhere: on another disk, or where this process may add to a file but not
// change it. Lines are only ever added, so the file can be append-only
// (chattr +a), can be a copy that grows, and shows what was published before
// whoever took over the machine. It is opened anew for each anchor, so it can
// be moved away; a new one is begun then.
type AnchorFile struct {
	path string
	mu   sync.Mutex
}

var _ Publisher = (*AnchorFile)(nil)

// NewAnchorFile returns the publisher of a file, which is made if need be.
func NewAnchorFile(path string) *AnchorFile { return &AnchorFile{path: path} }

// anchorWindow is how much of the end of a file is read for its last line.
const anchorWindow = 2 * checkpoint.MaxAnchorLine

// Last implements Publisher. A last line that is not whole is what a crash
// leaves: the one before counts.
func (a *AnchorFile) Last(context.Context) (*checkpoint.Anchor, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f, err := os.Open(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no anchor is no error
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	end, err := readEnd(f, anchorWindow)
	if err != nil {
		return nil, err
	}
	for len(end) > 0 {
		end = end[:lastNewline(end)]
		begun := lastNewline(end[:max(0, len(end)-1)])
		if line := end[begun:]; len(line) > 1 {
			last, err := checkpoint.ParseAnchor(line)
			if err == nil {
				return last, nil
			}
			if !isTorn(line) {
				return nil, fmt.Errorf("read %s: %w", a.path, err)
			}
		}
		end = end[:begun]
	}
	return nil, nil //nolint:nilnil // no anchor is no error
}

// isTorn reports whether a line is the beginning of one that a crash cut off
// and that a newline was put after.
func isTorn(line []byte) bool { return !bytes.HasSuffix(line, []byte("}\n")) }

func readEnd(f *os.File, window int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	end := make([]byte, min(info.Size(), window))
	if _, err := f.ReadAt(end, info.Size()-int64(len(end))); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return end, nil
}

// Publish implements Publisher.
func (a *AnchorFile) Publish(_ context.Context, anchors []*checkpoint.Anchor) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	f, err := os.OpenFile(a.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, filePerm)
	if err != nil {
		return err
	}
	end, err := readEnd(f, 1)
	var lines []byte
	if len(end) == 1 && end[0] != '\n' {
		lines = append(lines, '\n') // after what a crash left
	}
	for _, anchor := range anchors {
		if err == nil {
			lines, err = anchor.AppendLine(lines)
		}
	}
	if err == nil {
		_, err = f.Write(lines)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// lastNewline returns the length of what b holds of whole lines.
func lastNewline(b []byte) int { return bytes.LastIndexByte(b, '\n') + 1 }

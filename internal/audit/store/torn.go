package store

import (
	"bytes"
	"errors"

	"github.com/hookpolicy/hookpolicy/internal/audit"
)

// tailWindow bounds what a crash can have torn: one batch, with the lines that
// made it full.
const tailWindow = maxBatchBytes + 3*audit.MaxLine

const sectorBytes = 512

// whyNotTorn looks at what follows the last good line of a file, at an offset.
// It returns "" if a crash in the middle of a write explains it: an end that is
// missing, zeros where sectors were never written, the garbage of older blocks.
// It returns what is wrong if somebody must have changed what was whole. isNew
// says of a good line that it belongs here, and is not an old one in a block
// that was used again.
func whyNotTorn(rest []byte, offset int64, isNew func(*audit.Line) bool) string {
	if len(rest) > tailWindow {
		return "no good record near the end"
	}
	newer, whole := false, false
	for raw := range bytes.Lines(rest) {
		line, err := audit.ParseLine(raw)
		if err == nil {
			newer = newer || isNew(&line)
			continue
		}
		if bytes.IndexByte(raw, 0) >= 0 || raw[len(raw)-1] != '\n' {
			continue
		}
		// What ends where a line ends, and holds nothing of a sector that was
		// lost, was written whole: then its hash must be right.
		if e, ok := errors.AsType[*audit.LineError](err); ok && e.Reason != audit.ReasonFrame && e.Reason != audit.ReasonTooLong {
			return "record is not what was written"
		}
		whole = true
	}
	if newer && (whole || !lostSectors(rest, offset)) {
		return "bad record before a good one"
	}
	return ""
}

// lostSectors reports whether zeros are in the bytes at an offset of a file as
// they are where whole sectors were not written. No line holds a zero.
func lostSectors(b []byte, offset int64) bool {
	for i := 0; i < len(b); {
		begin := bytes.IndexByte(b[i:], 0)
		if begin < 0 {
			return false
		}
		begin += i
		end := begin
		for end < len(b) && b[end] == 0 {
			end++
		}
		begun := begin == 0 || b[begin-1] == '\n' || (offset+int64(begin))%sectorBytes == 0
		if begun && (end == len(b) || (offset+int64(end))%sectorBytes == 0) {
			return true
		}
		i = end
	}
	return false
}

package auditor

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

// A journal is the newest records of all chains, as they were committed. Its
// methods take the directory's name of a tenant.
type journal struct {
	dir      string
	segments []journalSegment
	records  int
	lines    map[string][]journalLine // in the order of their numbers
	findings []audit.Finding
}

type journalSegment struct {
	path string
	data []byte
}

// A journalLine is one record in the journal.
type journalLine struct {
	seq     uint64
	hash    audit.Hash
	segment int
	line    int64
	at, end int64
}

// maxJournalSegment bounds what is read of a segment: several times what one
// can hold.
const maxJournalSegment = 1 << 30

// readJournal reads the journal in a directory; an empty one if there is none.
func readJournal(dir string) (*journal, error) {
	j := &journal{dir: dir, lines: make(map[string][]journalLine)}
	if !isDir(dir) {
		return j, nil
	}
	l, err := list(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range l.others {
		if e.Name() != layout.Next || !e.Type().IsRegular() {
			j.find(dir+string(os.PathSeparator)+e.Name(), 0, audit.ReasonFile, "not a segment of the journal")
		}
	}
	for i, first := range l.segments {
		count := ^uint64(0) // lines that count: those up to the next segment
		if i+1 < len(l.segments) {
			count = l.segments[i+1] - first
		}
		if err := j.read(segmentPath(dir, first), count); err != nil {
			return nil, err
		}
	}
	return j, nil
}

func (j *journal) find(file string, line int64, reason audit.Reason, detail string) {
	if len(j.findings) < MaxFindings {
		j.findings = append(j.findings, audit.Finding{File: file, Line: line, Reason: reason, Detail: detail})
	}
}

func (j *journal) read(path string, count uint64) error {
	data, err := readRegular(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil // it was removed since the directory was read: its lines are in the chains
	case errors.Is(err, errIrregular):
		j.find(path, 0, audit.ReasonFile, "not a regular file")
		return nil
	case err != nil:
		return err
	}
	j.segments = append(j.segments, journalSegment{path, data})
	n, at := int64(0), int64(0)
	for line := range bytes.Lines(data) {
		if uint64(n) == count {
			return nil // what follows was never acknowledged
		}
		n++
		end := at + int64(len(line))
		l, err := audit.ParseLine(line)
		if err != nil {
			j.bad(path, n, err, data[at:])
			return nil
		}
		j.add(&l, journalLine{seq: l.Seq, hash: l.Hash, segment: len(j.segments) - 1, line: n, at: at, end: end}, path)
		at = end
	}
	if count != ^uint64(0) && uint64(n) < count {
		j.find(path, n, audit.ReasonSegment, fmt.Sprintf("%d records are missing before the next segment", count-uint64(n)))
	}
	return nil
}

// bad finds a line that is none. What follows it is not read: where nothing
// good does, a crash may have left it.
func (j *journal) bad(path string, line int64, err error, rest []byte) {
	reason, detail := audit.ReasonTorn, "unfinished end: a crash leaves one, which was never acknowledged; the next start sets it aside"
	for l := range bytes.Lines(rest) {
		if _, e := audit.ParseLine(l); e == nil {
			reason, detail = audit.ReasonJournal, err.Error()
			if le, ok := errors.AsType[*audit.LineError](err); ok {
				reason = le.Reason
			}
			break
		}
	}
	j.find(path, line, reason, detail)
}

func (j *journal) add(l *audit.Line, jl journalLine, path string) {
	id := TenantID(l.Tenant)
	before := j.lines[id]
	if n := len(before); n > 0 && (before[n-1].seq+1 != l.Seq || before[n-1].hash != l.Prev) {
		j.find(path, jl.line, audit.ReasonJournal, fmt.Sprintf("record %d does not follow record %d of the same chain", l.Seq, before[n-1].seq))
	}
	j.lines[id] = append(before, jl)
	j.records++
}

func readRegular(path string) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxJournalSegment {
		return nil, fmt.Errorf("%s: larger than a segment can be", path)
	}
	data := make([]byte, info.Size())
	n, err := f.ReadAt(data, 0)
	if n < len(data) {
		return nil, err
	}
	return data, nil
}

// lookup returns what the journal holds of a record.
func lookup(lines []journalLine, seq uint64) *journalLine {
	if len(lines) == 0 || seq < lines[0].seq || seq-lines[0].seq >= uint64(len(lines)) {
		return nil
	}
	if l := &lines[seq-lines[0].seq]; l.seq == seq {
		return l
	}
	return nil // the journal has a finding for that
}

// same tells whether a record is that of the journal.
func (j *journal) same(id string) func(uint64, audit.Hash) bool {
	lines := j.lines[id]
	if len(lines) == 0 {
		return nil
	}
	return func(seq uint64, h audit.Hash) bool {
		l := lookup(lines, seq)
		return l == nil || l.hash == h
	}
}

// torn tells whether the unfinished end of a tenant's file is the beginning of
// the record that the journal holds whole.
func (j *journal) torn(id string) func(uint64, []byte) bool {
	lines := j.lines[id]
	return func(seq uint64, part []byte) bool {
		l := lookup(lines, seq)
		return l != nil && bytes.HasPrefix(j.bytes(l), part)
	}
}

func (j *journal) bytes(l *journalLine) []byte { return j.segments[l.segment].data[l.at:l.end] }

// rest verifies the records that are not in the tenant's files yet.
func (j *journal) rest(id string, v *audit.Verifier) error {
	for i := range j.lines[id] {
		l := &j.lines[id][i]
		if l.seq < v.Summary().Next {
			continue
		}
		at := audit.Finding{File: j.segments[l.segment].path, Line: l.line, Offset: l.at}
		if err := v.VerifyLine(&at, j.bytes(l)); err != nil {
			return err
		}
	}
	return nil
}

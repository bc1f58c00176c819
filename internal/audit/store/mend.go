package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"

	"github.com/hookpolicy/hookpolicy/internal/audit"
)

// A mender brings the files of one chain up to the journal.
type mender struct {
	fs    FS
	id    string
	dir   string
	state state    // as far as the files are right
	has   bool     // there is the state's segment
	later []uint64 // segments after it
	ended bool     // nothing follows the state in its segment

	unsynced []uint64
	entries  bool
}

// newMender begins where the chain was when it was last drained, or before its
// first line in the journal.
func newMender(fsys FS, c *ofChain) (*mender, error) {
	m := mendFrom(fsys, c.id, c.saved, c.files)
	if m.state.next() < c.first {
		if err := m.forward(c.first); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// mendFrom begins at a state, nil for the beginning of the chain.
func mendFrom(fsys FS, id string, saved *state, segments []uint64) *mender {
	m := &mender{fs: fsys, id: id, dir: chainDir(id), later: segments}
	if saved != nil {
		m.state, m.has = *saved, true
		m.later = slices.DeleteFunc(m.later, func(first uint64) bool { return first <= saved.First })
	}
	return m
}

// stop is where the next segment begins.
func (m *mender) stop() uint64 {
	if len(m.later) > 0 {
		return m.later[0]
	}
	return math.MaxUint64
}

// beyond returns how many bytes follow what is good.
func (m *mender) beyond() (n int, err error) {
	rest := m.later
	from := int64(0)
	if m.has {
		rest, from = append([]uint64{m.state.First}, rest...), m.state.Size
	}
	for _, first := range rest {
		all, err := readWhole(m.fs, segmentPath(m.dir, first))
		if err != nil {
			return 0, err
		}
		n += max(len(all)-int(from), 0)
		from = 0
	}
	return n, nil
}

// forward reads the chain from the state on, up to a record.
func (m *mender) forward(until uint64) error {
	for m.state.next() < until {
		if !m.has || len(m.later) > 0 && m.later[0] == m.state.next() {
			if !m.nextSegment() {
				return fmt.Errorf("%w: %s: records %d to %d are missing", ErrCorrupt, m.dir, m.state.next(), until-1)
			}
		}
		if err := m.readTo(min(until, m.stop())); err != nil {
			return err
		}
	}
	return nil
}

// nextSegment goes on to the segment that begins where the state is.
func (m *mender) nextSegment() bool {
	if len(m.later) == 0 || m.later[0] != m.state.next() {
		return false
	}
	m.state.First, m.state.Size, m.state.LastLen, m.has, m.ended = m.later[0], 0, 0, true, false
	m.later = m.later[1:]
	return true
}

func (m *mender) name() string { return segmentPath(m.dir, m.state.First) }

func (m *mender) readTo(stop uint64) error {
	f, err := m.fs.OpenFile(m.name(), 0, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", m.name(), err)
	}
	defer f.Close()
	at, err := m.readLines(f, stop)
	if err == nil && m.state.next() < stop {
		err = corrupt(f, m.name(), at, fmt.Sprintf("record %d is missing", m.state.next()))
	}
	return err
}

// readLines moves the state over the good lines that follow it in its segment,
// up to a record.
func (m *mender) readLines(f File, stop uint64) (end int64, err error) {
	return eachLine(f, m.name(), m.state.Size, func(raw []byte, _ int64) (bool, error) {
		line, bad := audit.ParseLine(raw)
		if bad != nil || m.state.next() >= stop || !m.state.follows(&line) {
			return false, nil //nolint:nilerr // what it is instead, whoever looks at the rest says
		}
		m.state.take(&line, len(raw))
		return true, nil
	})
}

// apply puts lines of the journal in their place. Those that the state is past
// are there.
func (m *mender) apply(lines []byte, parsed []audit.Line, sizes []int) error {
	run := 0 // bytes at the start of lines that wait to be written
	start := m.state
	flush := func() error {
		if run == 0 {
			return nil
		}
		err := m.put(start, lines[:run])
		lines, run, start = lines[run:], 0, m.state
		return err
	}
	for i := range parsed {
		line := &parsed[i]
		if line.Seq < m.state.next() {
			lines = lines[sizes[i]:]
			continue
		}
		if !m.state.follows(line) {
			return fmt.Errorf("%w: %s: record %d in the journal does not follow the chain", ErrCorrupt, m.dir, line.Seq)
		}
		if !m.has || len(m.later) > 0 && m.later[0] == line.Seq {
			if err := flush(); err != nil {
				return err
			}
			if err := m.enter(line.Seq); err != nil {
				return err
			}
			start = m.state
		}
		m.state.take(line, sizes[i])
		run += sizes[i]
	}
	return flush()
}

// enter goes on to the segment that begins with a record, which it makes if it
// is not there.
func (m *mender) enter(seq uint64) error {
	if m.has {
		if err := m.cut(); err != nil {
			return err
		}
	}
	if m.nextSegment() {
		m.touch()
		return nil
	}
	for _, dir := range []string{path.Dir(m.dir), m.dir} {
		if err := makeDir(m.fs, dir); err != nil {
			return err
		}
	}
	m.state.First, m.state.Size, m.state.LastLen, m.has, m.entries, m.ended = seq, 0, 0, true, true, false
	m.touch()
	return nil
}

func (m *mender) touch() {
	if n := len(m.unsynced); n == 0 || m.unsynced[n-1] != m.state.First {
		m.unsynced = append(m.unsynced, m.state.First)
	}
}

// put makes the segment hold lines at the place of a state. What else is there
// and after it, and no beginning of these lines, is set aside.
func (m *mender) put(at state, lines []byte) error {
	m.touch()
	m.entries = true
	name := segmentPath(m.dir, at.First)
	f, err := m.fs.OpenFile(name, os.O_CREATE, filePerm)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer f.Close()
	there, err := readFrom(f, name, at.Size)
	if err != nil {
		return err
	}
	m.ended = len(there) <= len(lines)
	if isPrefix(lines, there) {
		return nil
	}
	if !isPrefix(there, lines) {
		if err := m.replace(f, name, at, there); err != nil {
			return err
		}
	}
	if err := writeAll(f, lines, at.Size); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (m *mender) replace(f File, name string, at state, there []byte) error {
	if err := setAside(m.fs, m.id, at.First, at.Size, there); err != nil {
		return err
	}
	if err := f.Truncate(at.Size); err != nil {
		return fmt.Errorf("cut %s: %w", name, err)
	}
	m.ended = true
	return m.dropLater()
}

// dropLater sets aside the segments that nothing leads to any more.
func (m *mender) dropLater() error {
	for _, first := range m.later {
		name := segmentPath(m.dir, first)
		f, err := m.fs.OpenFile(name, 0, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", name, err)
		}
		err = cutOff(m.fs, f, name, m.id, first, 0)
		_ = f.Close() // it is about to go
		if err != nil {
			return err
		}
		if err := m.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", name, err)
		}
		m.entries = true
	}
	m.later = nil
	return nil
}

// cut ends the state's segment where the state is.
func (m *mender) cut() error {
	if m.ended {
		return nil
	}
	f, err := m.fs.OpenFile(m.name(), os.O_CREATE, filePerm)
	if err != nil {
		return fmt.Errorf("open %s: %w", m.name(), err)
	}
	defer f.Close()
	return cutOff(m.fs, f, m.name(), m.id, m.state.First, m.state.Size)
}

// finish ends the chain where the journal ends.
func (m *mender) finish() error {
	if !m.has {
		return nil
	}
	if err := m.cut(); err != nil {
		return err
	}
	return m.dropLater()
}

func (m *mender) mark() mark {
	return mark{
		chain: &chain{tenant: m.state.Tenant, id: m.id, dir: m.dir},
		state: m.state, unsynced: m.unsynced, entries: m.entries,
	}
}

package store

import (
	"fmt"
	"strconv"

	"github.com/hookpolicy/hookpolicy/internal/audit"
)

// recover finds where a chain stands and how its next record introduces it. The
// journal holds nothing of the chain by now.
func (l *Log) recover(c *chain) error {
	saved, err := loadState(l.fs, c.id)
	if err != nil {
		return err
	}
	if saved != nil {
		err = checkSaved(l.fs, c.id, saved)
	} else {
		saved, err = l.rebuild(c.id)
	}
	if err != nil {
		return err
	}
	if saved.Tenant != "" && saved.Tenant != c.tenant {
		return fmt.Errorf("%w: %s: genesis of another tenant", ErrCorrupt, c.dir)
	}
	c.pos, c.origin = saved.position(), saved.Origin
	c.at, c.safe = spot{}, spot{}
	if saved.Size > 0 || saved.next() > 0 {
		c.at = saved.spot()
		c.safe = c.at
	}
	if err := c.introduceAs(l.unnamed(c)); err != nil {
		return err
	}
	l.durableMu.Lock()
	c.tree, c.last = saved.Tree, saved.Time
	c.mark.Durable, c.mark.Written = saved.next(), saved.next()
	p := c.prefix()
	l.durableMu.Unlock()
	return l.watcher.opened(p)
}

// introduceAs sets the chain's next record: its genesis, or that it goes on.
func (c *chain) introduceAs(cuts []any) error {
	detail := make(map[string]any)
	if cuts != nil {
		detail["quarantined"] = cuts
	}
	if c.pos.next == 0 {
		c.origin = newOrigin(c.id)
		return c.introduce(audit.KindGenesis, detail)
	}
	detail["last_seq"] = strconv.FormatUint(c.pos.next-1, 10)
	return c.introduce(audit.KindBoot, detail)
}

// checkSaved demands that a chain's files end where its state says.
func checkSaved(fsys FS, id string, saved *state) error {
	segments, err := segmentsOf(fsys, chainDir(id))
	if err != nil {
		return err
	}
	name := segmentPath(chainDir(id), saved.First)
	if len(segments) == 0 || segments[len(segments)-1] != saved.First {
		return fmt.Errorf("%w: %s: is not the last segment, as %s says", ErrCorrupt, name, statePath(id))
	}
	f, err := fsys.OpenFile(name, 0, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer f.Close()
	size, err := f.Size()
	switch {
	case err != nil:
		return fmt.Errorf("size of %s: %w", name, err)
	case size < saved.Size:
		return corrupt(f, name, size, "records are missing at the end")
	case size > saved.Size:
		return corrupt(f, name, saved.Size, "what follows was never in the journal")
	}
	s := saved.spot()
	return s.checkLast(f, name)
}

// checkSavedPrefix demands of a chain's files only that they reach as far as its
// state says.
func checkSavedPrefix(fsys FS, id string, saved *state) error {
	name := segmentPath(chainDir(id), saved.First)
	f, err := fsys.OpenFile(name, 0, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer f.Close()
	s := saved.spot()
	return s.checkLast(f, name)
}

// rebuild reads a chain of which there is no state: one that the layout before
// has left, or none yet. What is torn there is set aside.
func (l *Log) rebuild(id string) (*state, error) {
	segments, err := segmentsOf(l.fs, chainDir(id))
	if err != nil {
		return nil, err
	}
	m := mendFrom(l.fs, id, nil, segments)
	for len(m.later) > 0 {
		if !m.nextSegment() {
			return nil, fmt.Errorf("%w: %s: records %d to %d are missing", ErrCorrupt, m.dir, m.state.next(), m.later[0]-1)
		}
		if err := l.readSegment(m); err != nil {
			return nil, err
		}
	}
	if m.state.next() == 0 {
		return &state{}, nil // nothing was ever acknowledged
	}
	return &m.state, nil
}

// readSegment reads the state's segment to its end. What its fdatasync failed on
// may follow in the last but one: the next segment's name says where it ends.
func (l *Log) readSegment(m *mender) error {
	limit := m.stop()
	f, err := l.fs.OpenFile(m.name(), 0, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", m.name(), err)
	}
	defer f.Close()
	end, err := m.readLines(f, limit)
	if err != nil {
		return err
	}
	rest, err := readFrom(f, m.name(), end)
	if err != nil || len(rest) == 0 {
		return err
	}
	isNew := func(line *audit.Line) bool { return line.Seq < limit }
	why := whyNotTorn(rest, end, isNew)
	if len(m.later) > 1 {
		why = "not the record that follows"
	}
	if why != "" {
		return corrupt(f, m.name(), end, why)
	}
	if err := cutOff(l.fs, f, m.name(), m.id, m.state.First, end); err != nil {
		return err
	}
	found, err := asides(l.fs)
	l.asidesMu.Lock()
	l.asides[m.id] = found[m.id]
	l.asidesMu.Unlock()
	return err
}

// lineBeyond returns the offset of the first line near the end of a file with a
// record from seq on, -1 if there is none.
func lineBeyond(f File, name string, seq uint64) (int64, error) {
	size, err := f.Size()
	if err != nil {
		return -1, fmt.Errorf("size of %s: %w", name, err)
	}
	for window := int64(4 << 10); ; window *= 8 {
		from := max(size-window, 0)
		found, good := int64(-1), false
		_, err := eachLine(f, name, from, func(raw []byte, at int64) (bool, error) {
			line, bad := audit.ParseLine(raw)
			if bad != nil {
				return true, nil //nolint:nilerr // half a line, or a torn one
			}
			good = true
			if line.Seq >= seq {
				found = at
			}
			return found < 0, nil
		})
		if err != nil || found >= 0 || good || from == 0 || window > tailWindow {
			return found, err
		}
	}
}

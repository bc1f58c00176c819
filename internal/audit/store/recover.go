package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

// A recovery brings a log back to what was acknowledged. It works on what the
// journal holds, whatever the size of the chains, and can be cut off and begun
// again anywhere: nothing is changed but what it would change again.
type recovery struct {
	fs      FS
	upgrade bool // the layout had no journal

	segments []sealed
	next     uint64              // number of the next line
	chains   map[string]*ofChain // by tenant
	torn     []byte
	tornAt   int64
}

// An ofChain is what the journal holds of a chain.
type ofChain struct {
	id    string
	first uint64
	prev  audit.Hash // of the record before the first
	last  audit.Line
	saved *state   // nil if there is none
	files []uint64 // its segments
	mend  *mender
	lines []byte // of the chunk
	heads []audit.Line
	sizes []int
}

func (c *ofChain) next() uint64 { return c.last.Seq + 1 }

// run recovers, and leaves the journal empty.
func (r *recovery) run(j *journal) error {
	if err := r.read(); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	if len(r.torn) > 0 {
		last := r.segments[len(r.segments)-1]
		if err := setAside(r.fs, layout.Journal, last.first, r.tornAt, r.torn); err != nil {
			return err
		}
	}
	if err := r.mend(); err != nil {
		return err
	}
	j.fs, j.next = r.fs, r.next
	if err := j.begin(nil, 0); err != nil {
		return err
	}
	old := slices.DeleteFunc(r.segments, func(s sealed) bool { return s.first == j.first })
	return removeSegments(r.fs, old)
}

// read reads all of the journal and finds what is torn.
func (r *recovery) read() error {
	r.chains = make(map[string]*ofChain)
	firsts, err := segmentsOf(r.fs, layout.Journal)
	if err != nil {
		return err
	}
	if len(firsts) == 0 && !r.upgrade {
		return fmt.Errorf("%w: %s: its segments are missing", ErrCorrupt, layout.Journal)
	}
	for i, first := range firsts {
		limit := uint64(math.MaxUint64)
		if i+1 < len(firsts) {
			limit = firsts[i+1]
		}
		if err := r.segment(first, limit); err != nil {
			return err
		}
	}
	return nil
}

// segment reads one segment; limit is where the next one begins. What follows
// its last line then was written to a file that was given up.
func (r *recovery) segment(first, limit uint64) error {
	name := segmentPath(layout.Journal, first)
	f, err := r.fs.OpenFile(name, 0, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer f.Close()
	r.next = first
	end, err := eachLine(f, name, 0, func(raw []byte, at int64) (bool, error) {
		line, bad := audit.ParseLine(raw)
		if bad != nil || r.next == limit {
			return false, nil //nolint:nilerr // what it is instead, the end of this function says
		}
		r.next++
		if !r.note(&line) {
			return false, corrupt(f, name, at, "record does not follow the one before it")
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	r.segments = append(r.segments, sealed{first, end})
	if limit != math.MaxUint64 {
		if r.next != limit {
			return corrupt(f, name, end, fmt.Sprintf("the next segment begins with line %d, this one ends before %d", limit, r.next))
		}
		return nil
	}
	r.tornAt = end
	if r.torn, err = readFrom(f, name, end); err != nil {
		return err
	}
	if why := whyNotTorn(r.torn, end, r.isNew); why != "" {
		return corrupt(f, name, end, why)
	}
	return nil
}

// note reports whether a line follows its chain's line before.
func (r *recovery) note(line *audit.Line) bool {
	c := r.chains[line.Tenant]
	if c == nil {
		r.chains[line.Tenant] = &ofChain{id: TenantID(line.Tenant), first: line.Seq, prev: line.Prev, last: *line}
		return line.Tenant != ""
	}
	if line.Seq != c.next() || line.Prev != c.last.Hash || line.Time.Before(c.last.Time) {
		return false
	}
	c.last = *line
	return true
}

func (r *recovery) isNew(line *audit.Line) bool {
	c := r.chains[line.Tenant]
	return c == nil || line.Seq >= c.next()
}

// check looks for records in the tenants' files that the journal should hold:
// they were acknowledged, so the journal's end is not torn but lost.
func (r *recovery) check() error {
	known := make(map[string]bool, len(r.chains))
	for _, c := range r.chains {
		known[c.id] = true
		if err := r.checkEnd(c); err != nil {
			return err
		}
	}
	if len(r.torn) == 0 {
		return nil
	}
	ids, err := r.fs.ReadDir(layout.Tenants)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read directory %s: %w", layout.Tenants, err)
	}
	for _, id := range ids {
		if known[id] {
			continue
		}
		saved, err := loadState(r.fs, id)
		if err != nil {
			return err
		}
		if saved == nil {
			continue // of the layout before, and not used since
		}
		if err := checkSaved(r.fs, id, saved); err != nil {
			return err
		}
	}
	return nil
}

// checkEnd demands that a chain's files hold nothing after the journal's last
// record of it.
func (r *recovery) checkEnd(c *ofChain) error {
	var err error
	if c.saved, err = loadState(r.fs, c.id); err != nil {
		return err
	}
	if c.saved != nil && c.saved.next() > c.next() {
		return fmt.Errorf("%w: %s: ends before record %d, which %s tells of", ErrCorrupt, layout.Journal, c.saved.next()-1, statePath(c.id))
	}
	if c.files, err = segmentsOf(r.fs, chainDir(c.id)); err != nil || len(c.files) == 0 {
		return err
	}
	name := segmentPath(chainDir(c.id), c.files[len(c.files)-1])
	f, err := r.fs.OpenFile(name, 0, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer f.Close()
	at, err := lineBeyond(f, name, c.next())
	if err == nil && at >= 0 {
		err = corrupt(f, name, at, "record that the journal has lost")
	}
	return err
}

// chunkBytes is how much of the journal is put in place at a time.
const chunkBytes = 8 << 20

// mend brings the chains' files up to the journal and makes them durable.
func (r *recovery) mend() error {
	gathered := 0
	err := readJournal(r.fs, r.next, func(raw []byte, line *audit.Line) error {
		c := r.chains[line.Tenant]
		c.lines, c.heads, c.sizes = append(c.lines, raw...), append(c.heads, *line), append(c.sizes, len(raw))
		if gathered += len(raw); gathered < chunkBytes {
			return nil
		}
		gathered = 0
		return r.apply()
	})
	if err == nil {
		err = r.apply()
	}
	if err != nil {
		return err
	}
	var job drained
	for _, c := range r.chains {
		if err := c.mend.finish(); err != nil {
			return err
		}
		job.marks = append(job.marks, c.mend.mark())
	}
	job.run(r.fs)
	return job.err
}

func (r *recovery) apply() error {
	for _, c := range r.chains {
		if len(c.heads) == 0 {
			continue
		}
		if c.mend == nil {
			var err error
			if c.mend, err = newMender(r.fs, c); err != nil {
				return err
			}
		}
		if err := c.mend.apply(c.lines, c.heads, c.sizes); err != nil {
			return err
		}
		c.lines, c.heads, c.sizes = c.lines[:0], c.heads[:0], c.sizes[:0]
	}
	return nil
}

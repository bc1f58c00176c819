package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

// drainRetry is how long after a failure segments of the journal stay before
// the next try.
const drainRetry = time.Second

// manyFiles is from how many chains on the whole file system is synced at once.
const manyFiles = 32

// A drain empties segments of the journal into the tenants' files, beside the
// spiller.
type drain struct {
	pending []sealed // to be removed
	running bool
	done    chan drained
	ran     chan struct{}    // holds one if it has ended since the writer looked
	pause   <-chan time.Time // not nil after a failure, until the next try
	upTo    uint64           // number of the journal's line after what was spilled
}

// A drained is what a run of it came to.
type drained struct {
	segments []sealed
	marks    []mark
	err      error // marks that failed have it too
}

// A mark is a chain's files as they are to become durable.
type mark struct {
	chain    *chain
	state    state
	unsynced []uint64
	entries  bool
	err      error
}

// startDrain begins to empty the segments that have ended.
func (l *Log) startDrain() {
	d := &l.tenant.drain
	if err := l.catchUp(); err != nil {
		d.pause = time.After(drainRetry)
		l.health.fellBehind(err)
		d.tellWriter()
		return
	}
	job := drained{segments: d.pending, marks: l.marks()}
	d.pending, d.running = nil, true
	go func() {
		job.run(l.fs)
		d.done <- job
	}()
}

// drained takes in what came of a drain. What failed to become durable is
// written anew: a sync that is tried again may say yes and mean nothing.
func (l *Log) drained(r drained) {
	d := &l.tenant.drain
	d.running = false
	defer d.tellWriter()
	for i := range r.marks {
		m := &r.marks[i]
		c := m.chain
		if m.err == nil {
			c.safe = m.state.spot()
			continue
		}
		c.behind, c.poisoned = true, true
		c.unsynced, c.entries = nil, c.entries || m.entries
		if c.file != nil {
			l.closeFile(c)
		}
		l.tenant.dirty[c] = struct{}{}
	}
	if r.err != nil {
		d.pending = append(r.segments, d.pending...)
		d.pause = time.After(drainRetry)
		l.health.fellBehind(r.err)
		return
	}
	for _, s := range r.segments {
		l.journal.undrained.Add(-s.size)
	}
	l.health.caughtUp()
}

// lastDrain empties the journal at the end. What fails leaves more for the next
// start to do, and loses nothing.
func (l *Log) lastDrain() {
	d := &l.tenant.drain
	if d.running {
		l.drained(<-d.done)
	}
	j := &l.journal
	old := sealed{j.first, j.size}
	if err := j.begin(nil, 0); err != nil {
		l.health.fellBehind(err)
		return
	}
	j.close()
	if old.first != j.first {
		d.pending = append(d.pending, old)
	}
	if err := l.catchUp(); err != nil {
		l.health.fellBehind(err)
		return
	}
	job := drained{segments: d.pending, marks: l.marks()}
	job.run(l.fs)
	if job.err != nil {
		l.health.fellBehind(job.err)
	}
}

func (d *drain) tellWriter() {
	select {
	case d.ran <- struct{}{}:
	default:
	}
}

// marks are of the chains with something to sync, all of them caught up.
func (l *Log) marks() []mark {
	marks := make([]mark, 0, len(l.tenant.dirty))
	l.durableMu.Lock()
	defer l.durableMu.Unlock()
	for c := range l.tenant.dirty {
		delete(l.tenant.dirty, c)
		if c.refused.Load() != nil || !c.at.exists {
			continue
		}
		marks = append(marks, mark{chain: c, unsynced: c.unsynced, entries: c.entries, state: state{
			Tenant: c.tenant, Origin: c.origin, First: c.at.first, Size: c.at.size, LastLen: c.at.lastLen,
			Head: hexHash(c.at.head), Time: c.last, Tree: c.tree,
		}})
		c.unsynced, c.entries = nil, false
	}
	return marks
}

// run makes the chains' files durable, then their states, and then removes the
// segments.
func (d *drained) run(fsys FS) {
	if len(d.marks) < manyFiles || !d.runAll(fsys) {
		for i := range d.marks {
			m := &d.marks[i]
			m.err = m.sync(fsys)
			d.err = errors.Join(d.err, m.err)
		}
	}
	if d.err == nil {
		d.err = removeSegments(fsys, d.segments)
	}
}

// runAll does it for many chains at once. It returns false if the file system
// cannot.
func (d *drained) runAll(fsys FS) (done bool) {
	err := fsys.SyncAll()
	if errors.Is(err, errors.ErrUnsupported) {
		return false
	}
	if err != nil {
		err = fmt.Errorf("sync the tenants' files: %w", err)
		for i := range d.marks {
			d.marks[i].err = err
		}
		d.err = err
		return true
	}
	// The files are durable. That their states are too, the journal need not
	// wait for but in the order: before it goes.
	for i := range d.marks {
		d.err = errors.Join(d.err, d.marks[i].saveState(fsys))
	}
	if err := fsys.SyncAll(); err != nil {
		d.err = errors.Join(d.err, fmt.Errorf("sync the tenants' states: %w", err))
	}
	return true
}

func (m *mark) sync(fsys FS) error {
	dir := m.chain.dir
	for _, first := range m.unsynced {
		if err := syncFile(fsys, segmentPath(dir, first)); err != nil {
			return err
		}
	}
	if m.entries {
		for _, d := range []string{dir, path.Dir(dir), layout.Tenants} {
			if err := fsys.SyncDir(d); err != nil {
				return fmt.Errorf("sync directory %s: %w", d, err)
			}
		}
	}
	text, err := m.state.text()
	if err == nil {
		err = writeDurably(fsys, statePath(m.chain.id), text)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", statePath(m.chain.id), err)
	}
	return nil
}

func syncFile(fsys FS, name string) error {
	f, err := fsys.OpenFile(name, 0, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	err = f.Datasync()
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("sync %s: %w", name, err)
	}
	return nil
}

// saveState writes a state that SyncAll makes durable. A crash may leave it
// empty: its check sum tells.
func (m *mark) saveState(fsys FS) error {
	text, err := m.state.text()
	if err == nil {
		err = replaceFile(fsys, statePath(m.chain.id), text)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", statePath(m.chain.id), err)
	}
	return nil
}

// catchUp gives the chains that are behind their lines out of the journal.
func (l *Log) catchUp() error {
	behind := make(map[string]*catching)
	for c := range l.tenant.dirty {
		if c.behind {
			k := &catching{log: l, chain: c}
			if err := k.prepare(); err != nil {
				return err
			}
			behind[c.tenant] = k
		}
	}
	if len(behind) == 0 {
		return nil
	}
	err := readJournal(l.fs, l.tenant.drain.upTo, func(raw []byte, line *audit.Line) error {
		if k := behind[line.Tenant]; k != nil {
			return k.take(raw, line)
		}
		return nil
	})
	for _, k := range behind {
		err = errors.Join(err, k.finish(err))
	}
	return err
}

// A catching is one chain that catches up.
type catching struct {
	log   *Log
	chain *chain
	lines []byte
	end   spot
	aside bool // the chain is refused: its lines are kept elsewhere
}

func (k *catching) prepare() error {
	c := k.chain
	if c.poisoned {
		if err := k.beginAnew(); err != nil {
			return err
		}
	}
	k.end = c.at
	k.aside = c.refused.Load() != nil
	return nil
}

// beginAnew goes back to what is safe and leaves the rest, whose sync failed,
// to be replaced: the chain goes on from there in a new file.
func (k *catching) beginAnew() error {
	c, fsys := k.chain, k.log.fs
	firsts, err := segmentsOf(fsys, c.dir)
	if err != nil {
		return err
	}
	for _, first := range firsts {
		if name := segmentPath(c.dir, first); first >= c.safe.next {
			if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove %s: %w", name, err)
			}
		}
	}
	if c.safe.exists {
		f, err := fsys.OpenFile(segmentPath(c.dir, c.safe.first), 0, 0)
		if err == nil {
			err = f.Truncate(c.safe.size)
			_ = f.Close() // nothing was written
		}
		if err != nil {
			return fmt.Errorf("cut %s: %w", segmentPath(c.dir, c.safe.first), err)
		}
	}
	c.at = c.safe
	c.at.exists = false
	c.poisoned = false
	return nil
}

// maxCatch is how much of a chain is gathered before it is written.
const maxCatch = 256 << 10

func (k *catching) take(raw []byte, line *audit.Line) error {
	switch {
	case line.Seq < k.end.next:
		return nil
	case line.Seq > k.end.next || line.Prev != k.end.head:
		return fmt.Errorf("%w: %s: the journal does not follow it", ErrCorrupt, k.chain.dir)
	}
	k.lines = append(k.lines, raw...)
	k.end.lastLen, k.end.next, k.end.head = len(raw), line.Seq+1, line.Hash
	if len(k.lines) >= maxCatch {
		return k.flush()
	}
	return nil
}

func (k *catching) flush() error {
	if len(k.lines) == 0 || k.aside {
		return nil
	}
	err := k.log.writeBehind(k.chain, k.lines, k.end)
	k.lines = k.lines[:0]
	return err
}

func (k *catching) finish(err error) error {
	c := k.chain
	if k.aside {
		if err == nil && len(k.lines) > 0 {
			err = setAside(k.log.fs, c.id, c.at.next, c.at.size, k.lines)
		}
		return err
	}
	if err == nil {
		err = k.flush()
	}
	if err != nil {
		k.log.fellBehind(c, err)
		return err
	}
	c.behind = false
	return nil
}

package store

import (
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/hookpolicy/hookpolicy/internal/audit"
)

// tenantFiles is what the spiller knows of the tenants' files.
type tenantFiles struct {
	maxOpen int
	open    map[*chain]struct{} // chains with an open file
	turn    uint64
	dirty   map[*chain]struct{} // chains with something that is not synced
	drain   drain
}

// spill is the spiller: it writes what is durable in the journal into the
// tenants' files. It alone touches the files of open chains.
func (l *Log) spill() {
	defer close(l.finished)
	d := &l.tenant.drain
	for batches := l.toSpill; batches != nil; {
		select {
		case b, ok := <-batches:
			if !ok {
				batches = nil
				continue
			}
			for _, p := range b.parts {
				l.spillPart(p)
				l.grow(p)
				l.recycle(p)
			}
			l.durableMu.Lock()
			l.spilled++
			l.spilledMore.Broadcast()
			l.durableMu.Unlock()
			d.upTo, d.pending = b.upTo, append(d.pending, b.ended...)
		case r := <-d.done:
			l.drained(r)
		case <-d.pause:
			d.pause = nil
		}
		if len(d.pending) > 0 && !d.running && d.pause == nil {
			l.startDrain()
		}
	}
	l.closeErr = errors.Join(l.closeErr, l.watcher.closing())
	l.lastDrain()
	for c := range l.tenant.open {
		l.closeFile(c)
	}
	l.closeErr = errors.Join(l.closeErr, l.lock.Close())
}

// spillPart writes a part behind. What cannot be written now is had from the
// journal later, before that forgets it.
func (l *Log) spillPart(p *part) {
	c := p.chain
	l.tenant.dirty[c] = struct{}{}
	if p.intro {
		l.named(c.names)
	}
	if c.behind || c.refused.Load() != nil {
		c.behind = true
		return
	}
	end := spot{next: p.after.next, head: p.after.head, lastLen: p.lastLen}
	if err := l.writeBehind(c, p.buf, end); err != nil {
		l.fellBehind(c, err)
	}
}

func (l *Log) fellBehind(c *chain, err error) {
	c.behind = true
	if c.file != nil {
		l.closeFile(c)
	}
	if isCorrupt(err) {
		c.refuse(err)
		l.health.refused(c.tenant, err)
		return
	}
	l.health.fellBehind(err)
}

// writeBehind writes lines at the end of a chain's files; end is where that
// leads to.
func (l *Log) writeBehind(c *chain, lines []byte, end spot) error {
	if err := l.openFile(c); err != nil {
		return err
	}
	name := segmentPath(c.dir, c.at.first)
	if len(c.unsynced) == 0 || c.unsynced[len(c.unsynced)-1] != c.at.first {
		c.unsynced = append(c.unsynced, c.at.first)
	}
	if err := writeAll(c.file, lines, c.at.size); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	c.at.size += int64(len(lines))
	c.at.lastLen, c.at.next, c.at.head = end.lastLen, end.next, end.head
	return nil
}

func (l *Log) closeFile(c *chain) {
	_ = c.file.Close() // the journal has what it could tell of
	c.file = nil
	delete(l.tenant.open, c)
}

// openFile sees to it that a chain has a file that ends where it is written.
func (l *Log) openFile(c *chain) error {
	l.tenant.turn++
	c.used = l.tenant.turn
	if c.at.exists && c.at.size >= l.journal.limit && !c.poisoned {
		if c.file != nil {
			l.closeFile(c)
		}
		c.at.exists = false // it goes on in the next segment
	}
	if c.file != nil {
		return nil
	}
	open := l.reopen
	if !c.at.exists {
		open = l.create
	}
	if err := open(c); err != nil {
		return err
	}
	l.tenant.open[c] = struct{}{}
	if len(l.tenant.open) > l.tenant.maxOpen {
		l.closeFile(l.leastUsed())
	}
	return nil
}

// leastUsed returns about the chain whose file was used the longest ago: the
// oldest of a few, taken at random.
func (l *Log) leastUsed() *chain {
	var least *chain
	tries := 16
	for c := range l.tenant.open { // in no order
		if least == nil || c.used < least.used {
			least = c
		}
		if tries--; tries == 0 {
			break
		}
	}
	return least
}

// create begins the chain's next segment. Names are made durable by the drain.
func (l *Log) create(c *chain) error {
	if c.at.next == 0 {
		for _, dir := range []string{path.Dir(c.dir), c.dir} {
			if err := makeDir(l.fs, dir); err != nil {
				return err
			}
		}
	}
	name := segmentPath(c.dir, c.at.next)
	f, err := l.fs.OpenFile(name, os.O_CREATE|os.O_TRUNC, filePerm)
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	c.file, c.entries = f, true
	c.at.exists, c.at.first, c.at.size, c.at.lastLen = true, c.at.next, 0, 0
	return nil
}

// reopen opens the chain's segment again and trusts nothing: it must hold at
// least what was written, end in the record that the chain ends in, and lose
// what else it holds.
func (l *Log) reopen(c *chain) error {
	name := segmentPath(c.dir, c.at.first)
	f, err := l.fs.OpenFile(name, 0, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	if err := c.at.check(f, name); err != nil {
		_ = f.Close() // the error to report is the other one
		return err
	}
	c.file = f
	return nil
}

func (s *spot) check(f File, name string) error {
	size, err := f.Size()
	if err != nil {
		return fmt.Errorf("size of %s: %w", name, err)
	}
	if size < s.size {
		return fmt.Errorf("%w: %s: shorter than what was written", ErrCorrupt, name)
	}
	if size > s.size {
		if err := f.Truncate(s.size); err != nil {
			return fmt.Errorf("cut %s: %w", name, err)
		}
	}
	return s.checkLast(f, name)
}

// checkLast demands that the last line is the one that was written.
func (s *spot) checkLast(f File, name string) error {
	if s.lastLen == 0 {
		return nil
	}
	last := make([]byte, s.lastLen)
	if _, err := f.ReadAt(last, s.size-int64(len(last))); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	line, err := audit.ParseLine(last)
	if err != nil || line.Seq+1 != s.next || line.Hash != s.head {
		return corrupt(f, name, s.size-int64(len(last)), "not the record that was written")
	}
	return nil
}

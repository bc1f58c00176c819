package store

import (
	"errors"
	"fmt"
	"path"

	"github.com/hookpolicy/hookpolicy/internal/audit"
)

// write is the writer: it alone touches the files of open chains.
func (l *Log) write() {
	defer close(l.finished)
	for b := range l.toWrite {
		l.observer.Batch(b.records)
		for _, p := range b.parts {
			p.err = l.writePart(p)
			for _, r := range p.requests {
				r.finish(p.err)
			}
		}
		l.written <- b
	}
	for c := range l.files {
		l.closeErr = errors.Join(l.closeErr, c.file.Close())
	}
	l.closeErr = errors.Join(l.closeErr, l.lock.Close())
}

// writePart makes one chain's part of a batch durable.
func (l *Log) writePart(p *part) error {
	err := l.tryPart(p)
	switch {
	case err == nil:
		l.health.worked()
		return nil
	case isCorrupt(err):
		p.chain.refuse(err)
		return err
	default:
		l.health.failed(err)
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
}

func (l *Log) tryPart(p *part) error {
	c := p.chain
	if err := l.openFile(c); err != nil {
		return err
	}
	if err := writeAll(c.file, p.buf, c.seg.size); err != nil {
		l.abandon(c)
		return fmt.Errorf("write %s: %w", c.seg.name, err)
	}
	if err := c.file.Datasync(); err != nil {
		c.poisoned = true
		l.observer.FileGivenUp()
		l.abandon(c)
		return fmt.Errorf("sync %s: %w", c.seg.name, err)
	}
	c.seg.size += int64(len(p.buf))
	c.seg.lastLen = p.lastLen
	c.seg.next, c.seg.head = p.after.next, p.after.head
	return nil
}

// abandon closes a file after an error, as clean as it can be left.
func (l *Log) abandon(c *chain) {
	// What fails here shows when the file is opened again.
	_ = c.file.Truncate(c.seg.size)
	l.closeFile(c)
}

func (l *Log) closeFile(c *chain) {
	_ = c.file.Close() // all that counts was synced
	c.file = nil
	delete(l.files, c)
}

// openFile sees to it that a chain has a file that ends where it is durable.
func (l *Log) openFile(c *chain) error {
	l.turn++
	c.used = l.turn
	if c.file != nil {
		return nil
	}
	if err := c.refused.Load(); err != nil {
		return *err
	}
	open := l.reopen
	if c.seg.name == "" || c.poisoned {
		open = l.create
	}
	if err := open(c); err != nil {
		return err
	}
	l.files[c] = struct{}{}
	if len(l.files) > l.maxFiles {
		l.closeFile(l.leastUsed())
	}
	return nil
}

func (l *Log) leastUsed() *chain {
	var least *chain
	for c := range l.files {
		if least == nil || c.used < least.used {
			least = c
		}
	}
	return least
}

// create begins the chain's next segment. Its name is durable before anything
// in it is.
func (l *Log) create(c *chain) error {
	name := path.Join(c.dir, segmentName(c.seg.next))
	if c.poisoned && c.seg.name != name {
		if err := l.trim(c); err != nil {
			return err
		}
	}
	f, err := l.fs.OpenFile(name, createFlags, filePerm)
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	if err := l.fs.SyncDir(c.dir); err != nil {
		_ = f.Close() // the error to report is the other one
		return fmt.Errorf("sync directory %s: %w", c.dir, err)
	}
	c.file, c.poisoned = f, false
	c.seg.name, c.seg.size, c.seg.lastLen = name, 0, 0
	return nil
}

// trim makes a poisoned segment end, durably, where it is durable: what follows
// stands in the next segment. Nothing acknowledged depends on this sync, which
// may lie too; recovery looks at the segment before the last one again.
func (l *Log) trim(c *chain) error {
	f, err := l.fs.OpenFile(c.seg.name, 0, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", c.seg.name, err)
	}
	if err = f.Truncate(c.seg.size); err == nil {
		err = f.Datasync()
	}
	_ = f.Close() // nothing was written
	if err != nil {
		return fmt.Errorf("cut %s: %w", c.seg.name, err)
	}
	return nil
}

// reopen opens the chain's segment again and trusts nothing: it must hold at
// least what is durable, end in the record that the chain ends in, and lose
// what else it holds.
func (l *Log) reopen(c *chain) error {
	f, err := l.fs.OpenFile(c.seg.name, 0, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", c.seg.name, err)
	}
	if err := c.check(f); err != nil {
		_ = f.Close() // the error to report is the other one
		return err
	}
	c.file = f
	return nil
}

func (c *chain) check(f File) error {
	size, err := f.Size()
	if err != nil {
		return fmt.Errorf("size of %s: %w", c.seg.name, err)
	}
	if size < c.seg.size {
		return fmt.Errorf("%w: %s: shorter than what was written", ErrCorrupt, c.seg.name)
	}
	if size > c.seg.size {
		if err := f.Truncate(c.seg.size); err != nil {
			return fmt.Errorf("cut %s: %w", c.seg.name, err)
		}
	}
	if c.seg.lastLen == 0 {
		return nil
	}
	last := make([]byte, c.seg.lastLen)
	if _, err := f.ReadAt(last, c.seg.size-int64(len(last))); err != nil {
		return fmt.Errorf("read %s: %w", c.seg.name, err)
	}
	line, err := audit.ParseLine(last)
	if err != nil || line.Seq+1 != c.seg.next || line.Hash != c.seg.head {
		return corrupt(f, c.seg.name, c.seg.size-int64(len(last)), "not the record that was written")
	}
	return nil
}

func isCorrupt(err error) bool { return errors.Is(err, ErrCorrupt) }

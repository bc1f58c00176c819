package store

import (
	"errors"
	"fmt"
)

// write is the writer: it makes batches durable in the journal, one after the
// other, and hands them on to the spiller.
func (l *Log) write() {
	defer close(l.toSpill)
	for b := range l.toWrite {
		l.observer.Batch(b.records)
		if b.err = l.commit(b); b.err == nil {
			l.durableMu.Lock()
			l.acked++
			l.durableMu.Unlock()
		}
		for _, p := range b.parts {
			for _, r := range p.requests {
				r.finish(b.err)
			}
		}
		l.written <- b
		if b.err == nil {
			l.toSpill <- b
		}
	}
	l.journal.close()
}

// commit makes a batch durable.
func (l *Log) commit(b *batch) (err error) {
	data, lines := l.oneBuffer(b), b.lines()
	b.ended, err = l.journal.append(data, lines, b.last)
	for errors.Is(err, errJournalFull) && !l.health.behind.Load() {
		<-l.tenant.drain.ran // it is at it: better late than denied
		b.ended, err = l.journal.append(data, lines, b.last)
	}
	if fault := l.journal.fault; fault != nil {
		l.journal.fault = nil
		l.observer.FileGivenUp()
		l.health.gaveUp(fault, err == nil)
	}
	if err != nil {
		l.health.failed(err)
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	l.health.worked()
	b.upTo = l.journal.next
	return nil
}

// oneBuffer returns the lines of a batch: those of one tenant together, since
// within a commit no order among tenants means anything.
func (l *Log) oneBuffer(b *batch) []byte {
	if len(b.parts) == 1 {
		return b.parts[0].buf
	}
	l.lines = l.lines[:0]
	for _, p := range b.parts {
		l.lines = append(l.lines, p.buf...)
	}
	return l.lines
}

func isCorrupt(err error) bool { return errors.Is(err, ErrCorrupt) }

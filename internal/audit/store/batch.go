package store

import (
	"errors"
	"runtime"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
)

// A batch is full at either bound.
const (
	maxBatchRecords = 1024
	maxBatchBytes   = 1 << 20
)

// A request is one record on its way to the disk.
type request struct {
	chain *chain
	draft audit.Draft
	// Set before done.
	seq  uint64
	hash audit.Hash
	err  error
	done chan struct{} // nil if nobody waits
	// patience ends the wait of whoever waits; it comes with the request, since
	// a timer for each would cost more than the wait.
	patience *time.Timer
}

func newRequest() any {
	r := &request{done: make(chan struct{}, 1), patience: time.NewTimer(time.Hour)}
	r.patience.Stop()
	return r
}

func (r *request) finish(err error) {
	r.err = err
	if r.done != nil {
		r.done <- struct{}{}
	}
}

// A part is what a batch has for one chain.
type part struct {
	chain    *chain
	before   position
	after    position
	buf      []byte
	lastLen  int
	hashes   []checkpoint.Hash // of its lines
	requests []*request
	intro    bool // it introduces the chain
}

type batch struct {
	parts   []*part
	records int
	bytes   int

	intros []*chain // that it introduces
	last   bool     // the log is being closed

	err   error
	ended []sealed // segments of the journal that end before it
	upTo  uint64   // number of the journal's line after it
}

func (b *batch) lines() (n uint64) {
	for _, p := range b.parts {
		n += uint64(len(p.hashes))
	}
	return n
}

func (b *batch) empty() bool { return b.records == 0 }
func (b *batch) full() bool  { return b.records >= maxBatchRecords || b.bytes >= maxBatchBytes }

// run is the committer: it places what comes into the next batch while the
// writer has the one before, and ends when the queue is closed and empty.
func (l *Log) run() {
	queue := l.queue
	next, writing := new(batch), false
	for queue != nil || writing {
		in := queue
		if next.full() {
			in = nil
		}
		select {
		case r, ok := <-in:
			if ok {
				l.add(next, r)
			} else {
				queue = nil
			}
		case b := <-l.written:
			writing = false
			l.settle(b)
		}
		if !writing {
			// Those who were just answered are about to come back: with them
			// in this batch, not the next, half as many syncs do.
			runtime.Gosched()
			l.fill(next)
			if !next.empty() {
				l.hand(next)
				next, writing = new(batch), true
			}
		}
	}
	l.endChains()
	close(l.toWrite)
}

// fill adds what is waiting.
func (l *Log) fill(b *batch) {
	for !b.full() {
		select {
		case r, ok := <-l.queue:
			if !ok {
				return
			}
			l.add(b, r)
		default:
			return
		}
	}
}

func (l *Log) add(b *batch, r *request) {
	c := r.chain
	if c.part == nil {
		c.part = l.newPart(c)
		b.parts = append(b.parts, c.part)
	}
	p := c.part
	size := len(p.buf)
	l.place(c, p, r)
	p.requests = append(p.requests, r)
	b.records++
	b.bytes += len(p.buf) - size
}

// hand gives a batch to the writer.
func (l *Log) hand(b *batch) {
	for _, p := range b.parts {
		p.after = p.chain.pos
		p.chain.part = nil
		if p.intro {
			b.intros = append(b.intros, p.chain)
		}
	}
	l.toWrite <- b
}

// settle takes back the places of what was not written, and gives them to what
// was placed after it. The parts of what was written are the spiller's by now.
func (l *Log) settle(b *batch) {
	if b.err == nil {
		for _, c := range b.intros {
			c.intro = nil
		}
		return
	}
	for _, p := range b.parts {
		c := p.chain
		c.pos = p.before
		if p.intro {
			c.introduced = false
		}
		if c.part != nil {
			l.placeAgain(c.part)
		}
		l.recycle(p)
	}
}

func (l *Log) placeAgain(p *part) {
	p.before, p.buf, p.hashes, p.intro = p.chain.pos, p.buf[:0], p.hashes[:0], false
	for _, r := range p.requests {
		l.place(p.chain, p, r)
	}
}

func (l *Log) newPart(c *chain) *part {
	p, ok := l.parts.Get().(*part)
	if !ok {
		p = new(part)
	}
	p.chain, p.before = c, c.pos
	return p
}

func (l *Log) recycle(p *part) {
	clear(p.requests)
	*p = part{buf: p.buf[:0], hashes: p.hashes[:0], requests: p.requests[:0]}
	l.parts.Put(p)
}

// endChains writes an orderly end into every chain in use.
func (l *Log) endChains() {
	l.chainsMu.RLock()
	defer l.chainsMu.RUnlock()
	b := new(batch)
	for _, c := range l.chains {
		if !c.introduced || c.refused.Load() != nil {
			continue // nothing of this process is in it
		}
		r := &request{chain: c}
		if err := r.draft.Reset(&audit.Record{Kind: audit.KindShutdown}); err != nil {
			continue // impossible: it has a kind
		}
		l.add(b, r)
		if b.full() {
			l.writeLast(b)
			b = new(batch)
		}
	}
	if !b.empty() {
		l.writeLast(b)
	}
}

// writeLast waits for a batch of the end. The reserve is for it.
func (l *Log) writeLast(b *batch) {
	b.last = true
	l.hand(b)
	b = <-l.written
	if b.err != nil && l.freeReserve() {
		again := &batch{parts: b.parts, records: b.records, bytes: b.bytes, last: true}
		l.toWrite <- again
		b = <-l.written
	}
	l.closeErr = errors.Join(l.closeErr, b.err)
}

package audit

import (
	"bytes"
	"errors"
	"io"
	"runtime"
)

// How much is read at once: the longest line fits in more than once. The first
// block is smaller, for short files.
const (
	firstBlockSize = 2 * MaxLine
	blockSize      = 8 * MaxLine
)

// A block is some lines of a chain. Each line names its predecessor, so lines
// are checked by themselves, in any order, before anything is compared.
type block struct {
	data  []byte // whole lines, but for the last block of a file
	buf   []byte
	lines []parsed
	done  chan struct{}
}

func (b *block) check(chainOnly bool, c *lineChecker) {
	b.lines = b.lines[:0]
	for rest := b.data; len(rest) > 0; {
		n := bytes.IndexByte(rest, '\n') + 1
		b.lines = append(b.lines, parsed{})
		p := &b.lines[len(b.lines)-1]
		switch {
		case n > 0:
			p.size = n
			at := len(b.data) - len(rest)
			p.bad = c.checkIn(b.buf, at+1, at+1+n, chainOnly, p)
		case len(rest) > MaxLine:
			n, p.bad = len(rest), &LineError{ReasonTooLong, "line is longer than any record; what follows it in this file was not read"}
		default:
			n, p.bad = len(rest), &LineError{ReasonTorn, "last line ends early"}
			p.torn = rest
		}
		rest = rest[n:]
	}
}

// A blockReader reads blocks, has them checked by as many goroutines as there
// are processors, and returns them in order.
type blockReader struct {
	r         io.Reader
	chainOnly bool

	rest    []byte // of a line that the last block did not end
	err     error  // of reading; io.EOF at the end
	jobs    chan *block
	pending []*block // in order
	spare   []*block
	begun   bool
}

// next returns the next block, checked; io.EOF after the last one.
func (b *blockReader) next() (*block, error) {
	for b.err == nil && len(b.pending) < 2*runtime.GOMAXPROCS(0) {
		b.read()
	}
	if len(b.pending) == 0 {
		return nil, b.err
	}
	first := b.pending[0]
	b.pending = b.pending[1:]
	<-first.done
	return first, nil
}

func (b *blockReader) read() {
	k := b.block()
	buf := k.buf[1:] // before each line there is a byte: see checkIn
	n := copy(buf, b.rest)
	m, err := io.ReadFull(b.r, buf[n:])
	k.data = buf[:n+m]
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	b.rest = b.rest[:0]
	switch b.err = err; {
	case err == nil:
		if end := bytes.LastIndexByte(k.data, '\n') + 1; end > 0 {
			b.rest = append(b.rest, k.data[end:]...)
			k.data = k.data[:end]
		} else {
			b.err = io.EOF // the line is too long: that is where it ends
		}
	case err != io.EOF:
		// What came before the error may hold a finding; half a line is none.
		k.data = k.data[:bytes.LastIndexByte(k.data, '\n')+1]
	}
	b.pending = append(b.pending, k)
	b.hand(k)
}

// hand has a block checked: at once if it is the only one of its file.
func (b *blockReader) hand(k *block) {
	if b.jobs == nil && b.err != nil {
		var c lineChecker
		k.check(b.chainOnly, &c)
		k.done <- struct{}{}
		return
	}
	if b.jobs == nil {
		b.jobs = make(chan *block, 2*runtime.GOMAXPROCS(0))
		for range runtime.GOMAXPROCS(0) {
			go work(b.jobs, b.chainOnly)
		}
	}
	b.jobs <- k
}

func work(jobs <-chan *block, chainOnly bool) {
	var c lineChecker
	for k := range jobs {
		k.check(chainOnly, &c)
		k.done <- struct{}{}
	}
}

func (b *blockReader) block() *block {
	if n := len(b.spare); n > 0 {
		k := b.spare[n-1]
		b.spare = b.spare[:n-1]
		return k
	}
	size := blockSize
	if !b.begun {
		size, b.begun = firstBlockSize, true
	}
	return &block{buf: make([]byte, 1+size), done: make(chan struct{}, 1)}
}

func (b *blockReader) recycle(k *block) { b.spare = append(b.spare, k) }

// stop lets the goroutines end once they have done what they were handed.
func (b *blockReader) stop() {
	if b.jobs != nil {
		close(b.jobs)
	}
}

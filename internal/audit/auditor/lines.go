package auditor

import (
	"bufio"
	"errors"
	"io"
)

// A lineReader reads lines of a bounded length.
type lineReader struct {
	r    *bufio.Reader
	max  int
	line []byte
}

var errLineTooLong = errors.New("a line is longer than any can be")

func newLineReader(r io.Reader, longest int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: longest}
}

// next returns the next line, its newline included, which only the last one may
// lack. It is good until the next call.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		l.line = append(l.line, part...)
		switch {
		case len(l.line) > l.max:
			return nil, errLineTooLong
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(l.line) > 0:
			return l.line, nil
		default:
			return l.line, err
		}
	}
}

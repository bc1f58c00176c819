package checkpoint

import (
	"errors"
	"fmt"
)

// ErrOrder says that a log's numbers contradict each other. Whoever meets it
// must sign nothing more of that log, and say so loudly.
var ErrOrder = errors.New("anchored ≤ signed ≤ durable ≤ written does not hold")

// A Watermark says how far a log has come, in records. Each number only grows,
// and anchored ≤ signed ≤ durable ≤ written.
type Watermark struct {
	Anchored, Signed, Durable, Written uint64
}

// Check returns ErrOrder unless w is in order.
func (w Watermark) Check() error {
	if w.Anchored > w.Signed || w.Signed > w.Durable || w.Durable > w.Written {
		return fmt.Errorf("%w: %d, %d, %d, %d", ErrOrder, w.Anchored, w.Signed, w.Durable, w.Written)
	}
	return nil
}

// Advance makes w what it is next; ErrOrder, and w unchanged, if next is out of
// order or behind w.
func (w *Watermark) Advance(next Watermark) error {
	if err := next.Check(); err != nil {
		return err
	}
	if next.Anchored < w.Anchored || next.Signed < w.Signed || next.Durable < w.Durable || next.Written < w.Written {
		return fmt.Errorf("%w: a number went back", ErrOrder)
	}
	*w = next
	return nil
}

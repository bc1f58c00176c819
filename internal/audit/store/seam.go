package store

import (
	"fmt"

	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
)

// A prefix is what is durable of a chain: its first tree.Size() records.
type prefix struct {
	tenant string
	origin string
	tree   checkpoint.Tree
	mark   checkpoint.Watermark // Durable is tree.Size()
}

// A watcher is told of what becomes durable: it is what signs. All its methods
// are called by one goroutine at a time for each chain; none may append to the
// log from within, except from a goroutine of its own.
type watcher interface {
	// opened is called when a chain has been recovered and before it takes its
	// first record of this process. An error that is ErrCorrupt refuses the
	// chain for good, any other one until the next try. The watcher compares p
	// with what it has signed and calls Log.signed and Log.anchored for it.
	opened(p prefix) error
	// stopping is called by Close while records are still taken, once or more.
	stopping()
	// closing is called by Close when every record, those of kind shutdown
	// included, is durable and none will follow. It is called once, before the
	// directory is unlocked, and may write files.
	closing() error
}

// unwatched is the watcher of a log that signs nothing.
type unwatched struct{}

func (unwatched) opened(prefix) error { return nil }
func (unwatched) stopping()           {}
func (unwatched) closing() error      { return nil }

// grown returns the durable prefixes of the chains that have grown since it was
// last called, in no order. It costs a copy of a tree for each of those, and
// nothing for the others. What was acknowledged before the call is in it, and in
// the tenant's file too: it waits for that.
func (l *Log) grown() []prefix {
	l.durableMu.Lock()
	defer l.durableMu.Unlock()
	for due := l.acked; l.spilled < due; {
		l.spilledMore.Wait()
	}
	out := make([]prefix, 0, len(l.changed))
	for _, c := range l.changed {
		c.changed = false
		out = append(out, c.prefix())
	}
	l.changed = l.changed[:0]
	return out
}

// prefixOf returns what is durable of a tenant's chain; ok is false unless the
// chain was opened by this process.
func (l *Log) prefixOf(tenant string) (p prefix, ok bool) {
	l.chainsMu.RLock()
	c := l.chains[tenant]
	l.chainsMu.RUnlock()
	if c == nil || !c.open.Load() || c.refused.Load() != nil {
		return prefix{}, false
	}
	l.durableMu.Lock()
	defer l.durableMu.Unlock()
	return c.prefix(), true
}

// openTenants returns the tenants whose chains this process has opened: those
// that a heartbeat is due for. A heartbeat is appended with Append, as any
// record.
func (l *Log) openTenants() []string {
	l.chainsMu.RLock()
	defer l.chainsMu.RUnlock()
	out := make([]string, 0, len(l.chains))
	for tenant, c := range l.chains {
		if c.open.Load() && c.refused.Load() == nil {
			out = append(out, tenant)
		}
	}
	return out
}

// signed notes that a checkpoint of a tenant's first size records was signed,
// anchored that an anchor covers one. They return checkpoint.ErrOrder if that
// cannot be: more than what is durable is signed, or more anchored than signed.
func (l *Log) signed(tenant string, size uint64) error {
	return l.advance(tenant, func(w *checkpoint.Watermark) { w.Signed = max(w.Signed, size) })
}

func (l *Log) anchored(tenant string, size uint64) error {
	return l.advance(tenant, func(w *checkpoint.Watermark) { w.Anchored = max(w.Anchored, size) })
}

func (l *Log) advance(tenant string, change func(*checkpoint.Watermark)) error {
	l.chainsMu.RLock()
	c := l.chains[tenant]
	l.chainsMu.RUnlock()
	if c == nil {
		return fmt.Errorf("%w: a tenant without a chain", checkpoint.ErrOrder)
	}
	l.durableMu.Lock()
	defer l.durableMu.Unlock()
	next := c.mark
	change(&next)
	return c.mark.Advance(next)
}

// prefix needs durableMu.
func (c *chain) prefix() prefix {
	return prefix{tenant: c.tenant, origin: c.origin, tree: c.tree, mark: c.mark}
}

// grow adds the records of a part, which are durable, to their chain's tree.
func (l *Log) grow(p *part) {
	l.durableMu.Lock()
	defer l.durableMu.Unlock()
	c := p.chain
	for _, h := range p.hashes {
		c.tree.Append(h)
	}
	c.last = p.after.time
	next := c.mark
	next.Durable, next.Written = c.tree.Size(), max(c.mark.Written, c.tree.Size())
	if err := c.mark.Advance(next); err != nil {
		c.refuse(fmt.Errorf("%w: %w", ErrCorrupt, err)) // impossible: a tree only grows
		return
	}
	if !c.changed {
		c.changed = true
		l.changed = append(l.changed, c)
	}
}

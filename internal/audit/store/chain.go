package store

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
)

// A chain is one tenant's. Its fields belong, in this order, to whoever opens
// it, to the committer, and to the writer.
type chain struct {
	tenant string
	id     string
	dir    string
	origin string

	opening sync.Mutex
	open    atomic.Bool
	refused atomic.Pointer[error] // ErrCorrupt, for good

	pos        position     // after the last record that was placed
	intro      *audit.Draft // the record that goes before any other; nil once durable
	introduced bool         // it was placed
	part       *part        // what the next batch has for this chain

	seg      segment
	file     File // nil: to be opened
	poisoned bool // an fdatasync of seg failed: never write it again
	used     uint64

	// What is durable of it; guarded by Log.durableMu.
	tree    checkpoint.Tree
	mark    checkpoint.Watermark
	changed bool // it is in Log.changed
}

// A position is where the next record goes.
type position struct {
	next uint64
	head audit.Hash
	time time.Time // of the last record
}

// A segment is the file that a chain writes to, as far as it is durable.
type segment struct {
	name    string // "" before the first
	size    int64
	lastLen int // of its last line; 0 if it has none
	next    uint64
	head    audit.Hash
}

func newOrigin(id string) string {
	var logID [16]byte
	rand.Read(logID[:]) // never fails
	return "hookpolicy.dev/" + id + "/" + hex.EncodeToString(logID[:])
}

// introduce sets the record by which the chain says that it begins or goes on.
func (c *chain) introduce(kind audit.Kind, detail map[string]any) error {
	c.intro = new(audit.Draft)
	return c.intro.Reset(&audit.Record{Kind: kind, Extra: detail})
}

// chainOf returns a tenant's chain, opened.
func (l *Log) chainOf(tenant string) (*chain, error) {
	l.chainsMu.RLock()
	c := l.chains[tenant]
	l.chainsMu.RUnlock()
	if c == nil {
		if err := checkText(tenant, audit.MaxTenant); err != nil {
			return nil, err
		}
		c = l.addChain(tenant)
	}
	if !c.open.Load() {
		if err := l.openChain(c); err != nil {
			return nil, err
		}
	}
	if err := c.refused.Load(); err != nil {
		return nil, *err
	}
	return c, nil
}

func (l *Log) addChain(tenant string) *chain {
	l.chainsMu.Lock()
	defer l.chainsMu.Unlock()
	c := l.chains[tenant]
	if c == nil {
		c = &chain{tenant: tenant, id: TenantID(tenant)}
		l.chains[tenant] = c
	}
	return c
}

// openChain recovers a chain. What fails for want of a working disk is tried
// again the next time.
func (l *Log) openChain(c *chain) error {
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.open.Load() {
		return nil
	}
	r := recovery{fs: l.fs, tenant: c.tenant, id: c.id}
	switch err := r.run(c); {
	case err == nil:
	case isCorrupt(err):
		c.refuse(err)
	default:
		c.pos, c.seg = position{}, segment{}
		l.health.failed(err)
		return fmt.Errorf("%w: open chain: %w", ErrUnavailable, err)
	}
	c.open.Store(true)
	return nil
}

func (c *chain) refuse(err error) { c.refused.Store(&err) }

// place lays a request at the chain's end, in memory.
func (l *Log) place(c *chain, p *part, r *request) {
	if c.intro != nil && !c.introduced {
		c.introduced, p.intro = true, true
		l.line(c, p, c.intro, c.origin)
	}
	r.seq = c.pos.next
	l.line(c, p, &r.draft, "")
	r.hash = c.pos.head
}

func (l *Log) line(c *chain, p *part, d *audit.Draft, origin string) {
	now := l.clock().Truncate(time.Microsecond)
	if now.Before(c.pos.time) {
		now = c.pos.time
	}
	start := len(p.buf)
	var h audit.Hash
	p.buf, h = d.AppendLine(p.buf, &audit.Place{
		Seq: c.pos.next, Prev: c.pos.head, Time: now, Tenant: c.tenant, Replica: l.replica, Log: origin,
	})
	p.lastLen = len(p.buf) - start
	c.pos = position{c.pos.next + 1, h, now}
}

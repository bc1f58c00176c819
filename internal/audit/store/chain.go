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
// it, to the committer, and to the spiller.
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

	names []string // files in quarantine/ that the intro names
	at    spot     // as far as it is written to its files
	safe  spot     // as far as it is durable in its files
	spilled
	file File // nil: to be opened
	used uint64

	// What is durable of it, in the journal or in its files; guarded by
	// Log.durableMu.
	tree    checkpoint.Tree
	mark    checkpoint.Watermark
	last    time.Time // of the last record in tree
	changed bool      // it is in Log.changed
}

// A position is where the next record goes.
type position struct {
	next uint64
	head audit.Hash
	time time.Time // of the last record
}

// A spot is a place in a chain's files.
type spot struct {
	exists  bool   // there is a segment
	first   uint64 // in its name
	size    int64
	lastLen int // of its last line; 0 if it has none
	next    uint64
	head    audit.Hash
}

func (s *state) spot() spot {
	return spot{true, s.First, s.Size, s.LastLen, s.next(), audit.Hash(s.Head)}
}

// spilled is what a chain's files need.
type spilled struct {
	unsynced []uint64 // segments that were written since they were synced
	entries  bool     // names of files or directories were made since
	behind   bool     // lines are missing in them, to be had from the journal
	poisoned bool     // a sync of them failed: what is not safe must be written anew
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
		id := TenantID(tenant)
		c = &chain{tenant: tenant, id: id, dir: chainDir(id)}
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
	switch err := l.recover(c); {
	case err == nil:
	case isCorrupt(err):
		c.refuse(err)
		l.health.refused(c.tenant, err)
	default:
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
	p.hashes = append(p.hashes, h)
	c.pos = position{c.pos.next + 1, h, now}
}

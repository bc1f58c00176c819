package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
)

// AnchorTenant is the tenant of the log's own chain: its records hold the
// tenants' checkpoints, so that its checkpoint anchors them all. It is no name
// of a namespace.
const AnchorTenant = "_anchor"

// Signing says what is signed and where it is published. The zero value signs
// and publishes nowhere.
type Signing struct {
	Interval  time.Duration // between checkpoints of chains that grow; default 5 s
	Heartbeat time.Duration // after which an idle chain says that it is alive; default 10 min
	Publisher Publisher     // nil: anchors stay in the log's directory
	// Alarm is told what must wake a person: contradictions, after which
	// nothing more is signed, and each round that failed. It must not block.
	Alarm func(error)
}

// A Publisher keeps anchors where whoever can write to the log's directory
// cannot.
type Publisher interface {
	// Last returns the anchor that was published last, nil if there is none.
	Last(ctx context.Context) (*checkpoint.Anchor, error)
	// Publish returns once the anchors are kept. They are of one moment: all
	// have the same checkpoint, and each some of the tenants'.
	Publish(ctx context.Context, anchors []*checkpoint.Anchor) error
}

// A signer signs what is durable of each chain, and publishes.
type signer struct {
	log       *Log
	key       *checkpoint.Key
	verifiers checkpoint.Verifiers
	id        string
	heads     *heads
	o         Signing

	fresh bool // log.json was not there
	began bool
	once  sync.Once
	stop  chan struct{} // closed: one more round, while records are still taken
	ready chan struct{} // closed: that was it
	end   chan struct{} // closed: sign the last records
	done  chan error

	mu      sync.Mutex // one round at a time; guards what follows
	due     map[string]prefix
	seen    map[string]time.Time // when a chain last grew
	leaves  []statement          // signed, and not yet in the anchor's chain
	unsent  map[string][]byte    // signed, and not yet published, by tenant
	sent    uint64               // size of the anchor's chain that was published
	stopped error                // a contradiction: nothing more is signed
}

// A statement is a signed checkpoint of a tenant's chain.
type statement struct {
	tenant string
	note   []byte
}

// OpenSigned is Open for a log that signs what becomes durable. It returns
// ErrCorrupt too if the log is older, or another one, than what was signed or
// published of it. ctx bounds the start only.
func OpenSigned(ctx context.Context, dir string, o Options, signing Signing) (*Log, error) {
	var s *signer
	l, err := open(dir, o, func(l *Log) (watcher, error) {
		var err error
		if s, err = newSigner(l, signing); err != nil {
			return nil, err
		}
		return s, nil
	})
	if err == nil {
		if err = s.begin(ctx); err != nil {
			err = errors.Join(err, l.Close(context.WithoutCancel(ctx)))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open audit log: %w", err)
	}
	return l, nil
}

// newSigner reads or makes what the log signs with. It must be there before any
// chain is opened.
func newSigner(l *Log, o Signing) (*signer, error) {
	o.Interval, o.Heartbeat = cmp.Or(o.Interval, 5*time.Second), cmp.Or(o.Heartbeat, 10*time.Minute)
	s := &signer{
		log: l, o: o, stop: make(chan struct{}), ready: make(chan struct{}), end: make(chan struct{}), done: make(chan error, 1),
		due: make(map[string]prefix), seen: make(map[string]time.Time), unsent: make(map[string][]byte),
	}
	key, fresh, err := loadLogKey(l.fs)
	if err != nil {
		return nil, err
	}
	s.key, s.id = key, path.Base(key.Name())
	if s.verifiers, err = checkpoint.NewVerifiers(key.Verifier()); err != nil {
		return nil, err
	}
	if s.heads, err = openHeads(l.fs, fresh); err != nil {
		return nil, err
	}
	if s.fresh = fresh; fresh {
		if err := writeInfo(l.fs, key); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// begin checks what was published against what was signed, and starts signing.
// Chains can be opened and records appended by then.
func (s *signer) begin(ctx context.Context) error {
	if err := s.checkPublished(ctx); err != nil {
		return err
	}
	if _, err := s.log.chainOf(AnchorTenant); err != nil {
		return fmt.Errorf("open the anchor's chain: %w", err)
	}
	p, ok := s.log.prefixOf(AnchorTenant)
	switch {
	case !ok:
		return fmt.Errorf("open the anchor's chain: %w", ErrUnavailable)
	case s.fresh && p.tree.Size() > 0:
		return fmt.Errorf("%w: %s is missing of a log that was signed", ErrCorrupt, logInfoName)
	case p.tree.Size() == 0:
		if _, err := s.log.Append(ctx, AnchorTenant, &audit.Record{Kind: audit.KindKey, Extra: map[string]any{
			"log": s.id, "vkeys": []any{s.key.Verifier()},
		}}); err != nil {
			return fmt.Errorf("record the key: %w", err)
		}
	}
	waiting, err := s.heads.waiting()
	if err != nil {
		return err
	}
	for _, h := range waiting {
		s.leaves = append(s.leaves, statement{note: []byte(h.Note)})
	}
	s.began = true
	go s.run(context.WithoutCancel(ctx))
	return nil
}

// checkPublished refuses a log that is older than what was published of it.
func (s *signer) checkPublished(ctx context.Context) error {
	if s.o.Publisher == nil {
		return nil
	}
	last, err := s.o.Publisher.Last(ctx)
	if err != nil {
		return fmt.Errorf("read the last anchor: %w", err)
	}
	if last == nil {
		return nil
	}
	if last.Log != s.id {
		return fmt.Errorf("%w: the last anchor is of another log", ErrCorrupt)
	}
	c, err := s.verifiers.Open([]byte(last.Checkpoint))
	if err != nil {
		return fmt.Errorf("%w: the last anchor is not signed by this log's key", ErrCorrupt)
	}
	h, err := s.heads.get(TenantID(AnchorTenant))
	switch {
	case err != nil:
		return err
	case h == nil || h.Tree.Size() < c.Size:
		var local uint64
		if h != nil {
			local = h.Tree.Size()
		}
		return fmt.Errorf("%w: TRUNCATED anchored=%d local=%d: this log is older than what was published of it", ErrCorrupt, c.Size, local)
	case h.Tree.Size() == c.Size && h.Tree.Root() != c.Root:
		return fmt.Errorf("%w: the last anchor is of other records", ErrCorrupt)
	}
	s.sent = c.Size
	return s.checkTenants(last.Tenants)
}

// checkTenants refuses a log that has signed less of a chain than was published
// last.
func (s *signer) checkTenants(notes []string) error {
	for _, text := range notes {
		c, err := s.verifiers.Open([]byte(text))
		if err != nil {
			return fmt.Errorf("%w: the last anchor is not signed by this log's key", ErrCorrupt)
		}
		h, err := s.heads.get(path.Base(path.Dir(c.Origin)))
		if err != nil {
			return err
		}
		if h == nil || h.Tree.Size() < c.Size {
			return fmt.Errorf("%w: this log has signed less than the %d records of a chain that were published", ErrCorrupt, c.Size)
		}
	}
	return nil
}

func (s *signer) run(ctx context.Context) {
	tick := time.NewTicker(s.o.Interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := s.round(ctx); err != nil {
				s.warn(err)
			}
		case <-s.stop:
			err := s.round(ctx)
			close(s.ready)
			<-s.end
			s.done <- errors.Join(err, s.last(ctx))
			return
		}
	}
}

func (s *signer) warn(err error) {
	if s.o.Alarm != nil {
		s.o.Alarm(err)
	}
}

// round signs what has grown, has it in the anchor's chain, and publishes.
func (s *signer) round(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped != nil {
		return s.stopped
	}
	beatErr := s.beat(ctx)
	s.collect()
	err := s.signDue()
	if err == nil {
		err = s.append(ctx)
	}
	if err == nil {
		s.collect() // the anchor's own chain has grown by that
		err = s.signAnchor()
	}
	if err == nil {
		err = s.publish(ctx)
	}
	return s.fault(errors.Join(beatErr, err))
}

// fault stops all signing after a contradiction.
func (s *signer) fault(err error) error {
	if errors.Is(err, checkpoint.ErrOrder) {
		s.stopped = fmt.Errorf("sign nothing more: %w", err)
		return s.stopped
	}
	return err
}

// beat lets chains that are idle say so. Each is then one that grows.
func (s *signer) beat(ctx context.Context) error {
	now := s.log.clock()
	var idle []string
	for _, tenant := range s.log.openTenants() {
		if last, ok := s.seen[tenant]; !ok {
			s.seen[tenant] = now
		} else if now.Sub(last) >= s.o.Heartbeat {
			idle = append(idle, tenant)
		}
	}
	return s.appendAll(ctx, len(idle), func(i int) (string, *audit.Record) {
		return idle[i], &audit.Record{Kind: audit.KindHeartbeat}
	})
}

func (s *signer) collect() {
	now := s.log.clock()
	for _, p := range s.log.grown() {
		s.due[p.tenant], s.seen[p.tenant] = p, now
	}
}

// signDue signs the tenants' chains that have grown. What is signed is on the
// disk, in one write, before anybody is told of it.
func (s *signer) signDue() error {
	var batch []head
	var made []statement
	for tenant, p := range s.due {
		if tenant == AnchorTenant {
			continue
		}
		h, err := s.sign(p)
		if err != nil {
			return err
		}
		batch = append(batch, h)
		made = append(made, statement{tenant, []byte(h.Note)})
	}
	if err := s.heads.put(batch); err != nil {
		return err
	}
	for _, st := range made {
		delete(s.due, st.tenant)
		s.unsent[st.tenant] = st.note
	}
	slices.SortFunc(made, func(a, b statement) int { return cmp.Compare(a.tenant, b.tenant) })
	s.leaves = append(s.leaves, made...)
	return nil
}

// sign signs a durable prefix: the order is checked before there is a signature.
func (s *signer) sign(p prefix) (head, error) {
	if p.mark.Durable != p.tree.Size() {
		return head{}, fmt.Errorf("%w: the tree has %d records, %d are durable", checkpoint.ErrOrder, p.tree.Size(), p.mark.Durable)
	}
	if err := s.log.signed(p.tenant, p.tree.Size()); err != nil {
		return head{}, err
	}
	signed, err := s.key.Sign(checkpoint.Checkpoint{Origin: p.origin, Size: p.tree.Size(), Root: p.tree.Root()})
	if err != nil {
		return head{}, err
	}
	return head{ID: TenantID(p.tenant), Note: string(signed), Tree: p.tree}, nil
}

// append puts what was signed into the anchor's chain.
func (s *signer) append(ctx context.Context) error {
	err := s.appendAll(ctx, len(s.leaves), func(i int) (string, *audit.Record) {
		return AnchorTenant, &audit.Record{Kind: audit.KindCheckpoint, Extra: map[string]any{"note": string(s.leaves[i].note)}}
	})
	if err == nil {
		s.leaves = s.leaves[:0]
	}
	return err
}

// maxAppends is how many appends of the signer wait at once: enough for batches
// that are worth a sync, few enough to leave the queue to decisions.
const maxAppends = 256

func (s *signer) appendAll(ctx context.Context, n int, record func(i int) (string, *audit.Record)) error {
	var mu sync.Mutex
	var all error
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxAppends)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			tenant, r := record(i)
			if _, err := s.log.Append(ctx, tenant, r); err != nil {
				mu.Lock()
				defer mu.Unlock()
				all = err // one tells as much as all of them
			}
		})
	}
	wg.Wait()
	if all != nil {
		return fmt.Errorf("append what is signed: %w", all)
	}
	return nil
}

// signAnchor signs the anchor's own chain, and keeps its checkpoint where a
// reader of the directory looks for it.
func (s *signer) signAnchor() error {
	p, ok := s.due[AnchorTenant]
	if !ok {
		return nil
	}
	h, err := s.sign(p)
	if err != nil {
		return err
	}
	if err := s.heads.put([]head{h}); err != nil {
		return err
	}
	if err := writeDurably(s.log.fs, anchorName, []byte(h.Note)); err != nil {
		return fmt.Errorf("write %s: %w", anchorName, err)
	}
	delete(s.due, AnchorTenant)
	return nil
}

// publish tells the publisher what it has not been told.
func (s *signer) publish(ctx context.Context) error {
	h, err := s.heads.get(TenantID(AnchorTenant))
	if err != nil || h == nil || s.o.Publisher == nil || h.Tree.Size() == s.sent && len(s.unsent) == 0 {
		return err
	}
	tenants := make([]string, 0, len(s.unsent))
	for tenant := range s.unsent {
		tenants = append(tenants, tenant)
	}
	slices.Sort(tenants)
	var anchors []*checkpoint.Anchor
	for first := true; first || len(tenants) > 0; first = false {
		n := min(len(tenants), checkpoint.MaxAnchorLogs)
		a := &checkpoint.Anchor{
			Version: 1, Log: s.id, Time: s.log.clock().UTC().Truncate(time.Millisecond),
			Keys: []string{s.key.Verifier()}, Checkpoint: h.Note, Tenants: []string{},
		}
		for _, tenant := range tenants[:n] {
			a.Tenants = append(a.Tenants, string(s.unsent[tenant]))
		}
		anchors, tenants = append(anchors, a), tenants[n:]
	}
	if err := s.o.Publisher.Publish(ctx, anchors); err != nil {
		return fmt.Errorf("publish the anchor: %w", err)
	}
	return s.told(h.Tree.Size())
}

// told notes what is anchored now.
func (s *signer) told(size uint64) error {
	s.sent = size
	err := s.log.anchored(AnchorTenant, size)
	for tenant, signed := range s.unsent {
		c, parseErr := checkpoint.OpenUnverified(signed)
		err = errors.Join(err, parseErr, s.log.anchored(tenant, c.Size))
	}
	clear(s.unsent)
	return err
}

// opened implements watcher: a chain must begin with what was signed of it.
func (s *signer) opened(p prefix) error {
	h, err := s.heads.get(TenantID(p.tenant))
	if err != nil || h == nil {
		return err
	}
	c, err := s.verifiers.Open([]byte(h.Note))
	switch {
	case err != nil || c.Size != h.Tree.Size() || c.Root != h.Tree.Root():
		return fmt.Errorf("%w: %s: what was signed of a chain does not hold", ErrCorrupt, headsName)
	case p.tree.Size() < c.Size:
		return fmt.Errorf("%w: TRUNCATED signed=%d local=%d", ErrCorrupt, c.Size, p.tree.Size())
	case p.origin != c.Origin:
		return fmt.Errorf("%w: another chain stands in the place of the one that was signed", ErrCorrupt)
	}
	grown, err := growTree(s.log.fs, TenantID(p.tenant), h.Tree, p.tree.Size())
	if err != nil {
		return err
	}
	if grown != p.tree {
		return fmt.Errorf("%w: the chain does not begin with the records that were signed", ErrCorrupt)
	}
	return s.log.signed(p.tenant, c.Size)
}

// stopping implements watcher: what is signed now is in the anchor's chain too.
func (s *signer) stopping() {
	if s.began {
		s.once.Do(func() { close(s.stop) })
		<-s.ready
	}
}

// closing implements watcher: the last records are signed too, and published.
func (s *signer) closing() error {
	if s.began {
		close(s.end)
		return errors.Join(<-s.done, s.heads.close())
	}
	return s.heads.close()
}

// last signs what no round has. No chain can hold it any more: the heads of the
// tenants' chains come after that of the anchor's, so the next process adds
// them.
func (s *signer) last(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lastTimeout)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped != nil {
		return s.stopped
	}
	s.collect()
	err := s.signAnchor()
	if err == nil {
		err = s.signDue()
	}
	if err == nil {
		err = s.publish(ctx)
	}
	return s.fault(err)
}

// lastTimeout is how long the last anchor may take.
const lastTimeout = 10 * time.Second

// lastNewline returns the length of what b holds of whole lines.
func lastNewline(b []byte) int { return bytes.LastIndexByte(b, '\n') + 1 }

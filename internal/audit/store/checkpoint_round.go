package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
)

// beat lets chains that are idle say so. Each is then one that grows.
func (s *signer) beat(ctx context.Context) error {
	now := s.log.clock()
	var idle []string
	for _, tenant := range s.log.openTenants() {
		if last, ok := s.seen[tenant]; !ok {
			s.seen[tenant] = now
		} else if now.Sub(last) >= s.o.Heartbeat {
			idle = append(idle, tenant)
			s.seen[tenant] = now
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

// append puts what was signed into the anchor's chain, and waits until that
// chain has grown by it: what is published must cover it.
func (s *signer) append(ctx context.Context) error {
	if len(s.leaves) == 0 {
		return nil
	}
	before, _ := s.log.prefixOf(AnchorTenant)
	err := s.appendAll(ctx, len(s.leaves), func(i int) (string, *audit.Record) {
		return AnchorTenant, &audit.Record{Kind: audit.KindCheckpoint, Extra: map[string]any{"note": string(s.leaves[i].note)}}
	})
	if err != nil {
		return err
	}
	want := before.tree.Size() + uint64(len(s.leaves))
	s.leaves = s.leaves[:0]
	return s.await(ctx, want)
}

// A record that is acknowledged is in its tenant's file, and so in the chain's
// durable prefix, a moment later.
const (
	awaitEvery = time.Millisecond
	awaitMost  = 10 * time.Second
)

func (s *signer) await(ctx context.Context, size uint64) error {
	ctx, cancel := context.WithTimeout(ctx, awaitMost)
	defer cancel()
	tick := time.NewTicker(awaitEvery)
	defer tick.Stop()
	for {
		if p, _ := s.log.prefixOf(AnchorTenant); p.tree.Size() >= size {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the anchor's chain: %w", context.Cause(ctx))
		}
	}
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

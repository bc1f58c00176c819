package store

import (
	"context"
	"fmt"
	"path"
)

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

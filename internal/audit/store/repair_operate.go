package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

// operate cuts out what the survey has found. A crash in between leaves a log
// that can be surveyed again.
func (s *surgery) operate() error {
	for _, dir := range []string{layout.Tenants, layout.Quarantine, layout.Journal} {
		if err := mkdir(s.fs, dir); err != nil {
			return err
		}
	}
	for _, p := range s.pieces {
		if err := setAside(s.fs, layout.Journal, p.segment, p.at, p.bytes); err != nil {
			return err
		}
	}
	var job drained
	for _, p := range s.chains {
		if !p.damaged && len(p.parsed) == 0 {
			continue
		}
		if err := s.mend(p); err != nil {
			return err
		}
		if p.mend.has {
			job.marks = append(job.marks, p.mend.mark())
		}
	}
	job.run(s.fs)
	if job.err != nil {
		return job.err
	}
	j := journal{fs: s.fs, next: s.next}
	err := j.begin(nil, 0)
	j.close()
	if err != nil {
		return err
	}
	if err := s.forgetSigned(); err != nil {
		return err
	}
	old := slices.DeleteFunc(s.segments, func(x sealed) bool { return x.first == j.first })
	if err := removeSegments(s.fs, old); err != nil {
		return err
	}
	return s.fs.SyncDir(layout.Journal)
}

// forgetSigned lets the chains that have lost what was signed be signed anew.
// Whoever keeps an anchor finds the loss all the same.
func (s *surgery) forgetSigned() error {
	var ids []string
	for _, c := range s.report.Chains {
		if s.signed[c.ID] > c.Kept {
			ids = append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return forgetSigned(s.fs, ids...)
}

func (s *surgery) mend(p *patient) error {
	if len(p.loose) > 0 {
		if err := setAside(s.fs, p.id, p.mend.state.next(), 0, p.loose); err != nil {
			return err
		}
	}
	at := 0
	for i := range p.parsed {
		line, raw := p.parsed[i:i+1], p.lines[at:at+p.sizes[i]]
		at += p.sizes[i]
		if line[0].Seq < p.mend.state.next() || !p.mend.state.follows(&line[0]) {
			continue
		}
		if err := p.mend.apply(raw, line, p.sizes[i:i+1]); err != nil {
			return err
		}
	}
	if err := p.mend.finish(); err != nil {
		return err
	}
	if p.mend.state.next() > 0 || !p.mend.has {
		return nil
	}
	// Nothing good is left: the chain begins anew, and its state would lie.
	for _, name := range []string{p.mend.name(), statePath(p.id)} {
		if err := s.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	p.mend.has = false
	return s.fs.SyncDir(path.Join(layout.Tenants, p.id))
}

// record has each chain say who accepted its loss.
func (s *surgery) record(ctx context.Context, operator string) error {
	for _, c := range s.report.Chains {
		if c.Tenant == "" {
			continue // nobody knows whose it was; quarantine/ has what is left
		}
		_, err := s.log.Append(ctx, c.Tenant, &audit.Record{Kind: audit.KindGap, Extra: map[string]any{
			"operator": operator, "after": strconv.FormatUint(c.Kept, 10), "lost_at_least": strconv.FormatUint(c.Lost, 10),
			"damage": s.report.Damage,
		}})
		if err != nil {
			return fmt.Errorf("record the gap of %s: %w", c.ID, err)
		}
	}
	return nil
}

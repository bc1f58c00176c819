package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

// A Repair says what a damaged log loses if it is to go on, or has lost.
type Repair struct {
	Path    string        `json:"path"`
	Damage  string        `json:"damage,omitempty"` // why it does not go on by itself; "" if it does
	Journal int           `json:"journalBytes"`     // bytes of the journal that are no records any more
	Chains  []ChainRepair `json:"chains,omitempty"`
}

// A ChainRepair is a chain that goes on after its last good record.
type ChainRepair struct {
	Tenant string `json:"tenant,omitempty"` // "" if nothing good says
	ID     string `json:"id"`
	Kept   uint64 `json:"kept,string"` // records, from the first
	// Lost is how many records are known to have followed, and do not any more.
	// There may have been others.
	Lost uint64 `json:"lost,string"`
	// Bytes of records and of what is left of them are set aside.
	Bytes int `json:"bytes"`
}

// RepairLog finds what keeps the log in a directory from going on, and what it
// would cost to cut that out. With an operator, it does so: what is cut out is
// copied to quarantine/, and each chain that may have lost something goes on
// with a record of kind gap that names the operator. No other process may have
// the log open.
func RepairLog(ctx context.Context, dir string, o Options, operator string) (*Repair, error) {
	r, err := repairLog(ctx, dir, o, operator)
	if err != nil {
		return nil, fmt.Errorf("repair audit log: %w", err)
	}
	return r, nil
}

func repairLog(ctx context.Context, dir string, o Options, operator string) (*Repair, error) {
	if operator != "" {
		if err := checkText(operator, audit.MaxWord); err != nil {
			return nil, fmt.Errorf("operator: not a name that can be recorded")
		}
	}
	l := newLog(o)
	if err := l.lockDir(dir); err != nil {
		return nil, err
	}
	s := &surgery{fs: l.fs, log: l, report: Repair{Path: dir}}
	err := s.survey()
	if err == nil && operator != "" && s.report.Damage != "" {
		if err = s.operate(); err == nil {
			err = l.start(dir, func(*Log) (watcher, error) { return unwatched{}, nil })
		}
		if err == nil {
			err = errors.Join(s.record(ctx, operator), l.Close(ctx))
			return &s.report, err
		}
	}
	return &s.report, errors.Join(err, l.lock.Close())
}

// A surgery is a repair at work.
type surgery struct {
	fs     FS
	log    *Log
	report Repair

	segments []sealed
	next     uint64 // number for the journal's next line
	pieces   []piece
	chains   map[string]*patient // by tenant_id
	signed   map[string]uint64   // how many records were signed, by tenant_id
}

// A piece is what stands in the journal and is no record.
type piece struct {
	segment uint64
	at      int64
	bytes   []byte
}

// A patient is a chain and what the journal holds of it.
type patient struct {
	id      string
	lines   []byte
	parsed  []audit.Line
	sizes   []int
	mend    *mender
	fits    int // how many of the lines follow what is in the files
	known   uint64
	loose   []byte // lines that follow nothing
	damaged bool
	bytes   int
}

// survey looks at everything and changes nothing.
func (s *surgery) survey() error {
	current, err := readFormat(s.fs)
	if err != nil {
		return err
	}
	if err := s.readSigned(); err != nil {
		return err
	}
	damage := s.damage(!current)
	if damage == nil {
		return nil
	}
	if !isCorrupt(damage) {
		return damage
	}
	s.report.Damage = damage.Error()
	s.chains = make(map[string]*patient)
	if err := s.readJournal(); err != nil {
		return err
	}
	ids, err := s.fs.ReadDir(layout.Tenants)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read directory %s: %w", layout.Tenants, err)
	}
	for _, id := range slices.Concat(ids, slices.Collect(maps.Keys(s.signed))) {
		s.patient(id)
	}
	for _, p := range s.chains {
		if err := s.examine(p); err != nil {
			return err
		}
	}
	s.tell()
	return nil
}

// readSigned reads how much of each chain was signed.
func (s *surgery) readSigned() error {
	s.signed = make(map[string]uint64)
	h, err := openHeads(s.fs, false)
	if errors.Is(err, errHeadsMissing) {
		return nil // this log does not sign
	}
	if err != nil {
		return err
	}
	for id := range h.at {
		hd, err := h.get(id)
		if err != nil {
			return errors.Join(err, h.close())
		}
		s.signed[id] = hd.Tree.Size()
	}
	return h.close()
}

// checkSigned demands that a chain is as long as was signed.
func (s *surgery) checkSigned(id string, local uint64) error {
	if signed := s.signed[id]; signed > local {
		return fmt.Errorf("%w: %s: TRUNCATED signed=%d local=%d", ErrCorrupt, chainDir(id), signed, local)
	}
	return nil
}

// damage returns what keeps the log, or one of its chains, from going on.
func (s *surgery) damage(upgrade bool) error {
	r := recovery{fs: s.fs, upgrade: upgrade}
	err := r.read()
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return err
	}
	ids, err := s.fs.ReadDir(layout.Tenants)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read directory %s: %w", layout.Tenants, err)
	}
	ids = slices.Concat(ids, slices.Collect(maps.Keys(s.signed)))
	known := make(map[string]bool)
	for _, c := range r.chains {
		known[c.id] = true
		if err := s.checkSigned(c.id, c.next()); err != nil {
			return err
		}
		m, err := newMender(s.fs, c)
		if err == nil && m.state.next() == c.first && audit.Hash(m.state.Head) != c.prev {
			err = fmt.Errorf("%w: %s: record %d in the journal does not follow the chain", ErrCorrupt, m.dir, c.first)
		}
		if err != nil {
			return err
		}
	}
	for _, id := range ids {
		if known[id] {
			continue
		}
		if err := s.chainDamage(id); err != nil {
			return err
		}
	}
	return nil
}

// chainDamage looks at a chain that has nothing in the journal.
func (s *surgery) chainDamage(id string) error {
	saved, err := loadState(s.fs, id)
	if err != nil {
		return err
	}
	if saved != nil {
		return errors.Join(checkSaved(s.fs, id, saved), s.checkSigned(id, saved.next()))
	}
	m, err := s.goodFiles(id, nil)
	if err == nil {
		err = s.checkSigned(id, m.state.next())
	}
	if err != nil {
		return err
	}
	if len(m.later) > 0 {
		return fmt.Errorf("%w: %s: records from %d on are missing", ErrCorrupt, m.dir, m.state.next())
	}
	if !m.has {
		return nil
	}
	f, err := s.fs.OpenFile(m.name(), 0, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", m.name(), err)
	}
	defer f.Close()
	rest, err := readFrom(f, m.name(), m.state.Size)
	if err != nil {
		return err
	}
	if why := whyNotTorn(rest, m.state.Size, func(*audit.Line) bool { return true }); why != "" {
		return corrupt(f, m.name(), m.state.Size, why)
	}
	return nil
}

func (s *surgery) patient(id string) *patient {
	p := s.chains[id]
	if p == nil {
		p = &patient{id: id}
		s.chains[id] = p
	}
	return p
}

// readJournal takes the journal apart into the lines of each chain and the rest.
func (s *surgery) readJournal() error {
	firsts, err := segmentsOf(s.fs, layout.Journal)
	if err != nil {
		return err
	}
	for i, first := range firsts {
		name := segmentPath(layout.Journal, first)
		all, err := readWhole(s.fs, name)
		if err != nil {
			return err
		}
		s.next = max(s.next, first)
		at, bad := int64(0), int64(-1)
		flush := func(to int64) {
			if bad >= 0 {
				s.pieces = append(s.pieces, piece{first, bad, all[bad:to]})
				s.report.Journal += int(to - bad)
				bad = -1
			}
		}
		for raw := range bytes.Lines(all) {
			if i+1 < len(firsts) && s.next >= firsts[i+1] {
				break // written to a file that was given up, and then to the next
			}
			line, err := audit.ParseLine(raw)
			if err != nil && bad < 0 {
				bad = at
			}
			if err == nil {
				flush(at)
				p := s.patient(TenantID(line.Tenant))
				p.lines, p.parsed, p.sizes = append(p.lines, raw...), append(p.parsed, line), append(p.sizes, len(raw))
			}
			s.next++
			at += int64(len(raw))
		}
		flush(at)
		s.segments = append(s.segments, sealed{first, int64(len(all))})
	}
	return nil
}

// examine finds how far a chain's files are good, and how far the journal leads
// on from there.
func (s *surgery) examine(p *patient) error {
	saved, err := loadState(s.fs, p.id)
	if err != nil {
		return err
	}
	p.known = s.signed[p.id]
	if saved != nil {
		p.known = max(p.known, saved.next())
	}
	if p.mend, err = s.goodFiles(p.id, saved); err != nil {
		return err
	}
	end := p.mend.state
	at := 0
	for i := range p.parsed {
		line := &p.parsed[i]
		raw := p.lines[at : at+p.sizes[i]]
		at += p.sizes[i]
		switch {
		case line.Seq < end.next():
		case end.follows(line):
			end.take(line, len(raw))
		default:
			p.loose = append(p.loose, raw...)
		}
		p.known = max(p.known, line.Seq+1)
	}
	p.fits = int(end.next() - p.mend.state.next())
	over, err := p.mend.beyond()
	if err != nil {
		return err
	}
	p.bytes = len(p.loose) + over
	p.damaged = p.known > end.next() || len(p.loose) > 0 || over > 0 || len(p.parsed) > 0 && len(s.pieces) > 0
	return nil
}

// goodFiles returns a mender that stands where a chain's files are good up to.
func (s *surgery) goodFiles(id string, saved *state) (*mender, error) {
	if saved != nil && checkSavedPrefix(s.fs, id, saved) != nil {
		saved = nil
	}
	segments, err := segmentsOf(s.fs, chainDir(id))
	if err != nil {
		return nil, err
	}
	m := mendFrom(s.fs, id, saved, segments)
	for m.has || m.nextSegment() {
		f, err := s.fs.OpenFile(m.name(), 0, 0)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", m.name(), err)
		}
		_, err = m.readLines(f, m.stop())
		_ = f.Close() // nothing was written
		if err != nil {
			return nil, err
		}
		if !m.nextSegment() {
			break
		}
	}
	return m, nil
}

func (s *surgery) tell() {
	for _, p := range s.chains {
		if !p.damaged {
			continue
		}
		kept := p.mend.state.next() + uint64(p.fits)
		s.report.Chains = append(s.report.Chains, ChainRepair{
			Tenant: p.mend.state.Tenant, ID: p.id, Kept: kept, Lost: max(p.known, kept) - kept, Bytes: p.bytes,
		})
		if c := &s.report.Chains[len(s.report.Chains)-1]; c.Tenant == "" && len(p.parsed) > 0 {
			c.Tenant = p.parsed[0].Tenant
		}
	}
	slices.SortFunc(s.report.Chains, func(a, b ChainRepair) int { return cmp.Compare(a.ID, b.ID) })
}

package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"

	"github.com/hookpolicy/hookpolicy/internal/audit"
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
	ids, err := s.fs.ReadDir(tenantsDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read directory %s: %w", tenantsDir, err)
	}
	for _, id := range ids {
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
	ids, err := s.fs.ReadDir(tenantsDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read directory %s: %w", tenantsDir, err)
	}
	known := make(map[string]bool)
	for _, c := range r.chains {
		known[c.id] = true
		m, err := newMender(s.fs, c.id, c.first)
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
		return checkSaved(s.fs, id, saved)
	}
	m, err := s.goodFiles(id, nil)
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
	firsts, err := segmentsOf(s.fs, journalDir)
	if err != nil {
		return err
	}
	for i, first := range firsts {
		name := segmentPath(journalDir, first)
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
	if saved != nil {
		p.known = saved.next()
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
	m, err := mendFrom(s.fs, id, saved)
	if err != nil {
		return nil, err
	}
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

// operate cuts out what the survey has found. A crash in between leaves a log
// that can be surveyed again.
func (s *surgery) operate() error {
	for _, dir := range []string{tenantsDir, quarantineDir, journalDir} {
		if err := mkdir(s.fs, dir); err != nil {
			return err
		}
	}
	for _, p := range s.pieces {
		if _, err := setAside(s.fs, journalDir, p.segment, p.at, p.bytes); err != nil {
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
	old := slices.DeleteFunc(s.segments, func(x sealed) bool { return x.first == j.first })
	if err := removeSegments(s.fs, old); err != nil {
		return err
	}
	return s.fs.SyncDir(journalDir)
}

func (s *surgery) mend(p *patient) error {
	if len(p.loose) > 0 {
		if _, err := setAside(s.fs, p.id, p.mend.state.next(), 0, p.loose); err != nil {
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
	return s.fs.SyncDir(path.Join(tenantsDir, p.id))
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

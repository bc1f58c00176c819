package audit

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
)

// A Verifier checks a chain, record by record. The zero Verifier begins with
// the genesis and is strict.
type Verifier struct {
	// ChainOnly leaves out the checks of canonical form, duplicate names and
	// UTF-8: hashes, sequence and times alone.
	ChainOnly bool
	// Partial lets the chain begin with any record, whose sequence number and
	// prev_hash are then taken as given.
	Partial bool
	// Report, if set, is called for every finding, and verification goes on
	// with the next record. It must not keep what it is given.
	Report func(*Finding)
	// Expect are checkpoints that the chain must fit, by size. Those beyond its
	// end remain.
	Expect []Expected
	// Closure, if set, is told of every record.
	Closure *Closure
	// Note, if set, is called with each checkpoint of another chain that a
	// record holds.
	Note func(at Finding, note string)
	// Same, if set, is asked whether a record is the one that is known from
	// elsewhere to have its number.
	Same func(seq uint64, h Hash) bool
	// Torn, if set, is asked whether a last line that ends early is what is
	// being written: then it is no finding.
	Torn func(seq uint64, part []byte) bool

	sum   Summary
	began bool
	fault bool                  // there was a finding: the tree is not known any more
	ts    [len(timeLayout)]byte // of the last record
	seq   []byte                // text of sum.Next
	heads [2][]byte             // what the next prev_hash may be; both empty: not known
	lost  bool                  // the last line could not be read: it may have been no record
	tree  checkpoint.Tree
	fits  uint64 // the largest checkpoint that the chain fits
}

// An Expected is a checkpoint that a chain must fit: the root over its first
// Size records.
type Expected struct {
	Size uint64
	Root Hash
	From string // where the checkpoint is written, for findings
}

// A Summary is what a Verifier has read so far.
type Summary struct {
	Tenant  string // "" if no genesis was read
	Log     string // the chain's origin, likewise
	Records uint64 // lines that are good by themselves
	Bytes   int64
	First   uint64 // sequence number of the first record read
	Next    uint64 // the sequence number that comes next
	Head    Hash   // hash of the last record
	Time    string // of the last record
	Root    Hash   // over all records; zero after a finding, or if the chain began later
	Fits    uint64 // size of the largest of Expect that the chain fits
}

// Summary returns what was read so far.
func (v *Verifier) Summary() Summary {
	s := v.sum
	s.Fits = v.fits
	if v.began {
		s.Time = string(v.ts[:])
	}
	if v.wholeTree() {
		s.Root = v.tree.Root()
	}
	return s
}

// Resume lets the chain go on with another record than the next, after a
// finding of the caller's own.
func (v *Verifier) Resume(seq uint64) {
	v.sum.Next, v.fault, v.lost = seq, true, false
	if v.Closure != nil {
		v.Closure.Partial = true
	}
	v.heads = [2][]byte{v.heads[0][:0], v.heads[1][:0]}
}

func (v *Verifier) wholeTree() bool { return !v.fault && v.tree.Size() == v.sum.Next }

// Verify reads one file of the chain, or the next of several; file is its name
// in findings. Without Report it ends at the first bad record and returns its
// *Finding, after which the Verifier is of no more use but for its Summary. Any
// other error means that reading failed.
func (v *Verifier) Verify(file string, r io.Reader) error {
	at := Finding{File: file}
	blocks := blockReader{r: r, chainOnly: v.ChainOnly}
	defer blocks.stop()
	for {
		b, err := blocks.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		for i := range b.lines {
			if err := v.take(&at, &b.lines[i]); err != nil {
				return err
			}
		}
		blocks.recycle(b)
	}
}

// VerifyLine checks one line, newline included, as the next of the chain. at
// says where it stands; its Line and Offset move on by that line.
func (v *Verifier) VerifyLine(at *Finding, line []byte) error {
	at.Line--
	var c lineChecker
	p := parsed{size: len(line)}
	p.bad = c.check(line, v.ChainOnly, &p)
	return v.take(at, &p)
}

// take checks the next line, and goes on after it.
func (v *Verifier) take(at *Finding, p *parsed) error {
	at.Line++
	at.Seq = v.sum.Next
	e := p.bad
	switch {
	case e == nil:
		e = v.line(p)
		v.accept(p)
	case p.torn != nil && v.Torn != nil && v.Torn(v.sum.Next, p.torn):
		return nil
	default:
		v.skip(p)
	}
	if e == nil {
		e = v.inspect(at, p)
	}
	if e != nil {
		if e.Reason != ReasonClosure {
			v.fault = true
			if v.Closure != nil {
				v.Closure.Partial = true // what is missing may be what closes the rest
			}
		}
		f := at.with(e.Reason, e.Detail)
		if e.Reason == ReasonRoot {
			f.Seq = v.fits
		}
		if v.Report == nil {
			return f
		}
		v.Report(f)
	}
	at.Offset += int64(p.size)
	return nil
}

func (f *Finding) with(reason Reason, detail string) *Finding {
	g := *f
	g.Reason, g.Detail = reason, detail
	return &g
}

// line checks a line that is good by itself as the next one of the chain.
func (v *Verifier) line(p *parsed) *LineError {
	if !v.began {
		if e := v.begin(p); e != nil {
			return e
		}
	}
	v.seq = strconv.AppendUint(v.seq[:0], v.sum.Next, 10)
	if v.lost && string(p.m.seq) != string(v.seq) { // then the lost line was none of the chain
		v.seq = strconv.AppendUint(v.seq[:0], v.sum.Next-1, 10)
	}
	switch {
	case string(p.m.seq) != string(v.seq):
		return &LineError{ReasonSeq, v.gap(p)}
	case !v.follows(p.m.prev):
		return &LineError{ReasonPrevHash, "prev_hash is not the hash of the record before"}
	case (string(p.m.kind) == string(KindGenesis)) != (string(p.m.seq) == "0"):
		return &LineError{ReasonGenesis, "genesis is the first record and no other"}
	case string(p.m.ts) < string(v.ts[:]):
		return &LineError{ReasonTime, "ts is earlier than that of the record before"}
	case p.m.tenant != nil && v.sum.Tenant != "" && !sameText(p.m.tenant, v.sum.Tenant):
		return &LineError{ReasonTenant, "record is of another tenant"}
	}
	return nil
}

func (v *Verifier) follows(prev []byte) bool {
	known := false
	for _, h := range v.heads {
		if len(h) > 0 {
			known = true
			if string(prev) == string(h) {
				return true
			}
		}
	}
	return !known
}

// accept makes a line the last one. If its number is not the expected one, the
// chain goes on from there.
func (v *Verifier) accept(p *parsed) {
	v.sum.Records++
	v.sum.Bytes += int64(p.size)
	if string(p.m.seq) != string(v.seq) || v.lost {
		if n, err := strconv.ParseUint(string(p.m.seq), 10, 64); err == nil {
			v.sum.Next = n
		}
	}
	v.sum.Next++
	v.sum.Head = p.hash
	v.heads = [2][]byte{append(v.heads[0][:0], p.text[:]...), v.heads[1][:0]}
	v.lost = false
	if string(p.m.ts) > string(v.ts[:]) {
		copy(v.ts[:], p.m.ts)
	}
	if v.tree.Size()+1 == v.sum.Next {
		v.tree.Append(p.hash)
	}
}

// skip goes on after a line that is not good by itself. Where only its hash is
// wrong, either hash may be what the next line names.
func (v *Verifier) skip(p *parsed) {
	v.sum.Next++
	v.heads = [2][]byte{v.heads[0][:0], v.heads[1][:0]}
	if v.lost = p.stored == nil; !v.lost {
		v.heads[0] = append(v.heads[0], p.text[:]...)
		v.heads[1] = append(v.heads[1], p.stored...)
	}
	v.began = v.began || p.stored != nil
}

// inspect compares a record that fits the chain with what is known from
// elsewhere.
func (v *Verifier) inspect(at *Finding, p *parsed) *LineError {
	at.Seq = v.sum.Next - 1
	seq := at.Seq
	if v.Same != nil && !v.Same(seq, p.hash) {
		v.Same = nil // what follows differs for that reason
		return &LineError{ReasonJournal, "journal holds another record of this number"}
	}
	if v.Note != nil && string(p.m.kind) == string(KindCheckpoint) {
		v.Note(*at, string(unescape(unquoted(orNull(member(p.m.detail, "note"))))))
	}
	for len(v.Expect) > 0 && v.Expect[0].Size <= v.sum.Next {
		x := v.Expect[0]
		v.Expect = v.Expect[1:]
		if x.Size != v.sum.Next || !v.wholeTree() {
			continue
		}
		if v.tree.Root() != x.Root {
			return &LineError{ReasonRoot, fmt.Sprintf("records %d to %d are not those that were signed: %s", v.fits, x.Size-1, x.From)}
		}
		v.fits = x.Size
	}
	if v.Closure != nil {
		return v.Closure.add(seq, p)
	}
	return nil
}

// begin takes over what the first record fixes for the whole chain.
func (v *Verifier) begin(p *parsed) *LineError {
	var zero Hash
	if string(p.m.seq) == "0" {
		v.heads[0] = hex.AppendEncode(v.heads[0][:0], zero[:])
	}
	v.began = true
	if v.Partial {
		seq, err := strconv.ParseUint(string(p.m.seq), 10, 64)
		if err != nil {
			return &LineError{ReasonMember, "seq is not a decimal number"}
		}
		v.sum.Next = seq
		if seq > 0 {
			v.heads[0] = append(v.heads[0][:0], p.m.prev...)
		}
	}
	v.sum.First = v.sum.Next
	v.sum.Tenant = string(unescape(p.m.tenant))
	if string(p.m.kind) == string(KindGenesis) {
		v.sum.Log = string(unescape(p.m.log))
	}
	return nil
}

func (v *Verifier) gap(p *parsed) string {
	got, err := strconv.ParseUint(string(p.m.seq), 10, 64)
	switch {
	case err != nil:
		return "seq is not a decimal number"
	case got > v.sum.Next:
		return fmt.Sprintf("records %d to %d are missing: seq is %d", v.sum.Next, got-1, got)
	case got == v.sum.Next:
		return "seq is not a plain decimal number"
	default:
		return fmt.Sprintf("seq is %d, not %d", got, v.sum.Next)
	}
}

// sameText compares a raw string of an entry with a text.
func sameText(raw []byte, text string) bool {
	return string(raw) == text || string(unescape(raw)) == text
}

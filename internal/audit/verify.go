package audit

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
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

	sum   Summary
	began bool
	ts    [len(timeLayout)]byte // of the last record
	head  [hexLen]byte          // text of sum.Head
	seq   []byte                // text of sum.Next
}

// A Summary is what a Verifier has found good so far.
type Summary struct {
	Tenant  string // "" if no genesis was read
	Log     string // the chain's origin, likewise
	Records uint64
	Bytes   int64
	First   uint64 // sequence number of the first record read
	Next    uint64 // the sequence number that comes next
	Head    Hash   // hash of the last record
	Time    string // of the last record
}

// Summary returns what was found good so far.
func (v *Verifier) Summary() Summary {
	s := v.sum
	if v.began {
		s.Time = string(v.ts[:])
	}
	return s
}

// Verify reads one file of the chain, or the next of several; file is its name
// in findings. It returns a *Finding for the first bad record; any other error
// means that reading failed. After an error the Verifier is of no more use but
// for its Summary.
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
			at.Line++
			at.Seq = v.sum.Next
			if e := v.line(&b.lines[i]); e != nil {
				return at.with(e.Reason, e.Detail)
			}
			at.Offset += int64(b.lines[i].size)
		}
		if b.bad != nil {
			at.Line++
			at.Seq = v.sum.Next
			return at.with(b.bad.Reason, b.bad.Detail)
		}
		blocks.recycle(b)
	}
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
	switch {
	case string(p.m.seq) != string(v.seq):
		return &LineError{ReasonSeq, v.gap(p)}
	case string(p.m.prev) != string(v.head[:]):
		return &LineError{ReasonPrevHash, "prev_hash is not the hash of the record before"}
	case (string(p.m.kind) == string(KindGenesis)) != (v.sum.Next == 0):
		return &LineError{ReasonGenesis, "genesis is the first record and no other"}
	case string(p.m.ts) < string(v.ts[:]):
		return &LineError{ReasonTime, "ts is earlier than that of the record before"}
	case p.m.tenant != nil && v.sum.Tenant != "" && !sameText(p.m.tenant, v.sum.Tenant):
		return &LineError{ReasonTenant, "record is of another tenant"}
	}
	v.sum.Records++
	v.sum.Bytes += int64(p.size)
	v.sum.Next++
	v.sum.Head = p.hash
	v.head = p.text
	copy(v.ts[:], p.m.ts)
	return nil
}

// begin takes over what the first record fixes for the whole chain.
func (v *Verifier) begin(p *parsed) *LineError {
	hex.Encode(v.head[:], v.sum.Head[:])
	if v.Partial {
		seq, err := strconv.ParseUint(string(p.m.seq), 10, 64)
		if err != nil {
			return &LineError{ReasonMember, "seq is not a decimal number"}
		}
		v.sum.Next = seq
		if seq > 0 {
			copy(v.head[:], p.m.prev)
		}
	}
	v.began = true
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

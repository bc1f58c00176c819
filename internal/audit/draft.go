package audit

import (
	"errors"
	"strconv"
	"time"
)

// A Place is where a record stands, which is the log's to say.
type Place struct {
	Seq     uint64
	Prev    Hash // hash of the record before; zero for the first
	Time    time.Time
	Tenant  string
	Replica string
	Log     string // the chain's origin, for records of kind genesis and boot
}

// ErrNoKind says that a record does not tell what it is.
var ErrNoKind = errors.New("record has no kind")

// A Draft is a record in its encoded form that has no place yet. It shares
// nothing with the record. Its zero value is ready for Reset.
type Draft struct {
	buf []byte
	// cuts are the ends of the pieces of buf between which members of the
	// place go: log, prev_hash, replica, seq, tenant, ts and v.
	cuts [6]int
}

// Indices of Draft.cuts.
const (
	cutLog = iota
	cutPrev
	cutReplica
	cutSeq
	cutTenant
	cutTime
)

// Reset makes d the draft of a record, in the memory of what it was before.
func (d *Draft) Reset(r *Record) error {
	if r.Kind == "" {
		return ErrNoKind
	}
	e := encoder{buf: d.buf[:0]}
	e.record(r, &d.cuts)
	d.buf = e.buf
	return nil
}

// Size returns about how many bytes the line will take.
func (d *Draft) Size() int { return len(d.buf) + 400 }

// timeLayout has a fixed width, so texts compare as times do.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// AppendLine appends the record as the line at its place and returns its hash.
// Texts of the place are taken as they are: see MaxTenant.
func (d *Draft) AppendLine(dst []byte, p *Place) ([]byte, Hash) {
	start := len(dst)
	dst = append(dst, leafPrefix, '{')
	dst = append(dst, d.buf[1:d.cuts[cutLog]]...) // kind is always there
	if p.Log != "" {
		dst = appendString(append(dst, `,"log":`...), p.Log)
	}
	dst = append(dst, d.buf[d.cuts[cutLog]:d.cuts[cutPrev]]...)
	dst = append(dst, `,"prev_hash":"`...)
	dst = appendHash(dst, p.Prev)
	dst = append(dst, '"')
	dst = append(dst, d.buf[d.cuts[cutPrev]:d.cuts[cutReplica]]...)
	if p.Replica != "" {
		dst = appendString(append(dst, `,"replica":`...), p.Replica)
	}
	dst = append(dst, d.buf[d.cuts[cutReplica]:d.cuts[cutSeq]]...)
	dst = append(dst, `,"seq":"`...)
	dst = strconv.AppendUint(dst, p.Seq, 10)
	dst = append(dst, '"')
	dst = append(dst, d.buf[d.cuts[cutSeq]:d.cuts[cutTenant]]...)
	if p.Tenant != "" {
		dst = appendString(append(dst, `,"tenant":`...), p.Tenant)
	}
	dst = append(dst, d.buf[d.cuts[cutTenant]:d.cuts[cutTime]]...)
	dst = append(dst, `,"ts":"`...)
	dst = p.Time.UTC().AppendFormat(dst, timeLayout)
	dst = append(dst, `","v":1`...)
	dst = append(dst, d.buf[d.cuts[cutTime]:]...)
	dst = append(dst, '}')
	h := leafHash(dst[start:])
	copy(dst[start:], dst[start+1:])
	return appendSeal(dst[:len(dst)-1], h), h
}

// AppendLine appends a record as the line at its place and returns its hash.
// The error is ErrNoKind or nil.
func AppendLine(dst []byte, r *Record, p Place) ([]byte, Hash, error) {
	var d Draft
	if err := d.Reset(r); err != nil {
		return dst, Hash{}, err
	}
	dst, h := d.AppendLine(dst, &p)
	return dst, h, nil
}

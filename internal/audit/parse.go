package audit

import (
	"encoding/hex"
	"strconv"
	"time"
)

// A Line is what a chain needs to know of one of its lines.
type Line struct {
	Kind   Kind
	Seq    uint64
	Prev   Hash
	Hash   Hash
	Time   time.Time
	Tenant string
	Log    string
}

// A LineError says what is wrong with a line by itself.
type LineError struct {
	Reason Reason
	Detail string
}

func (e *LineError) Error() string { return e.Detail }

// ParseLine checks one line, newline included, by itself: its frame, its hash,
// its canonical form and the members that every entry has.
func ParseLine(line []byte) (Line, error) {
	var c lineChecker
	var p parsed
	if err := c.check(line, false, &p); err != nil {
		return Line{}, err
	}
	l := Line{
		Kind:   Kind(unescape(p.m.kind)),
		Hash:   p.hash,
		Tenant: string(unescape(p.m.tenant)),
		Log:    string(unescape(p.m.log)),
	}
	if len(p.m.prev) != hexLen || !isLowerHex(p.m.prev) {
		return Line{}, &LineError{ReasonMember, "prev_hash is not 64 hexadecimal digits"}
	}
	_, err := hex.Decode(l.Prev[:], p.m.prev)
	if err != nil {
		return Line{}, &LineError{ReasonMember, "prev_hash is not hexadecimal"} // impossible: checked above
	}
	if l.Seq, err = strconv.ParseUint(string(p.m.seq), 10, 64); err != nil {
		return Line{}, &LineError{ReasonMember, "seq is not a decimal number"}
	}
	if l.Time, err = time.Parse(timeLayout, string(p.m.ts)); err != nil {
		return Line{}, &LineError{ReasonMember, "ts is not a time with six decimals"}
	}
	return l, nil
}

// parsed is a line that was checked by itself.
type parsed struct {
	m      members // within the line
	hash   Hash
	text   [hexLen]byte // the hash in hexadecimal
	stored []byte       // record_hash, if it is not the hash
	size   int          // of the line, in bytes
	bad    *LineError
	torn   []byte // what there is of a last line without a newline
}

// A lineChecker checks lines one after another in the same memory.
type lineChecker struct {
	entry []byte // a byte, and a line that stands by itself
}

// check checks a line.
func (c *lineChecker) check(line []byte, chainOnly bool, p *parsed) *LineError {
	c.entry = append(append(c.entry[:0], leafPrefix), line...)
	return c.checkIn(c.entry, 1, len(c.entry), chainOnly, p)
}

// checkIn checks the line buf[start:end]. What is hashed is made in its place:
// the byte before the line is leafPrefix for that moment, and the one after the
// entry's members the closing brace. p must be zero.
func (c *lineChecker) checkIn(buf []byte, start, end int, chainOnly bool, p *parsed) *LineError {
	open, stored, ok := splitLine(buf[start:end])
	switch {
	case end-start > MaxLine || len(open) >= MaxEntry:
		return &LineError{ReasonTooLong, "line is longer than any record"}
	case !ok:
		return &LineError{ReasonFrame, "line is not an entry and its record_hash"}
	}
	p.size = end - start
	before, brace := &buf[start-1], &buf[start+len(open)]
	wasBefore, wasBrace := *before, *brace
	*before, *brace = leafPrefix, '}'
	p.hash = leafHash(buf[start-1 : start+len(open)+1])
	*before, *brace = wasBefore, wasBrace
	hex.Encode(p.text[:], p.hash[:])
	if string(p.text[:]) != string(stored) {
		p.stored = stored
		return &LineError{ReasonHash, "record_hash is not the hash of the record"}
	}
	if chainOnly {
		findMembers(open, &p.m)
	} else if !scanEntry(open, &p.m) {
		return &LineError{ReasonCanonical, "record is not JSON in canonical form"}
	}
	return p.m.check()
}

func (m *members) check() *LineError {
	switch {
	case m.v == nil:
		return &LineError{ReasonMember, "v is missing"}
	case string(m.v) != "1":
		return &LineError{ReasonVersion, "record is of another version of the format"}
	case len(m.kind) == 0:
		return &LineError{ReasonMember, "kind is missing"}
	case len(m.prev) == 0:
		return &LineError{ReasonMember, "prev_hash is missing"}
	case len(m.seq) == 0 || len(m.seq) > 20:
		return &LineError{ReasonMember, "seq is not a decimal number"}
	case !isTime(m.ts):
		return &LineError{ReasonMember, "ts is not a time with six decimals"}
	}
	return nil
}

// isTime reports whether b is a time in timeLayout. time.Parse is asked only
// about the rarest days.
func isTime(b []byte) bool {
	if len(b) != len(timeLayout) {
		return false
	}
	for i, c := range b {
		if want := timeLayout[i]; '0' <= want && want <= '9' {
			if c < '0' || c > '9' {
				return false
			}
		} else if c != want {
			return false
		}
	}
	month, day := number(b[5:7]), number(b[8:10])
	if month < 1 || month > 12 || day < 1 || number(b[11:13]) > 23 || number(b[14:16]) > 59 || number(b[17:19]) > 59 {
		return false
	}
	if day <= 28 || day <= 30 && month != 2 {
		return true
	}
	_, err := time.Parse(timeLayout, string(b))
	return err == nil
}

func number(twoDigits []byte) int { return int(twoDigits[0]-'0')*10 + int(twoDigits[1]-'0') }

func isLowerHex(b []byte) bool {
	for _, c := range b {
		if hexDigit(c) > 15 {
			return false
		}
	}
	return true
}

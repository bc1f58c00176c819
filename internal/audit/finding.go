package audit

import "fmt"

// A Reason says, for machines, what is wrong with a chain. It is stable.
type Reason string

// The reasons.
const (
	ReasonFrame     Reason = "frame"       // not a line of a chain
	ReasonTooLong   Reason = "too_long"    // longer than MaxLine, or its entry than MaxEntry
	ReasonTorn      Reason = "torn"        // the last line ends without a newline
	ReasonHash      Reason = "record_hash" // the record is not what was hashed
	ReasonCanonical Reason = "canonical"   // not JSON, or not in its canonical form
	ReasonVersion   Reason = "version"     // another version of the format
	ReasonMember    Reason = "member"      // a member is missing or malformed
	ReasonSeq       Reason = "seq"         // not the sequence number that follows
	ReasonPrevHash  Reason = "prev_hash"   // not the hash of the record before
	ReasonTime      Reason = "ts"          // earlier than the record before
	ReasonGenesis   Reason = "genesis"     // the first record is no genesis, or another one is
	ReasonTenant    Reason = "tenant"      // a record of another tenant
	ReasonSegment   Reason = "segment"     // a file does not hold what its name says

	ReasonRoot      Reason = "root"      // not the records that were signed
	ReasonTruncated Reason = "truncated" // shorter than what was signed or published
	ReasonReplaced  Reason = "replaced"  // another chain, or another log, than the signed one
	ReasonSignature Reason = "signature" // a checkpoint that the log's key did not sign
	ReasonClosure   Reason = "closure"   // a held call, or an outcome, that does not add up
	ReasonJournal   Reason = "journal"   // journal and tenant's file tell different things
	ReasonFile      Reason = "file"      // a file or directory that is not what it should be
	ReasonEmpty     Reason = "empty"     // a chain without records
)

// A Finding names something that is wrong, by the record where it shows. It
// quotes nothing of that record.
//
//nolint:errname // a finding is a result first; that it travels as an error comes second
type Finding struct {
	File   string `json:"file"`
	Line   int64  `json:"line"`   // in the file, from 1; 0 if it is about the whole of it
	Offset int64  `json:"offset"` // of the line in the file, in bytes
	Seq    uint64 `json:"seq"`    // the sequence number that belongs here
	Reason Reason `json:"reason"`
	Detail string `json:"detail"`
}

// Error returns "FILE:LINE: record SEQ: DETAIL", or "FILE: DETAIL".
func (f *Finding) Error() string {
	if f.Line == 0 {
		return f.File + ": " + f.Detail
	}
	return fmt.Sprintf("%s:%d: record %d: %s", f.File, f.Line, f.Seq, f.Detail)
}

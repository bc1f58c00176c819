// Package layout names what the directory of an audit log holds, for package
// store, which makes it, and package auditor, which verifies it.
package layout

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strconv"
	"strings"
)

// The names in a log's directory.
const (
	Lock       = "LOCK"
	Format     = "FORMAT" // holds one of the texts below
	Keys       = "keys"
	Tenants    = "t" // a directory for each tenant, named by TenantID
	Journal    = "journal"
	Quarantine = "quarantine"
	Reserve    = "reserve"
	Probe      = "probe"
	Info       = "log.json" // whose log it is, and how its signatures are checked
	Anchor     = "anchor"   // what was signed
)

// The names in Anchor.
const (
	AnchorNote = "checkpoint"  // the last signed one of the anchor's chain
	Heads      = "heads.jsonl" // the last signed ones of all chains
)

// The names in a tenant's directory.
const (
	Chain = "log" // the segments of its chain
	State = "state"
)

// Next is the name in the journal of a segment that is being made.
const Next = "next"

// The texts of Format.
const (
	V2 = "hookpolicy audit v2\n"
	V1 = "hookpolicy audit v1\n" // without a journal
)

// AnchorTenant is the tenant of the chain whose records are the checkpoints of
// all others.
const AnchorTenant = "_anchor"

const (
	segmentSuffix = ".jsonl"
	segmentDigits = 20
)

// TenantID returns the name of a tenant's directory: no name can lead out of
// the log.
func TenantID(tenant string) string {
	h := sha256.Sum256([]byte(tenant))
	return strings.ToLower(base32.StdEncoding.EncodeToString(h[:10]))
}

// Digits writes a number as the names of segments do.
func Digits(n uint64) string { return fmt.Sprintf("%0*d", segmentDigits, n) }

// Segment returns the name of the segment that begins with a number.
func Segment(first uint64) string {
	return Digits(first) + segmentSuffix
}

// ParseSegment returns the number that a segment's name says; false for any
// other name.
func ParseSegment(name string) (first uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok || len(digits) != segmentDigits {
		return 0, false
	}
	first, err := strconv.ParseUint(digits, 10, 64)
	return first, err == nil
}

// Package store keeps audit chains in files.
//
// A Log is one directory, owned by one process at a time:
//
//	LOCK                       held with flock while a Log is open, as is the directory itself
//	FORMAT                     the version of this layout
//	keys/commitment.key        secret of Commitment; made once, at random
//	journal/                   the newest records of all tenants, in the order of commits
//	    <first_lsn>.jsonl      its segments, named by the number of their first line, 20 digits
//	    next                   the segment that is being made
//	t/<tenant_id>/log/         one chain per tenant
//	    <first_seq>.jsonl      its segments, named by their first sequence number, 20 digits
//	t/<tenant_id>/state        where the chain stood at the last checkpoint of the journal
//	quarantine/                bytes that recovery cut off; never deleted by us
//	    *.torn.new             those that no record has named yet
//	reserve                    8 MiB that are freed to write the last records on a full disk
//	probe                      what Ready writes to see whether space is back
//
// tenant_id is the lower-case base32 of the first ten bytes of the SHA-256 of
// the tenant's name, so no name can lead out of the directory. A chain is its
// segments in order; the next segment goes on where the last one ended.
//
// # The journal
//
// The journal holds the very lines that go into the tenants' files, and nothing
// else. The lines of one commit stand together, those of one tenant in order. A
// line has a number of its own there (LSN), contiguous from 0; a segment holds
// the lines from the one in its name to the one before the next segment's name,
// and what follows those in it, if anything, was never acknowledged.
//
// A tenant's files get their lines after the journal, and without being synced.
// A checkpoint of the journal makes them durable: it begins a new segment,
// syncs the files of all tenants with lines in the one before, writes their
// states, and then removes that segment. So a chain is what its files hold, and
// after a crash also the lines in the journal that follow them.
//
// # Durability
//
// Append returns once the record is on disk. One goroutine gathers what is
// waiting into a batch and places it in the chains, while another one writes
// the batch before: one write and one fdatasync a batch, for any number of
// tenants. There is no timer: a batch is what came while the last one was being
// written.
//
// If a write or an fdatasync of the journal fails, that segment is never
// written or synced again, because the kernel may have dropped what it could
// not write: the batch goes into a new segment, which is on disk, its name
// included, before the batch is acknowledged. If that fails too, those who
// waited get ErrUnavailable, the sequence numbers are given again, and nothing
// that was acknowledged is touched; each later batch begins with a new segment.
//
// # Recovery
//
// Opening a log reads the journal, which is bounded, and brings the files of
// the tenants that have lines in it up to date. No other chain is read before
// its tenant is first used, and then only its end. What follows the last good
// line of the journal is torn if it was never acknowledged: it is copied to
// quarantine/, cut off, and named in the next record of each chain that goes on
// (boot; genesis if nothing was there). Damage that no crash explains is
// ErrCorrupt: of the journal, the log does not open; of one chain, the chain
// takes no more records. Repair is the way out, and it leaves a record of kind
// gap.
package store

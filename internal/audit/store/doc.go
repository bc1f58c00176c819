// Package store keeps audit chains in files.
//
// A Log is one directory, owned by one process at a time:
//
//	LOCK                       held with flock while a Log is open
//	FORMAT                     the version of this layout
//	keys/commitment.key        secret of Commitment; made once, at random
//	t/<tenant_id>/log/         one chain per tenant
//	    <first_seq>.jsonl      its segments, named by their first sequence number, 20 digits
//	quarantine/                bytes that recovery cut off; never deleted by us
//	probe                      what Ready writes to see whether space is back
//
// tenant_id is the lower-case base32 of the first ten bytes of the SHA-256 of
// the tenant's name, so no name can lead out of the directory. A chain is its
// segments in order; the next segment goes on where the last one ended.
//
// # Durability
//
// Append returns once the record is on disk. One goroutine gathers what is
// waiting into a batch and places it in the chains, while another one writes
// the batch before: one write and one fdatasync for each file of the batch.
// There is no timer: a batch is what came while the last one was being written.
//
// If a write fails, the file is cut back to its last durable byte and used
// again later. If an fdatasync fails, that file is only cut back and never
// written again, because the kernel may have dropped what it could not write:
// the chain goes on in a new segment. Either way those who waited get ErrUnavailable, the sequence
// numbers are given again, and nothing that was acknowledged is touched.
//
// # Recovery
//
// Nothing is read until a tenant is first used, and then only the end of its
// chain. What follows the last good line there, if it holds no good line
// itself, is torn: it was never acknowledged. It is copied to quarantine/, cut
// off, and named in the chain's next record, of kind boot (genesis if nothing
// was left). Anything else that is wrong there makes the chain corrupt: it is
// left as it is and takes no more records.
package store

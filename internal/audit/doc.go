// Package audit is the format of the audit chain: records, their canonical
// bytes, their hashes and their verification. It does no I/O; package
// audit/store keeps chains in files.
//
// # The format, version 1
//
// A chain is a sequence of lines, one record a line. With ENTRY the record as
// one JSON object in the canonical form of RFC 8785 (JCS),
//
//	record_hash = hex(SHA-256(0x00 || ENTRY))
//	LINE        = ENTRY without its last byte + `,"record_hash":"` + record_hash + `"}` + "\n"
//
// so that a line is JSON too, its hash stands at a fixed distance from its end,
// and the hash is the leaf hash of RFC 6962. An entry takes at most MaxEntry
// bytes, a line at most MaxLine.
//
// Every entry has these members:
//
//	v          1, the version of the format
//	kind       what the record tells of: genesis, boot, policy, decision, …;
//	           a reader takes kinds that it does not know for records of the log
//	seq        place in the chain, a decimal string, contiguous from "0"
//	prev_hash  record_hash of the record before; 64 zeros in the first
//	ts         UTC, RFC 3339 with exactly six decimals, never decreasing
//
// The first record, and no other, is of kind genesis and names the chain (log)
// and the tenant. Members that a record does not need are left out:
//
//	tenant, replica  whose chain it is and which process wrote it
//	log              the chain's origin, in genesis and boot
//	id, req_id       the decision's id; the caller's own id of the call
//	ref              {id, seq} of the decision that this record belongs to
//	agent, session, tool
//	decision, reason, hook, rules, would, mode, repeat, risk
//	policy           digest of the compiled chain
//	policy_ref       namespace/name@generation of the policy
//	args, new_args   the arguments, redacted, and what a rewrite made of them
//	args_digest      keyed hash of the arguments as they were
//	redacted         [{ptr, how, c}]: what was taken out of args, and a keyed
//	                 hash of each
//	facts            what each hook found
//	approval         {id, state, user, via, reason, replica, wait_ms}; replica is the one that holds
//	                 the call, if that is another one
//	outcome          {status, digest, error, dur_ms}
//	lat_us           how long the decision took, in microseconds
//	detail           what a record of the log about itself has to say
//
// # What does not fit
//
// No record is lost because something in it cannot be written.
//
//   - A part that is larger than its bound (MaxArgs and the others) is left out
//     and a member `<part>_omitted` gives its size in bytes, or, for redacted
//     and rules, how many there were. All bounds together stay below MaxEntry.
//   - A text that is too long is cut, and says so at its end.
//   - A number whose text is not what RFC 8785 would write for it, such as
//     9007199254740993, 1.0 or -0, is written {"$number":"9007199254740993"}.
//     Nothing is rounded.
//   - A value that JSON has no form for is written {"$unsupported":"<its type>"}.
//   - An object of the call that has one of these two forms itself is written
//     {"$object":{…}}, so that no argument can pass for one of them.
//   - Bytes that are not UTF-8 are written as U+FFFD.
//
// # Verification
//
// A Verifier reads lines and stops at the first that does not fit. By default
// it is strict: besides hashes, sequence and time it demands that each entry is
// the canonical form of a JSON object, which excludes duplicate member names
// and invalid UTF-8. A chain proves that nothing inside it was changed, removed
// or added; that its end was not cut off is for checkpoints to prove.
package audit

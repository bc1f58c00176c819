// Package audit is the format of the audit chain: records, their hashes and
// their verification. It does no I/O; package audit/store keeps chains in files.
package audit

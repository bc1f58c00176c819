// Package checkpoint is what a log signs: how many records it has, and the root
// of the tree over them. It does no I/O; package audit/store decides what to
// sign and when.
//
// # The tree
//
// The tree over a log is that of RFC 6962, section 2.1: leaves are the records'
// hashes (package audit), inner nodes are SHA-256(0x01 || left || right). A Tree
// keeps of it what further appends and the root need, the roots of its perfect
// subtrees: at most 48 hashes, whatever its size. In text it is
//
//	SIZE " " HASHES
//
// with SIZE in decimal and HASHES the base64 of those roots, the largest
// subtree first; for the empty tree "0 ".
//
// # Checkpoints
//
// A checkpoint is a signed note (c2sp.org/signed-note) of three lines
// (c2sp.org/tlog-checkpoint): the log's origin, its size in decimal, and the
// root in base64. There are no further lines. It is signed with Ed25519 by the
// one key of a replica, whose name is the replica's own origin and stands in
// log.json; so a key's name is not each log's origin, as that specification
// recommends.
//
// # The order of trust
//
// anchored ≤ signed ≤ durable ≤ written, for every log and at all times. Only
// what is on the disk is signed, so a log that is shorter than what was signed
// was cut: no crash explains it. A Watermark holds a log to that order.
package checkpoint

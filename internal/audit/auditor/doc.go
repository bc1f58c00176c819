// Package auditor verifies audit logs in files. It shares the format with what
// writes them (packages audit and checkpoint) and nothing else: what it knows
// of the layout of a directory is written down here once more.
//
// Of a log's directory it checks
//
//   - every chain: each record's own hash and form, its number, time and the
//     hash of the one before (package audit), in the tenant's files and in the
//     journal, which must agree;
//   - what was signed: the checkpoints in anchor/ and in the records of the
//     anchor's chain are signed by the log's key, and the chains fit them;
//   - what was published: the checkpoints of an anchor file, if it is given,
//     are those of this log, and the log still holds all that they cover;
//   - closure: held calls are decided once, outcomes name decisions;
//   - that nothing stands where a file or directory of the log should be that
//     is none: a link, a pipe, a file that no chain knows.
//
// Without an anchor file the log's key is taken from its own directory. That
// finds what somebody without the key did; whoever has the key can sign a log
// of his own, and only an anchor that is kept elsewhere tells it from the true
// one.
//
// A log in use can be verified: what is read first is what was signed, which is
// older than what is read after it. A chain that seems to contradict its
// journal is read once more.
package auditor

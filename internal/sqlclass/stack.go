package sqlclass

import (
	"fmt"
	"syscall"
)

// The parser's C code runs on the stacks of threads that Go starts. Their size
// is the soft limit on the stack when the process starts; without a limit the
// C library takes 2 MiB.
const (
	unlimitedStack = 2 << 20
	// stackPerLevel is what one level of an expression takes of the stack, in
	// bytes, at most: measured for every construct that nests.
	stackPerLevel = 360
	// parserStack holds twice what the deepest text takes that checkDepth lets
	// pass.
	parserStack = 2 * maxDepth * stackPerLevel
	// stackPerMessage is what the writer of texts takes for one level of
	// messages in the tree, in bytes: 960 were measured, for every construct
	// alike, for unpacking takes the most.
	stackPerMessage = 1000
	// maxWriteDepth bounds the tree that is written out, so that half of that
	// stack is left.
	maxWriteDepth = parserStack / 2 / stackPerMessage
)

// checkStack fails when the process's threads have too little stack for the
// deepest text that may be parsed.
func checkStack() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_STACK, &limit); err != nil {
		return fmt.Errorf("read the stack limit: %w", err)
	}
	size := limit.Cur
	if size > 1<<40 { // no limit
		size = unlimitedStack
	}
	if size < parserStack {
		return fmt.Errorf("the stack limit is %d bytes: the SQL parser needs %d (ulimit -s)", size, parserStack)
	}
	return nil
}

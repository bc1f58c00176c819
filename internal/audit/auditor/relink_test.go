package auditor_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/audit"
)

// relink gives the lines from one on the numbers and hashes that make a chain
// of them.
func relink(tb testing.TB, lines [][]byte, from int) [][]byte {
	tb.Helper()
	prev := strings.Repeat("0", 64)
	for i, line := range lines {
		if i >= from {
			open := line[:bytes.LastIndex(line, []byte(`,"record_hash"`))]
			open = replaceMember(open, "prev_hash", prev)
			open = replaceMember(open, "seq", strconv.Itoa(i))
			line, _ = audit.AppendSealed(nil, append(bytes.Clone(open), '}'))
			lines[i] = line
		}
		prev = string(line[len(line)-67 : len(line)-3])
	}
	return lines
}

func replaceMember(open []byte, name, value string) []byte {
	key := []byte(`,"` + name + `":"`)
	i := bytes.LastIndex(open, key)
	j := i + len(key)
	end := j + bytes.IndexByte(open[j:], '"')
	return append(append(bytes.Clone(open[:j]), value...), open[end:]...)
}

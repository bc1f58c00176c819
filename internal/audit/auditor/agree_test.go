package auditor_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/auditor"
)

// second is the verifier in another language.
const second = "../../../hack/verify"

// python returns the interpreter; without one the comparison is left out,
// unless HOOKPOLICY_PYTHON is "required".
func python(tb testing.TB) string {
	tb.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("HOOKPOLICY_PYTHON") == "required" {
			tb.Fatal(err)
		}
		tb.Skip("there is no python3 to compare with")
	}
	return path
}

// A comparison is one command line of both verifiers, and what the first found.
type comparison struct {
	name  string
	args  []string // of the second
	first []string
}

// compared returns what the first verifier says, but for closure, which the
// second one leaves out.
func compared(tb testing.TB, name, path string, anchors ...string) comparison {
	tb.Helper()
	r, err := auditor.Verify(path, auditor.Options{Anchors: anchors})
	if err != nil {
		tb.Fatal(err)
	}
	c := comparison{name: name, first: []string{}}
	for _, f := range r.All() {
		if f.Reason != audit.ReasonClosure {
			c.first = append(c.first, fmt.Sprintf("%s %s:%d record %d", f.Reason, f.File, f.Line, f.Seq))
		}
	}
	for _, a := range anchors {
		c.args = append(c.args, "--anchor", a)
	}
	c.args = append(c.args, path)
	slices.Sort(c.first)
	return c
}

// manyRuns runs the second verifier for each line of its input, in one process.
const manyRuns = `import json, sys
sys.path.insert(0, sys.argv[1])
import verify
for line in sys.stdin:
    verify.findings.clear()
    verify.main(json.loads(line))
    print("=")`

func secondFinds(tb testing.TB, all []comparison) [][]string {
	tb.Helper()
	var in bytes.Buffer
	for _, c := range all {
		if err := json.NewEncoder(&in).Encode(c.args); err != nil {
			tb.Fatal(err)
		}
	}
	var errs bytes.Buffer
	cmd := exec.CommandContext(tb.Context(), python(tb), "-B", "-c", manyRuns, second)
	cmd.Stdin, cmd.Stderr = &in, &errs
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("the second verifier fails: %v\n%s", err, errs.String())
	}
	var found [][]string
	for part := range strings.SplitSeq(strings.TrimSuffix(string(out), "=\n"), "=\n") {
		lines := slices.Sorted(strings.Lines(part))
		for i := range lines {
			lines[i] = strings.TrimSuffix(lines[i], "\n")
		}
		found = append(found, append([]string{}, lines...))
	}
	if len(found) != len(all) {
		tb.Fatalf("%d answers to %d questions", len(found), len(all))
	}
	return found
}

func TestBothVerifiersAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	changes := map[string]func(t *testing.T, l *log){
		"nothing":        func(*testing.T, *log) {},
		"segments":       func(_ *testing.T, l *log) { split(l) },
		"older copy":     func(t *testing.T, l *log) { t.Helper(); rollBack(t, l) },
		"another log":    func(t *testing.T, l *log) { t.Helper(); replaceBy(t, l, "two") },
		"stolen key":     func(t *testing.T, l *log) { t.Helper(); rewriteEnd(t, l) },
		"cut":            func(_ *testing.T, l *log) { cutChain(l, 3) },
		"all gone":       func(t *testing.T, l *log) { t.Helper(); remove(t, l.path("t")) },
		"one gone":       func(t *testing.T, l *log) { t.Helper(); remove(t, l.path("t/"+auditor.TenantID(acme))) },
		"no description": func(t *testing.T, l *log) { t.Helper(); remove(t, l.path("log.json")) },
		"no heads":       func(t *testing.T, l *log) { t.Helper(); remove(t, l.path("anchor/heads.jsonl")) },
		"bad signature": func(t *testing.T, l *log) {
			t.Helper()
			b := read(t, l.path("anchor/checkpoint"))
			b[len(b)-20] ^= 1
			l.write("anchor/checkpoint", b)
		},
		"renamed": func(t *testing.T, l *log) {
			t.Helper()
			moveAway(t, l.path(segment(acme, 0)), func(from, to string) error { return os.Rename(to, from+".bak") })
		},
		"linked": func(t *testing.T, l *log) {
			t.Helper()
			moveAway(t, l.path(segment(acme, 0)), func(from, to string) error { return os.Symlink(to, from) })
		},
		"journal": func(_ *testing.T, l *log) {
			cutChain(l, 4)
			l.write("journal/00000000000000000000.jsonl", bytes.Join(l.chains[acme].lines[9:], nil))
		},
		"contradicting journal": func(t *testing.T, l *log) {
			t.Helper()
			l.write("journal/00000000000000000000.jsonl", bytes.Join(forge(t, 6, "not")(slices.Clone(l.chains[acme].lines))[6:], nil))
		},
		"swapped segments": func(t *testing.T, l *log) {
			t.Helper()
			split(l)
			a, b := read(t, l.path(segment(acme, 6))), read(t, l.path(segment(acme, 13)))
			l.write(segment(acme, 6), b)
			l.write(segment(acme, 13), a)
		},
		"missing segment": func(t *testing.T, l *log) {
			t.Helper()
			split(l)
			remove(t, l.path(segment(acme, 6)))
		},
		"torn": func(t *testing.T, l *log) {
			t.Helper()
			b := read(t, l.path(segment(acme, 0)))
			l.write(segment(acme, 0), b[:len(b)-9])
		},
	}
	for i := range 40 {
		changes[fmt.Sprintf("random %d", i)] = func(_ *testing.T, l *log) {
			l.write(segment(acme, 0), mangle(random, l.chains[acme].lines))
		}
	}
	all := []comparison{compared(t, "golden", filepath.Join("testdata", "v2", "audit"), filepath.Join("testdata", "v2", "anchors.jsonl"))}
	for name, change := range changes {
		l := whole(t)
		change(t, l)
		all = append(all, compared(t, name, l.dir), compared(t, name+", with anchors", l.dir, l.file))
		if isThere(l.path(segment(acme, 0))) {
			all = append(all, compared(t, name+", one file", l.path(segment(acme, 0))))
		}
	}
	for i, found := range secondFinds(t, all) {
		if diff := cmp.Diff(all[i].first, found); diff != "" {
			t.Errorf("%s: the two verifiers differ (-first +second):\n%s", all[i].name, diff)
		}
	}
}

func isThere(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// mangle changes a chain in one to three places.
func mangle(r *rand.Rand, lines [][]byte) []byte {
	lines = slices.Clone(lines)
	for range 1 + r.IntN(3) {
		i, j := r.IntN(len(lines)), r.IntN(len(lines))
		switch r.IntN(7) {
		case 0:
			lines = slices.Delete(lines, i, i+1)
		case 1:
			lines = slices.Insert(lines, j, lines[i])
		case 2:
			lines[i], lines[j] = lines[j], lines[i]
		case 3:
			lines[i] = bytes.Clone(lines[i])
			lines[i][r.IntN(len(lines[i])-1)] ^= 1 << r.IntN(8)
		case 4:
			lines = slices.Insert(lines, i, []byte("garbage\n"))
		case 5:
			lines[i] = append(bytes.Clone(lines[i][:len(lines[i])-1]), "\r\n"...)
		case 6:
			open := lines[i][:bytes.LastIndex(lines[i], []byte(`,"record_hash"`))]
			lines[i], _ = audit.AppendSealed(nil, append(replaceMember(open, "seq", strconv.Itoa(j)), '}'))
		}
	}
	return bytes.Join(lines, nil)
}

// T28: what two readers of JSON could understand differently. Each case is one
// line whose hash is right.
func TestBothVerifiersTakeTheSameEntries(t *testing.T) {
	count := 10_000
	if testing.Short() {
		count = 2_000
	}
	random := rand.New(rand.NewPCG(3, 4))
	var in bytes.Buffer
	var want []string
	for i := range count {
		line, _ := audit.AppendSealed(nil, entryCase(random, i))
		if bytes.IndexByte(line, '\n') != len(line)-1 {
			continue // two lines
		}
		in.Write(line)
		want = append(want, reasonFor(line))
	}
	driver := `import sys, threading
sys.path.insert(0, sys.argv[1])
import verify
sys.setrecursionlimit(1 << 20)
threading.stack_size(1 << 29)
t = threading.Thread(target=lambda: [print(verify.check(l)[0] or "") for l in verify.lines_of(sys.stdin.buffer.read())])
t.start(); t.join()`
	cmd := exec.CommandContext(t.Context(), python(t), "-B", "-c", driver, second)
	cmd.Stdin = bytes.NewReader(in.Bytes())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(got) != len(want) {
		t.Fatalf("%d answers to %d cases", len(got), len(want))
	}
	good := 0
	for i, line := range slices.Collect(bytes.Lines(in.Bytes())) {
		if want[i] == "" {
			good++
		}
		if got[i] != want[i] {
			t.Errorf("%q is %q for the first verifier, %q for the second", line, want[i], got[i])
		}
	}
	if good < len(want)/20 || good > len(want)*19/20 {
		t.Errorf("%d of %d cases are good: they say little", good, len(want))
	}
}

// reasonFor is what the first verifier says of a line by itself.
func reasonFor(line []byte) (reason string) {
	v := audit.Verifier{Report: func(f *audit.Finding) {
		switch f.Reason {
		case audit.ReasonFrame, audit.ReasonTooLong, audit.ReasonHash, audit.ReasonCanonical, audit.ReasonVersion, audit.ReasonMember:
			reason = string(f.Reason)
		}
	}}
	_ = v.VerifyLine(&audit.Finding{Line: 1}, line) // with Report it returns nothing
	return reason
}

// pieces are values that are easily read in two ways.
var pieces = []string{
	`0`, `-0`, `1`, `1.0`, `1e0`, `10`, `1e1`, `9007199254740991`, `9007199254740993`, `1e400`, `-1e400`, `1e21`, `1e+21`, `100000000000000000000`, `1e-6`, `0.000001`, `1e-7`,
	`5e-324`, `1.7976931348623157e+308`, `0.1`, `0.10`, `.5`, `5.`, `01`, `+1`, `NaN`, `Infinity`, `-Infinity`, `333333333.3333333`, `4.35`, `123456789012345680000`,
	`""`, `"\u0000"`, `"\u001f"`, `"\u001F"`, `"\u0008"`, `"\b"`, `"\/"`, `"/"`, `"\u0041"`, `"\ud83d\ude00"`, `"😀"`, `"\ud800"`, "\"\xed\xa0\x80\"", "\"\xff\"", "\"\x7f\"", "\"\t\"", `"\t"`, "\"\u2028\"",
	`"e\u0301"`, "\"e\u0301\"", "\"\u00e9\"", `"\\"`, `"\""`, `'a'`, `true`, `True`, `null`, `nul`, `[]`, `[1,2]`, `[1, 2]`, `[1,]`, `{}`, `{"a":1,"a":1}`, `{"a":1,"b":2}`, `{"b":1,"a":2}`,
	"{\"\ue000\":1,\"\U00010000\":2}", "{\"\U00010000\":1,\"\ue000\":2}", `{"a":{"b":[{"c":null}]}}`, `{"a":1}x`, `"a" `, "\ufeff1", `{"":1}`, `{"":1,"":1}`, `-`, `--1`, `1e`, `1e+`, `0x1`, `1_000`,
}

// entryCase is an entry of one strange value, or of a random change.
func entryCase(r *rand.Rand, i int) []byte {
	value := pieces[i%len(pieces)]
	switch r.IntN(8) {
	case 0:
		value = "[" + value + "," + pieces[r.IntN(len(pieces))] + "]"
	case 1:
		value = `{"x":` + value + `}`
	case 2:
		b, err := json.Marshal(r.NormFloat64() * 1e10)
		if err == nil {
			value = string(b)
		}
	case 3:
		value = strconv.FormatFloat(r.ExpFloat64(), "efg"[r.IntN(3)], r.IntN(20)-1, 64)
	case 4:
		value = strings.Repeat("[", 1+r.IntN(3000)) + value
		value += strings.Repeat("]", strings.Count(value, "["))
	}
	entry := []byte(`{"args":` + value + `,"kind":"decision","prev_hash":"` + strings.Repeat("0", 64) +
		`","seq":"7","tenant":"a/b","ts":"2026-08-30T12:00:00.000000Z","v":1}`)
	if r.IntN(3) == 0 {
		entry[1+r.IntN(len(entry)-2)] = byte(r.IntN(256))
	}
	return entry
}

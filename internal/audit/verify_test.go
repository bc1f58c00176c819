package audit_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit"
)

// chainOf makes a chain of n records with one a second.
func chainOf(tb testing.TB, n int) (lines [][]byte) {
	tb.Helper()
	p := audit.Place{Time: goldenTime, Tenant: "acme/p", Replica: "r0", Log: "origin"}
	for i := range n {
		r := decisionRecord()
		r.ID = fmt.Sprintf("id-%d", i)
		if i == 0 {
			r = &audit.Record{Kind: audit.KindGenesis}
		} else {
			p.Log = ""
		}
		line, h, err := audit.AppendLine(nil, r, p)
		if err != nil {
			tb.Fatal(err)
		}
		lines = append(lines, line)
		p.Seq, p.Prev, p.Time = p.Seq+1, h, p.Time.Add(time.Second)
	}
	return lines
}

func decisionRecord() *audit.Record {
	return &audit.Record{
		Kind: audit.KindDecision, ID: "0198f3a2-7b1c-7d2e-9f3a-1b2c3d4e5f60", ReqID: "call_8a7b6c5d",
		Agent: "customer-a/etl-agent", Session: "sess-1234", Tool: "db_query_sql", Decision: "AskUser",
		Reason: "sql.destructive", Hook: "no-accidents", Rules: []string{"sql.class.destructive"}, Risk: "High",
		Policy:  "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		PolicyN: "customer-a/customer-a@7", ArgsDigest: strings.Repeat("ab", 32), LatencyMicros: 184,
		Args: map[string]any{"sql": "UPDATE accounts SET frozen = true WHERE id = 7", "read_only": false},
		Facts: map[string]any{"no-accidents": map[string]any{
			"statements": []any{"UpdateStmt"}, "tables": []any{"accounts"}, "where": true,
		}},
	}
}

func verify(lines [][]byte) error {
	var v audit.Verifier
	return v.Verify("f.jsonl", bytes.NewReader(bytes.Join(lines, nil)))
}

// reseal gives a line the hash of its entry after a change to it.
func reseal(line []byte, from, to string) []byte {
	open := line[:bytes.LastIndex(line, []byte(`,"record_hash"`))]
	entry := append(bytes.Replace(open, []byte(from), []byte(to), 1), '}')
	out, _ := audit.AppendSealed(nil, entry)
	return out
}

func TestTheFirstBadRecordIsNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(l [][]byte) [][]byte
		line   int64
		seq    uint64
		reason audit.Reason
	}{
		"a changed byte": {func(l [][]byte) [][]byte {
			l[5] = bytes.Replace(l[5], []byte("AskUser"), []byte("Allow!!"), 1)
			return l
		}, 6, 5, audit.ReasonHash},
		"a changed hash": {func(l [][]byte) [][]byte {
			l[5][len(l[5])-5] ^= 1
			return l
		}, 6, 5, audit.ReasonHash},
		"a record rewritten with its hash": {func(l [][]byte) [][]byte {
			l[5] = reseal(l[5], "AskUser", "Allow!!")
			return l
		}, 7, 6, audit.ReasonPrevHash},
		"a record removed":     {func(l [][]byte) [][]byte { return append(l[:4:4], l[5:]...) }, 5, 4, audit.ReasonSeq},
		"a record twice":       {func(l [][]byte) [][]byte { return append(l[:5:5], l[4:]...) }, 6, 5, audit.ReasonSeq},
		"neighbours swapped":   {func(l [][]byte) [][]byte { l[3], l[4] = l[4], l[3]; return l }, 4, 3, audit.ReasonSeq},
		"the genesis removed":  {func(l [][]byte) [][]byte { return l[1:] }, 1, 0, audit.ReasonSeq},
		"a second genesis":     {func(l [][]byte) [][]byte { l[5] = reseal(l[5], `"decision","lat`, `"genesis","lat`); return l }, 6, 5, audit.ReasonGenesis},
		"no genesis":           {func(l [][]byte) [][]byte { l[0] = reseal(l[0], "genesis", "decision"); return l }, 1, 0, audit.ReasonGenesis},
		"a torn last line":     {func(l [][]byte) [][]byte { l[9] = l[9][:40]; return l }, 10, 9, audit.ReasonTorn},
		"a missing newline":    {func(l [][]byte) [][]byte { l[9] = l[9][:len(l[9])-1]; return l }, 10, 9, audit.ReasonTorn},
		"CRLF":                 {func(l [][]byte) [][]byte { l[2] = append(l[2][:len(l[2])-1], "\r\n"...); return l }, 3, 2, audit.ReasonFrame},
		"an empty line":        {func(l [][]byte) [][]byte { l[2] = append([]byte("\n"), l[2]...); return l }, 3, 2, audit.ReasonFrame},
		"bytes after the line": {func(l [][]byte) [][]byte { l[2] = append(l[2][:len(l[2])-1], " \n"...); return l }, 3, 2, audit.ReasonFrame},
		"zeros at the end":     {func(l [][]byte) [][]byte { return append(l, make([]byte, 512)) }, 11, 10, audit.ReasonTorn},
		"a line without end":   {func(l [][]byte) [][]byte { return append(l, bytes.Repeat([]byte("x"), 1<<20)) }, 11, 10, audit.ReasonTooLong},
		"an entry too long": {func(l [][]byte) [][]byte {
			l[2] = reseal(l[2], "AskUser", strings.Repeat("x", audit.MaxEntry))
			return l
		}, 3, 2, audit.ReasonTooLong},
		"another version":       {func(l [][]byte) [][]byte { l[2] = reseal(l[2], `"v":1`, `"v":2`); return l }, 3, 2, audit.ReasonVersion},
		"version as a text":     {func(l [][]byte) [][]byte { l[2] = reseal(l[2], `"v":1`, `"v":"1"`); return l }, 3, 2, audit.ReasonVersion},
		"no version":            {func(l [][]byte) [][]byte { l[2] = reseal(l[2], `,"v":1`, ``); return l }, 3, 2, audit.ReasonMember},
		"a number for seq":      {func(l [][]byte) [][]byte { l[2] = reseal(l[2], `"seq":"2"`, `"seq":2`); return l }, 3, 2, audit.ReasonMember},
		"a zero before seq":     {func(l [][]byte) [][]byte { l[2] = reseal(l[2], `"seq":"2"`, `"seq":"02"`); return l }, 3, 2, audit.ReasonSeq},
		"a day that is none":    {func(l [][]byte) [][]byte { l[2] = reseal(l[2], `2026-08-30T`, `2026-08-32T`); return l }, 3, 2, audit.ReasonMember},
		"time going back":       {func(l [][]byte) [][]byte { l[2] = reseal(l[2], `2026-08-30T`, `2025-08-30T`); return l }, 3, 2, audit.ReasonTime},
		"another tenant":        {func(l [][]byte) [][]byte { l[2] = reseal(l[2], `acme/p`, `evil/p`); return l }, 3, 2, audit.ReasonTenant},
		"a member twice":        {func(l [][]byte) [][]byte { l[2] = reseal(l[2], `"v":1`, `"v":1,"v":1`); return l }, 3, 2, audit.ReasonCanonical},
		"members out of order":  {func(l [][]byte) [][]byte { l[2] = reseal(l[2], `"v":1`, `"v":1,"a":1`); return l }, 3, 2, audit.ReasonCanonical},
		"white space":           {func(l [][]byte) [][]byte { l[2] = reseal(l[2], `"v":1`, `"v": 1`); return l }, 3, 2, audit.ReasonCanonical},
		"bytes that are no UTF": {func(l [][]byte) [][]byte { l[2] = reseal(l[2], `AskUser`, "AskU\xffer"); return l }, 3, 2, audit.ReasonCanonical},
		"a number not in form":  {func(l [][]byte) [][]byte { l[2] = reseal(l[2], `"lat_us":184`, `"lat_us":184.0`); return l }, 3, 2, audit.ReasonCanonical},
	} {
		t.Run(name, func(t *testing.T) {
			err := verify(tc.change(chainOf(t, 10)))
			f, ok := errors.AsType[*audit.Finding](err)
			if !ok {
				t.Fatalf("error is %v", err)
			}
			if f.Line != tc.line || f.Seq != tc.seq || f.Reason != tc.reason || f.File != "f.jsonl" {
				t.Errorf("finding is %+v", f)
			}
		})
	}
}

func TestEveryFlippedBitIsFound(t *testing.T) {
	chain := []byte(goldenChain)
	for _, chainOnly := range []bool{false, true} {
		for i := range len(chain) * 8 {
			chain[i/8] ^= 1 << (i % 8)
			v := audit.Verifier{ChainOnly: chainOnly}
			if v.Verify("f", bytes.NewReader(chain)) == nil {
				t.Fatalf("bit %d of byte %d is missed (chain only: %t)", i%8, i/8, chainOnly)
			}
			chain[i/8] ^= 1 << (i % 8)
		}
	}
}

func TestAChainContinuesInTheNextFile(t *testing.T) {
	lines := chainOf(t, 6)
	var v audit.Verifier
	for i, part := range [][][]byte{lines[:2], lines[2:2], lines[2:]} {
		if err := v.Verify(fmt.Sprint(i), bytes.NewReader(bytes.Join(part, nil))); err != nil {
			t.Fatal(err)
		}
	}
	s := v.Summary()
	if s.Records != 6 || s.First != 0 || s.Next != 6 || s.Tenant != "acme/p" || s.Log != "origin" || s.Time != "2026-08-30T12:00:05.123456Z" {
		t.Errorf("summary is %+v", s)
	}
}

func TestAMissingFileIsAGap(t *testing.T) {
	lines := chainOf(t, 6)
	err := verify(append(lines[:2:2], lines[4:]...))
	if err == nil || err.Error() != "f.jsonl:3: record 2: records 2 to 3 are missing: seq is 4" {
		t.Errorf("error is %v", err)
	}
}

func TestAPartialChainBeginsAnywhere(t *testing.T) {
	lines := chainOf(t, 6)
	v := audit.Verifier{Partial: true}
	if err := v.Verify("f", bytes.NewReader(bytes.Join(lines[3:], nil))); err != nil {
		t.Fatal(err)
	}
	if s := v.Summary(); s.First != 3 || s.Next != 6 || s.Records != 3 {
		t.Errorf("summary is %+v", s)
	}
}

func TestAFailingReaderIsNoFinding(t *testing.T) {
	var v audit.Verifier
	err := v.Verify("f", io.MultiReader(strings.NewReader(goldenChain), iotest.ErrReader(io.ErrClosedPipe)))
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error is %v", err)
	}
}

func FuzzTimesAreThoseOfTheStandardLibrary(f *testing.F) {
	for _, text := range []string{"2026-02-29T00:00:00.000000Z", "2024-02-29T23:59:59.999999Z", "2026-13-01T00:00:00.000000Z", "2026-01-01T24:00:00.000000Z"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := time.Parse(time.RFC3339Nano, text)
		want := err == nil && parsed.Format("2006-01-02T15:04:05.000000Z") == text
		if got := audit.IsTime(text); got != want {
			t.Errorf("%q is a time: %t, want %t", text, got, want)
		}
	})
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte(goldenChain), 100, byte(1))
	f.Add(bytes.Join(chainOf(f, 3), nil), 700, byte(0))
	f.Fuzz(func(t *testing.T, chain []byte, at int, with byte) {
		if len(chain) > 0 {
			chain[uint(at)%uint(len(chain))] ^= with
		}
		var strict audit.Verifier
		fast := audit.Verifier{ChainOnly: true}
		err := strict.Verify("f", bytes.NewReader(chain))
		if fastErr := fast.Verify("f", bytes.NewReader(chain)); err == nil && fastErr != nil {
			t.Errorf("strict accepts what chain only refuses: %v", fastErr)
		}
		for line := range bytes.Lines(chain) {
			_, _ = audit.ParseLine(line) // must not panic
		}
	})
}

func TestLongChainsAreCheckedInOrder(t *testing.T) {
	lines := chainOf(t, 5000) // many blocks
	chain := bytes.Join(lines, nil)
	var v audit.Verifier
	if err := v.Verify("f", iotest.HalfReader(bytes.NewReader(chain))); err != nil {
		t.Fatal(err)
	}
	if s := v.Summary(); s.Records != 5000 || s.Bytes != int64(len(chain)) {
		t.Errorf("summary is %+v", s)
	}
	// Of several bad records it is the first that is named, though a later
	// block may be checked before.
	for _, i := range []int{4900, 2100, 2099, 700} {
		lines[i] = bytes.Replace(lines[i], []byte("AskUser"), []byte("Allow!!"), 1)
		err := verify(lines)
		f, ok := errors.AsType[*audit.Finding](err)
		if !ok || f.Line != int64(i+1) || f.Seq != uint64(i) || f.Offset != int64(len(bytes.Join(lines[:i], nil))) {
			t.Errorf("record %d: finding is %+v", i, f)
		}
	}
}

package audit_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// members encodes a record, checks that it stands as the first of a chain, and
// returns its members.
func members(t *testing.T, r *audit.Record) map[string]any {
	t.Helper()
	r.Kind = audit.KindGenesis
	line, _, err := audit.AppendLine(nil, r, audit.Place{
		Time: goldenTime, Tenant: strings.Repeat("\x01", audit.MaxTenant), Replica: "r0", Log: "o",
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(line) > audit.MaxEntry {
		t.Errorf("line takes %d bytes", len(line))
	}
	var v audit.Verifier
	if err := v.Verify("one", strings.NewReader(string(line))); err != nil {
		t.Fatalf("record does not verify: %v", err)
	}
	m, err := strictjson.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	return m.(map[string]any)
}

func TestArgumentsAboveTheBoundAreLeftOutWithTheirSize(t *testing.T) {
	m := members(t, &audit.Record{
		Args:       map[string]any{"s": strings.Repeat("x", audit.MaxArgs)},
		ArgsDigest: "d", NewArgs: map[string]any{"s": strings.Repeat("x", audit.MaxArgs-len(`{"s":""}`))},
	})
	if m["args"] != nil || m["args_omitted"] != json.Number("4104") || m["args_digest"] != "d" {
		t.Errorf("args %v, omitted %v, digest %v", m["args"], m["args_omitted"], m["args_digest"])
	}
	if m["new_args"] == nil || m["new_args_omitted"] != nil {
		t.Error("arguments of exactly the bound are left out")
	}
}

func TestTheLargestRecordStillFits(t *testing.T) {
	// Control characters take six bytes each.
	long := strings.Repeat("\x01", 1<<20)
	big := func(limit int) map[string]any {
		return map[string]any{"s": strings.Repeat("x", limit-len(`{"s":""}`))}
	}
	r := &audit.Record{
		ID: long, ReqID: long, Ref: &audit.Ref{ID: long, Seq: 1<<64 - 1}, Agent: long, Session: long, Tool: long,
		Decision: long, Reason: long, Hook: long, Would: long, Mode: long, Risk: long, Policy: long, PolicyN: long,
		Rules: []string{strings.Repeat("r", 400), strings.Repeat("r", 400), strings.Repeat("r", 400), strings.Repeat("r", 400)},
		Args:  big(audit.MaxArgs), ArgsDigest: long, NewArgs: big(audit.MaxArgs), Facts: big(audit.MaxFacts), Extra: big(audit.MaxDetail),
		Redacted:      []audit.Redaction{{Pointer: strings.Repeat("p", audit.MaxRedacted-60), How: "key", Commitment: "c"}},
		Approval:      &audit.ApprovalStep{ID: long, State: long, User: long, Via: long, Reason: long, WaitMs: 1 << 62},
		Outcome:       &audit.OutcomeClaim{Status: long, ResultDigest: long, Error: long, DurationMs: -1 << 63},
		LatencyMicros: 1<<63 - 1, Repeat: true,
	}
	m := members(t, r)
	for name := range m {
		if strings.HasSuffix(name, "_omitted") {
			t.Errorf("%s: a part of its bound is left out", name)
		}
	}
	if tool := m["tool"].(string); !strings.HasSuffix(tool, "… (cut from 1048576 bytes)") {
		t.Errorf("a long tool name ends in %q", tool[len(tool)-40:])
	}
}

func TestPartsAboveTheirBoundsAreCounted(t *testing.T) {
	r := &audit.Record{
		Rules:    make([]string, 2000),
		Redacted: make([]audit.Redaction, 10_000),
		Facts:    map[string]any{"s": strings.Repeat("x", audit.MaxFacts)},
		Extra:    map[string]any{"s": strings.Repeat("x", audit.MaxDetail)},
	}
	for i := range r.Redacted {
		r.Redacted[i].Pointer = "/password"
	}
	m := members(t, r)
	for name, want := range map[string]json.Number{
		"rules_omitted": "2000", "redacted_omitted": "10000", "facts_omitted": "12296", "detail_omitted": "4104",
	} {
		if m[name] != want {
			t.Errorf("%s is %v, want %s", name, m[name], want)
		}
	}
}

func TestWhatJSONCannotHoldIsStillRecorded(t *testing.T) {
	args := map[string]any{
		"f": func() {}, "m": map[string]any{"\xff": 1, "\xfe": 2}, "n": json.Number("1e400"), "x": json.Number("no"), "s": "\xff",
	}
	want := `{"f":{"$unsupported":"func()"},"m":{"$unsupported":"member name that is not UTF-8"},` +
		`"n":{"$number":"1e400"},"s":"\uFFFD","x":{"$number":"no"}}`
	if got := string(audit.AppendCanonical(nil, args)); got != strings.ReplaceAll(want, `\uFFFD`, "\uFFFD") {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if m := members(t, &audit.Record{Tool: "a\xffb\xed\xa0\x80", Args: args}); m["tool"] != "a\uFFFDb\uFFFD\uFFFD\uFFFD" {
		t.Errorf("tool is %q", m["tool"])
	}
}

func FuzzEveryRecordVerifies(f *testing.F) {
	f.Add("tool", "session", "reason", int64(3), []byte(`{"a":[1,-0,1e400,"\u0000"]}`))
	f.Add("\xff", strings.Repeat("\x00", 3000), "\u2028", int64(-1), []byte(`{"$number":"1"}`))
	f.Fuzz(func(t *testing.T, tool, session, reason string, n int64, doc []byte) {
		r := &audit.Record{
			Tool: tool, Session: session, Reason: reason, LatencyMicros: n, Rules: []string{tool, session},
			Redacted: []audit.Redaction{{Pointer: tool, How: session}}, Outcome: &audit.OutcomeClaim{Error: reason},
		}
		if v, err := strictjson.Parse(doc); err == nil {
			r.Args = v
		}
		members(t, r)
	})
}

package audit_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// goldenChain was computed independently of this package, in two languages.
const goldenChain = `{"kind":"genesis","log":"audit.example/acme/r0","prev_hash":"0000000000000000000000000000000000000000000000000000000000000000","seq":"0","ts":"2026-08-30T12:00:00.000000Z","v":1,"record_hash":"7f746dea06409eb04009cbb52cff5b4de0ae50bd7f30b6186e3249717a70cad7"}
{"decision":"deny","kind":"decision","prev_hash":"7f746dea06409eb04009cbb52cff5b4de0ae50bd7f30b6186e3249717a70cad7","seq":"1","tool":"postgres.query","ts":"2026-08-30T12:00:01.000000Z","v":1,"record_hash":"ee43ddeba5495bbb767b63070b487ad19059f68bbdef1d98616e0655b8a6358e"}
{"kind":"outcome","of":"1","outcome":"blocked","prev_hash":"ee43ddeba5495bbb767b63070b487ad19059f68bbdef1d98616e0655b8a6358e","seq":"2","ts":"2026-08-30T12:00:02.000000Z","v":1,"record_hash":"555694a41eb825daeb4f8083b92c05630668251033ed1946889bca8ca096dfa6"}
`

func TestEntriesOfTheGoldenVectorSealToItsLines(t *testing.T) {
	for line := range strings.Lines(goldenChain) {
		v, err := strictjson.Parse([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		entry := v.(map[string]any)
		want := entry["record_hash"]
		delete(entry, "record_hash")
		got, hash := audit.AppendSealed(nil, audit.AppendCanonical(nil, entry))
		if diff := cmp.Diff(line, string(got)); diff != "" {
			t.Errorf("line differs (-want +got):\n%s", diff)
		}
		if hash.String() != want {
			t.Errorf("hash is %s, want %s", hash, want)
		}
	}
}

func TestTheGoldenVectorVerifies(t *testing.T) {
	for _, chainOnly := range []bool{false, true} {
		v := audit.Verifier{ChainOnly: chainOnly}
		if err := v.Verify("golden", strings.NewReader(goldenChain)); err != nil {
			t.Fatal(err)
		}
		s := v.Summary()
		if s.Records != 3 || s.Next != 3 || s.Log != "audit.example/acme/r0" ||
			s.Head.String() != "555694a41eb825daeb4f8083b92c05630668251033ed1946889bca8ca096dfa6" {
			t.Errorf("summary is %+v", s)
		}
	}
}

var goldenTime = time.Date(2026, 8, 30, 12, 0, 0, 123456789, time.UTC)

func TestEveryFieldOfARecordHasItsMember(t *testing.T) {
	want := `{"agent":"acme/etl","approval":{"id":"ap1","reason":"fine","state":"Approved","user":"ann","via":"unix-socket","wait_ms":17},` +
		`"args":{"limit":{"$number":"1.0"},"sql":"SELECT 1"},"args_digest":"d1","decision":"AskUser","detail":{"x":true},` +
		`"facts":{"sql":{"class":"read"}},"hook":"sql","id":"01","kind":"decision","lat_us":42,"log":"o","mode":"DryRun",` +
		`"new_args":{"sql":"SELECT 2"},"outcome":{"digest":"rd","dur_ms":9,"error":"boom","status":"error"},` +
		`"policy":"sha256:00","policy_ref":"acme/p@3","prev_hash":"0000000000000000000000000000000000000000000000000000000000000000",` +
		`"reason":"sql.destructive","redacted":[{"c":"cc","how":"key","ptr":"/password"}],"ref":{"id":"00","seq":"9"},"repeat":true,` +
		`"replica":"r0","req_id":"call-1","risk":"High","rules":["a","b"],"seq":"7","session":"s","tenant":"acme/p","tool":"db",` +
		`"ts":"2026-08-30T12:00:00.123456Z","v":1,"would":"Deny","record_hash":"`
	line, hash, err := audit.AppendLine(nil, fullRecord(), audit.Place{
		Seq: 7, Time: goldenTime, Tenant: "acme/p", Replica: "r0", Log: "o",
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want+hash.String()+"\"}\n", string(line)); diff != "" {
		t.Errorf("line differs (-want +got):\n%s", diff)
	}
	if _, err := audit.ParseLine(line); err != nil {
		t.Errorf("line does not parse: %v", err)
	}
}

func TestARecordWithoutKindIsRefused(t *testing.T) {
	if _, _, err := audit.AppendLine(nil, &audit.Record{}, audit.Place{}); !errors.Is(err, audit.ErrNoKind) {
		t.Errorf("error is %v", err)
	}
}

func fullRecord() *audit.Record {
	return &audit.Record{
		Kind: audit.KindDecision, ID: "01", ReqID: "call-1", Ref: &audit.Ref{ID: "00", Seq: 9},
		Agent: "acme/etl", Session: "s", Tool: "db",
		Decision: "AskUser", Reason: "sql.destructive", Hook: "sql", Rules: []string{"a", "b"},
		Would: "Deny", Mode: "DryRun", Repeat: true, Risk: "High", Policy: "sha256:00", PolicyN: "acme/p@3",
		Args: parsed(`{"sql":"SELECT 1","limit":1.0}`), ArgsDigest: "d1", NewArgs: parsed(`{"sql":"SELECT 2"}`),
		Redacted: []audit.Redaction{{Pointer: "/password", How: "key", Commitment: "cc"}},
		Facts:    parsed(`{"sql":{"class":"read"}}`).(map[string]any),
		Approval: &audit.ApprovalStep{ID: "ap1", State: "Approved", User: "ann", Via: "unix-socket", Reason: "fine", WaitMs: 17},
		Outcome:  &audit.OutcomeClaim{Status: "error", ResultDigest: "rd", Error: "boom", DurationMs: 9},
		Extra:    map[string]any{"x": true}, LatencyMicros: 42,
	}
}

func parsed(doc string) any {
	v, err := strictjson.Parse([]byte(doc))
	if err != nil {
		panic(err)
	}
	return v
}

func TestTheDraftSharesNothingWithItsRecord(t *testing.T) {
	r := fullRecord()
	var d audit.Draft
	if err := d.Reset(r); err != nil {
		t.Fatal(err)
	}
	p := audit.Place{Time: goldenTime}
	before, _ := d.AppendLine(nil, &p)
	r.Args.(map[string]any)["sql"] = "changed"
	r.Rules[0] = "changed"
	if after, _ := d.AppendLine(nil, &p); !bytes.Equal(before, after) {
		t.Errorf("draft follows its record: %s", after)
	}
}

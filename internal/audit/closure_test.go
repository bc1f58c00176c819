package audit_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/audit"
)

// A story is a chain of records, one a minute, and what closure says of it.
func closureOf(tb testing.TB, records ...*audit.Record) (audit.ClosureSummary, []audit.Finding) {
	tb.Helper()
	p := audit.Place{Time: time.Date(2026, 8, 30, 12, 0, 0, 0, time.UTC), Tenant: "acme/p", Log: "o"}
	var chain []byte
	for _, r := range append([]*audit.Record{{Kind: audit.KindGenesis}}, records...) {
		var err error
		if chain, p.Prev, err = audit.AppendLine(chain, r, p); err != nil {
			tb.Fatal(err)
		}
		p.Seq, p.Time = p.Seq+1, p.Time.Add(time.Minute)
	}
	var all []audit.Finding
	var c audit.Closure
	v := audit.Verifier{Closure: &c, Report: func(f *audit.Finding) { all = append(all, *f) }}
	if err := v.Verify("f", bytes.NewReader(chain)); err != nil {
		tb.Fatal(err)
	}
	sum, late := c.End("f")
	for _, f := range late {
		all = append(all, *f)
	}
	return sum, all
}

func step(id, state string) *audit.Record {
	kind := audit.KindApproval
	if state == "TimedOut" {
		kind = audit.KindTimeout
	}
	r := &audit.Record{Kind: kind, Approval: &audit.ApprovalStep{ID: id, State: state}}
	if state == "Held" {
		r.Extra = map[string]any{"decide_by": "2026-08-30T12:05:00Z"}
	}
	return r
}

func ask(id, approval string) *audit.Record {
	return &audit.Record{Kind: audit.KindDecision, ID: id, Decision: "AskUser", Approval: &audit.ApprovalStep{ID: approval, State: "Pending"}}
}

func allow(id string) *audit.Record {
	return &audit.Record{Kind: audit.KindDecision, ID: id, Decision: "Allow"}
}

func outcome(id string, seq uint64) *audit.Record {
	return &audit.Record{Kind: audit.KindOutcome, Ref: &audit.Ref{ID: id, Seq: seq}, Outcome: &audit.OutcomeClaim{Status: "ok"}}
}

func of(r *audit.Record, id string, seq uint64) *audit.Record {
	r.Ref = &audit.Ref{ID: id, Seq: seq}
	return r
}

func elsewhere(r *audit.Record) *audit.Record {
	r.Approval.Replica = "replica-1"
	return r
}

// T35: every held call ends in exactly one way.
func TestWhatWasBegunEndsOnce(t *testing.T) {
	beat := &audit.Record{Kind: audit.KindHeartbeat}
	for name, tc := range map[string]struct {
		records []*audit.Record
		says    string // "": nothing is wrong
		seq     uint64
		sum     audit.ClosureSummary
	}{
		"approved and used": {
			[]*audit.Record{step("a", "Held"), ask("d", "a"), step("a", "Voted"), of(step("a", "Approved"), "d", 2), step("a", "Used"), allow("e"), outcome("e", 6)},
			"", 0, audit.ClosureSummary{Decisions: 2, Asked: 1, Approved: 1, Outcomes: 1},
		},
		"rejected": {[]*audit.Record{step("a", "Held"), ask("d", "a"), step("a", "Rejected")}, "", 0, audit.ClosureSummary{Decisions: 1, Asked: 1, Rejected: 1}},
		"timed out, and asked again": {
			[]*audit.Record{step("a", "Held"), ask("d", "a"), step("a", "TimedOut"), step("b", "Held"), ask("e", "b")},
			"", 0, audit.ClosureSummary{Decisions: 2, Asked: 2, TimedOut: 1, Open: 1},
		},
		"voided":               {[]*audit.Record{step("a", "Held"), step("a", "Voided")}, "", 0, audit.ClosureSummary{Asked: 1, Voided: 1}},
		"approved and expired": {[]*audit.Record{step("a", "Held"), step("a", "Approved"), step("a", "Expired")}, "", 0, audit.ClosureSummary{Asked: 1, Approved: 1}},
		"open in its time":     {[]*audit.Record{step("a", "Held"), beat, beat}, "", 0, audit.ClosureSummary{Asked: 1, Open: 1}},
		"forgotten by a restart": {
			[]*audit.Record{step("a", "Held"), {Kind: audit.KindBoot}, beat, beat, beat, beat, beat, beat},
			"", 0, audit.ClosureSummary{Asked: 1, Forgotten: 1},
		},
		"allowed without an outcome is unknown": {[]*audit.Record{allow("a"), allow("b"), outcome("a", 1)}, "", 0, audit.ClosureSummary{Decisions: 2, Outcomes: 1, Unknown: 1}},
		"a retry is no second call": {
			[]*audit.Record{allow("a"), {Kind: audit.KindDecision, ID: "b", Decision: "Allow", Repeat: true}},
			"", 0, audit.ClosureSummary{Decisions: 2, Unknown: 1},
		},
		"an unverified outcome":                 {[]*audit.Record{{Kind: audit.KindOutcome, Outcome: &audit.OutcomeClaim{Status: "ok"}}}, "", 0, audit.ClosureSummary{Unverified: 1}},
		"used, and held by another replica":     {[]*audit.Record{step("a", "Used")}, "", 0, audit.ClosureSummary{}},
		"approved, and held by another replica": {[]*audit.Record{step("a", "Approved")}, "", 0, audit.ClosureSummary{}},

		"over time without an end": {[]*audit.Record{step("a", "Held"), beat, beat, beat, beat, beat, beat, beat, beat}, "its time is over", 1, audit.ClosureSummary{Asked: 1}},
		"approved twice":           {[]*audit.Record{step("a", "Held"), step("a", "Approved"), step("a", "Approved")}, "was Approved before", 3, audit.ClosureSummary{Asked: 1, Approved: 1}},
		"approved after the time-out": {
			[]*audit.Record{step("a", "Held"), step("a", "TimedOut"), step("a", "Approved")},
			"was TimedOut before", 3, audit.ClosureSummary{Asked: 1, TimedOut: 1},
		},
		"rejected after the approval": {[]*audit.Record{step("a", "Held"), step("a", "Approved"), step("a", "Rejected")}, "was Approved before", 3, audit.ClosureSummary{Asked: 1, Approved: 1}},
		"a vote after the end":        {[]*audit.Record{step("a", "Held"), step("a", "Rejected"), step("a", "Voted")}, "was Rejected before", 3, audit.ClosureSummary{Asked: 1, Rejected: 1}},
		"used without an approval":    {[]*audit.Record{step("a", "Held"), step("a", "Used")}, "never approved", 2, audit.ClosureSummary{Asked: 1, Open: 1}},
		"used after the time-out":     {[]*audit.Record{step("a", "Held"), step("a", "TimedOut"), step("a", "Used")}, "never approved", 3, audit.ClosureSummary{Asked: 1, TimedOut: 1}},
		"used twice": {
			[]*audit.Record{step("a", "Held"), step("a", "Approved"), step("a", "Used"), step("a", "Used")},
			"was Used before", 4, audit.ClosureSummary{Asked: 1, Approved: 1},
		},
		"held twice":              {[]*audit.Record{step("a", "Held"), step("a", "Held")}, "second time", 2, audit.ClosureSummary{Asked: 1, Open: 1}},
		"approved, never held":    {[]*audit.Record{allow("d"), of(step("a", "Approved"), "d", 1)}, "never held", 2, audit.ClosureSummary{Decisions: 1, Unknown: 1}},
		"held by another replica": {[]*audit.Record{elsewhere(ask("d", "a")), elsewhere(of(step("a", "Approved"), "x", 7)), elsewhere(step("a", "Used"))}, "", 0, audit.ClosureSummary{Decisions: 1}},
		"asked, never held":       {[]*audit.Record{ask("d", "a")}, "never held", 1, audit.ClosureSummary{Decisions: 1}},
		"of another decision":     {[]*audit.Record{step("a", "Held"), ask("d", "a"), of(step("a", "Approved"), "x", 2)}, "not in the chain", 3, audit.ClosureSummary{Decisions: 1, Asked: 1, Open: 1}},
		"a time-out that is none": {[]*audit.Record{step("a", "Held"), {Kind: audit.KindTimeout, Approval: &audit.ApprovalStep{ID: "a", State: "Approved"}}}, "do not go together", 2, audit.ClosureSummary{Asked: 1, Open: 1}},
		"an outcome of nothing":   {[]*audit.Record{allow("a"), outcome("a", 7)}, "not in the chain", 2, audit.ClosureSummary{Decisions: 1, Unknown: 1}},
		"an outcome of no decision": {
			[]*audit.Record{beat, outcome("", 1)},
			"not in the chain", 2, audit.ClosureSummary{},
		},
		"an outcome twice": {[]*audit.Record{allow("a"), outcome("a", 1), outcome("a", 1)}, "second outcome", 3, audit.ClosureSummary{Decisions: 1, Outcomes: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			sum, all := closureOf(t, tc.records...)
			if diff := cmp.Diff(tc.sum, sum); diff != "" && tc.says != "its time is over" {
				t.Errorf("summary differs (-want +got):\n%s", diff)
			}
			switch {
			case tc.says == "" && len(all) > 0:
				t.Errorf("findings are %v", all)
			case tc.says != "" && (len(all) != 1 || all[0].Reason != audit.ReasonClosure || all[0].Seq != tc.seq || !strings.Contains(all[0].Detail, tc.says)):
				t.Errorf("findings are %+v", all)
			}
		})
	}
}

func TestOutcomesOfDecisionsLongAgoAreNotDoubted(t *testing.T) {
	records := []*audit.Record{allow("a")}
	sum, all := closureOf(t, append(records, outcome("a", 1))...)
	if len(all) > 0 || sum.Outcomes != 1 || sum.Unknown != 0 {
		t.Errorf("%+v %v", sum, all)
	}
}

// FuzzClosure: whatever a chain holds, its closure counts each call at most once.
func FuzzClosure(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	states := []string{"Held", "Voted", "Approved", "Rejected", "TimedOut", "Used", "Expired", "Voided"}
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 200 {
			return
		}
		var records []*audit.Record
		for i, b := range script {
			id := string('a' + rune(b>>5))
			switch n := int(b & 31); {
			case n < len(states):
				records = append(records, step(id, states[n]))
			case n == 8:
				records = append(records, ask(id, id))
			case n == 9:
				records = append(records, allow(id))
			case n == 10:
				records = append(records, outcome(id, uint64(i)))
			case n == 11:
				records = append(records, &audit.Record{Kind: audit.KindBoot})
			default:
				records = append(records, of(step(id, "Approved"), id, uint64(b)))
			}
		}
		s, _ := closureOf(t, records...)
		if s.Approved+s.Rejected+s.TimedOut+s.Voided+s.Open+s.Forgotten > s.Asked || s.Unknown > s.Decisions {
			t.Errorf("summary is %+v", s)
		}
	})
}

package auditor_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/auditor"
)

func shown(tb testing.TB, t *auditor.Tail) (seqs []string) {
	tb.Helper()
	last := ""
	if err := t.Read(func(e *auditor.Entry) error {
		if e.Time < last {
			tb.Errorf("record %s of %s comes too late", e.Seq, e.Tenant)
		}
		last = e.Time
		seqs = append(seqs, e.Seq)
		return nil
	}); err != nil {
		tb.Fatal(err)
	}
	return seqs
}

func TestATailShowsEveryRecordOnceInOrder(t *testing.T) {
	l := whole(t)
	split(l)
	all, one := auditor.NewTail(l.dir, ""), auditor.NewTail(l.dir, acme)
	if n := len(shown(t, all)); n != 22 {
		t.Errorf("%d records", n)
	}
	if n := len(shown(t, one)); n != 20 {
		t.Errorf("%d records of one tenant", n)
	}
	if n := len(shown(t, all)); n != 0 {
		t.Errorf("%d records a second time", n)
	}
	c := l.add(acme, &audit.Record{Kind: audit.KindDecision, Decision: "Deny", Tool: "db"}, &audit.Record{Kind: audit.KindHeartbeat})
	lines := c.lines[len(c.lines)-2:]
	l.appendTo(l.path(segment(acme, 13)), append(bytes.Clone(lines[0]), lines[1][:50]...))
	if got := shown(t, all); strings.Join(got, " ") != "20" {
		t.Errorf("shown is %v", got)
	}
	l.appendTo(l.path(segment(acme, 13)), lines[1][50:])
	l.add("third/policy")
	l.write(segment("third/policy", 0), bytes.Join(l.chains["third/policy"].lines, nil))
	if got := shown(t, all); strings.Join(got, " ") != "21 0" {
		t.Errorf("shown is %v", got)
	}
}

func TestFilters(t *testing.T) {
	e := auditor.Entry{Decision: "Deny", Tool: "db_query", Kind: "decision", Time: "2026-08-30T12:00:00.000000Z"}
	for _, tc := range []struct {
		decision, tool, kind, since string
		want                        bool
	}{
		{want: true},
		{decision: "Deny", tool: "db_*", kind: "decision", since: "2026-08-30T12:00:00", want: true},
		{decision: "Allow"},
		{tool: "db"},
		{kind: "outcome"},
		{since: "2026-08-30T12:00:01"},
	} {
		if got := e.Matches(tc.decision, tc.tool, tc.kind, tc.since); got != tc.want {
			t.Errorf("%+v: %t", tc, got)
		}
	}
}

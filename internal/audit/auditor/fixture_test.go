package auditor_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/auditor"
	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
)

// A log is a directory of a log that was written by hand, as package store
// would write it.
type log struct {
	tb     testing.TB
	dir    string
	file   string // the anchor file, elsewhere
	key    *checkpoint.Key
	now    time.Time
	chains map[string]*chain
	order  []string
}

// A chain is one tenant's, in memory.
type chain struct {
	tenant string
	origin string
	place  audit.Place
	lines  [][]byte
	hashes []audit.Hash
}

func newLog(tb testing.TB, seed string) *log {
	tb.Helper()
	sum := sha256.Sum256([]byte(seed))
	key, err := checkpoint.NewKey(fmt.Sprintf("hookpolicy.dev/log/%x", sum[:16]), sum)
	if err != nil {
		tb.Fatal(err)
	}
	l := &log{
		tb: tb, dir: filepath.Join(tb.TempDir(), "audit"), file: filepath.Join(tb.TempDir(), "anchors.jsonl"), key: key,
		now: time.Date(2026, 8, 30, 12, 0, 0, 0, time.UTC), chains: make(map[string]*chain),
	}
	l.write("FORMAT", []byte("hookpolicy audit v2\n"))
	info, err := json.Marshal(map[string]any{"log": filepath.Base(key.Name()), "origin": key.Name(), "vkeys": []string{key.Verifier()}})
	if err != nil {
		tb.Fatal(err)
	}
	l.write("log.json", append(info, '\n'))
	l.write("anchor/heads.jsonl", nil)
	return l
}

func (l *log) path(name string) string { return filepath.Join(l.dir, filepath.FromSlash(name)) }

func (l *log) write(name string, data []byte) {
	l.tb.Helper()
	if err := os.MkdirAll(filepath.Dir(l.path(name)), 0o700); err != nil {
		l.tb.Fatal(err)
	}
	if err := os.WriteFile(l.path(name), data, 0o600); err != nil {
		l.tb.Fatal(err)
	}
}

func (l *log) appendTo(path string, data []byte) {
	l.tb.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		l.tb.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		l.tb.Fatal(err)
	}
}

func (l *log) chain(tenant string) *chain {
	l.tb.Helper()
	c := l.chains[tenant]
	if c == nil {
		c = &chain{tenant: tenant, origin: "hookpolicy.dev/" + auditor.TenantID(tenant) + "/00112233445566778899aabbccddeeff"}
		l.chains[tenant] = c
		l.order = append(l.order, tenant)
		l.add(tenant, &audit.Record{Kind: audit.KindGenesis})
	}
	return c
}

// add appends records to a chain, in memory, one a second.
func (l *log) add(tenant string, records ...*audit.Record) *chain {
	l.tb.Helper()
	c := l.chain(tenant)
	for _, r := range records {
		c.place.Time, c.place.Tenant, c.place.Replica, c.place.Log = l.now, tenant, "r0", ""
		if r.Kind == audit.KindGenesis || r.Kind == audit.KindBoot {
			c.place.Log = c.origin
		}
		l.now = l.now.Add(time.Second)
		line, h, err := audit.AppendLine(nil, r, c.place)
		if err != nil {
			l.tb.Fatal(err)
		}
		c.place.Seq, c.place.Prev = c.place.Seq+1, h
		c.lines, c.hashes = append(c.lines, line), append(c.hashes, h)
	}
	return c
}

func (c *chain) checkpoint(size int) checkpoint.Checkpoint {
	var tree checkpoint.Tree
	for _, h := range c.hashes[:size] {
		tree.Append(h)
	}
	return checkpoint.Checkpoint{Origin: c.origin, Size: tree.Size(), Root: tree.Root()}
}

func (l *log) note(c *chain) string {
	l.tb.Helper()
	signed, err := l.key.Sign(c.checkpoint(len(c.hashes)))
	if err != nil {
		l.tb.Fatal(err)
	}
	return string(signed)
}

// sign signs all chains as they are, and publishes that.
func (l *log) sign() {
	l.tb.Helper()
	a := &checkpoint.Anchor{Version: 1, Log: filepath.Base(l.key.Name()), Time: l.now, Keys: []string{l.key.Verifier()}}
	for _, tenant := range l.order {
		if tenant == auditor.AnchorTenant {
			continue
		}
		c := l.chains[tenant]
		note := l.note(c)
		l.head(c, note)
		a.Tenants = append(a.Tenants, note)
		l.add(auditor.AnchorTenant, &audit.Record{Kind: audit.KindCheckpoint, Extra: map[string]any{"note": note}})
	}
	anchor := l.chain(auditor.AnchorTenant)
	a.Checkpoint = l.note(anchor)
	l.head(anchor, a.Checkpoint)
	l.write("anchor/checkpoint", []byte(a.Checkpoint))
	line, err := a.AppendLine(nil)
	if err != nil {
		l.tb.Fatal(err)
	}
	l.appendTo(l.file, line)
}

func (l *log) head(c *chain, note string) {
	l.tb.Helper()
	var tree checkpoint.Tree
	for _, h := range c.hashes {
		tree.Append(h)
	}
	b, err := json.Marshal(map[string]any{"id": auditor.TenantID(c.tenant), "note": note, "tree": &tree})
	if err != nil {
		l.tb.Fatal(err)
	}
	l.appendTo(l.path("anchor/heads.jsonl"), append(b, '\n'))
}

// save writes all chains into their tenants' files.
func (l *log) save() {
	l.tb.Helper()
	for _, c := range l.chains {
		l.write(segment(c.tenant, 0), bytes.Join(c.lines, nil))
	}
}

func segment(tenant string, first int) string {
	return fmt.Sprintf("t/%s/log/%020d.jsonl", auditor.TenantID(tenant), first)
}

// acme is the tenant of most tests.
const acme = "acme/policy"

// whole makes a log of two tenants with all kinds of record, signed twice.
func whole(tb testing.TB) *log {
	tb.Helper()
	l := newLog(tb, "one")
	l.add(acme, life()...)
	l.add("other/policy", &audit.Record{Kind: audit.KindDecision, ID: "o1", Decision: "Deny"})
	l.chain(auditor.AnchorTenant)
	l.add(auditor.AnchorTenant, &audit.Record{Kind: audit.KindKey, Extra: map[string]any{"vkeys": []any{l.key.Verifier()}}})
	l.sign()
	l.add(acme, &audit.Record{Kind: audit.KindDecision, ID: "late", Decision: "Allow"}, &audit.Record{Kind: audit.KindHeartbeat})
	l.sign()
	l.save()
	return l
}

// life is the records of a chain after its genesis: one of each kind at least.
func life() []*audit.Record {
	step := func(kind audit.Kind, id, state string, ref *audit.Ref) *audit.Record {
		return &audit.Record{Kind: kind, Ref: ref, Approval: &audit.ApprovalStep{ID: id, State: state}}
	}
	held := step(audit.KindApproval, "ap-1", "Held", nil)
	held.Extra = map[string]any{"decide_by": "2026-08-30T12:05:00Z", "decision_id": "d3"}
	held2 := step(audit.KindApproval, "ap-2", "Held", nil)
	held2.Extra = map[string]any{"decide_by": "2026-08-30T12:05:00Z", "decision_id": "d9"}
	return []*audit.Record{
		{Kind: audit.KindPolicy, Policy: "sha256:00", Reason: "policy.in_force"},                                                                                  // 1
		{Kind: audit.KindDecision, ID: "d2", Decision: "Allow", Tool: "db", Args: map[string]any{"sql": "SELECT 'ü\u2028\U0001F600'", "n": json.Number("1e400")}}, // 2
		held, // 3
		{Kind: audit.KindDecision, ID: "d3", Decision: "AskUser", Approval: &audit.ApprovalStep{ID: "ap-1", State: "Pending"}},  // 4
		step(audit.KindApproval, "ap-1", "Approved", &audit.Ref{ID: "d3", Seq: 4}),                                              // 5
		step(audit.KindApproval, "ap-1", "Used", &audit.Ref{ID: "d3", Seq: 4}),                                                  // 6
		{Kind: audit.KindDecision, ID: "d7", Decision: "Allow", Approval: &audit.ApprovalStep{ID: "ap-1", State: "Used"}},       // 7
		{Kind: audit.KindOutcome, Ref: &audit.Ref{ID: "d7", Seq: 7}, Outcome: &audit.OutcomeClaim{Status: "ok", DurationMs: 3}}, // 8
		held2, // 9
		{Kind: audit.KindDecision, ID: "d9", Decision: "AskUser", Approval: &audit.ApprovalStep{ID: "ap-2", State: "Pending"}}, // 10
		step(audit.KindTimeout, "ap-2", "TimedOut", &audit.Ref{ID: "d9", Seq: 10}),                                             // 11
		{Kind: audit.KindShutdown},                                            // 12
		{Kind: audit.KindBoot, Extra: map[string]any{"last_seq": "12"}},       // 13
		{Kind: audit.KindGap, Extra: map[string]any{"operator": "ann"}},       // 14
		{Kind: audit.KindHeartbeat},                                           // 15
		{Kind: audit.KindKey, Extra: map[string]any{"vkeys": []any{"x"}}},     // 16
		{Kind: audit.KindDecision, ID: "d17", Decision: "Rewrite", Tool: "ß"}, // 17
	}
}

// found returns the reasons of all findings of a verification, each once, in
// order of appearance.
func found(tb testing.TB, l *log, anchors ...string) (reasons []audit.Reason, all []audit.Finding) {
	tb.Helper()
	r, err := auditor.Verify(l.dir, auditor.Options{Anchors: anchors})
	if err != nil {
		tb.Fatal(err)
	}
	all = r.All()
	seen := map[audit.Reason]bool{}
	for _, f := range all {
		if !seen[f.Reason] {
			seen[f.Reason] = true
			reasons = append(reasons, f.Reason)
		}
	}
	return reasons, all
}

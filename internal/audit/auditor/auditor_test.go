package auditor_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/auditor"
)

func TestAWholeLogIsGood(t *testing.T) {
	l := whole(t)
	for _, anchors := range [][]string{nil, {l.file}} {
		r, err := auditor.Verify(l.dir, auditor.Options{Anchors: anchors})
		if err != nil {
			t.Fatal(err)
		}
		if !r.OK() || len(r.Unknown) > 0 {
			t.Fatalf("findings are %v, unknown %v", r.All(), r.Unknown)
		}
		if len(r.Chains) != 3 || r.Signed == nil || r.Signed.AnchorFile != (anchors != nil) {
			t.Errorf("report is %+v", r)
		}
		c := r.Chains[1]
		want := audit.ClosureSummary{Decisions: 6, Asked: 2, Approved: 1, TimedOut: 1, Outcomes: 1, Unknown: 3}
		if diff := cmp.Diff(want, c.Calls); c.Tenant != acme || c.Signed != 20 || c.Records != 20 || diff != "" {
			t.Errorf("chain is %+v\n%s", c, diff)
		}
	}
}

// T19: what is changed in the middle of a chain is found at the record, for
// every kind of record.
func TestEveryChangeToAnyRecordIsFound(t *testing.T) {
	for i, kind := range kindsOf(whole(t)) {
		for name, tc := range map[string]struct {
			change func(l [][]byte) [][]byte
			reason []audit.Reason
			seq    int
		}{
			"a byte":       {func(l [][]byte) [][]byte { l[i][len(l[i])/3] ^= 1; return l }, []audit.Reason{audit.ReasonHash}, i},
			"its hash":     {func(l [][]byte) [][]byte { l[i][len(l[i])-9] ^= 1; return l }, []audit.Reason{audit.ReasonHash}, i},
			"deleted":      {func(l [][]byte) [][]byte { return slices.Delete(l, i, i+1) }, []audit.Reason{audit.ReasonSeq, audit.ReasonTruncated}, i},
			"twice":        {func(l [][]byte) [][]byte { return slices.Insert(l, i, l[i]) }, []audit.Reason{audit.ReasonSeq}, i + 1},
			"swapped":      {swap(i), []audit.Reason{audit.ReasonSeq, audit.ReasonGenesis}, min(i, 18)},
			"forged":       {forge(t, i, "not"), []audit.Reason{audit.ReasonRoot}, i},
			"an insertion": {insert(t, i+1), []audit.Reason{audit.ReasonRoot, audit.ReasonClosure}, 20},
		} {
			t.Run(string(kind)+" "+name, func(t *testing.T) {
				l := whole(t)
				c := l.chains[acme]
				if name == "an insertion" && i == len(c.lines)-1 {
					return // that adds a record after all that was signed, as anybody can until the next checkpoint
				}
				l.write(segment(acme, 0), bytes.Join(tc.change(slices.Clone(c.lines)), nil))
				_, all := found(t, l)
				if len(all) == 0 {
					t.Fatal("nothing is found")
				}
				f := all[0]
				if !slices.Contains(tc.reason, f.Reason) || f.Seq > uint64(tc.seq) && f.Reason != audit.ReasonTruncated || f.Reason == audit.ReasonHash && f.Seq != uint64(i) {
					t.Errorf("finding is %+v", f)
				}
				if strings.Contains(f.File, "other") || f.Reason != audit.ReasonTruncated && f.Line == 0 {
					t.Errorf("finding is %+v", f)
				}
			})
		}
	}
}

func kindsOf(l *log) (kinds []audit.Kind) {
	for _, line := range l.chains[acme].lines {
		p, err := audit.ParseLine(line)
		if err != nil {
			l.tb.Fatal(err)
		}
		kinds = append(kinds, p.Kind)
	}
	return kinds
}

func swap(i int) func([][]byte) [][]byte {
	return func(l [][]byte) [][]byte {
		j := i + 1
		if j == len(l) {
			j = i - 1
		}
		l[i], l[j] = l[j], l[i]
		return l
	}
}

// forge rewrites a record and all hashes after it, as somebody would who has no
// key.
func forge(tb testing.TB, i int, replica string) func([][]byte) [][]byte {
	return func(l [][]byte) [][]byte {
		l[i] = bytes.Replace(l[i], []byte(`"replica":"r0"`), []byte(`"replica":"`+replica+`"`), 1)
		return relink(tb, l, i)
	}
}

func insert(tb testing.TB, i int) func([][]byte) [][]byte {
	return func(l [][]byte) [][]byte {
		line := bytes.Replace(l[2], []byte(`"d2"`), []byte(`"dX"`), 1)
		line = bytes.Replace(line, tsOf(l[2]), tsOf(l[i-1]), 1)
		return relink(tb, slices.Insert(l, i, line), i)
	}
}

func tsOf(line []byte) []byte {
	i := bytes.LastIndex(line, []byte(`"ts":"`))
	return line[i : i+len(`"ts":"2026-08-30T12:00:00.000000Z"`)]
}

// T20 and T22, and what stands where the log's files should be.
func TestWhatIsMissingIsFound(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, l *log)
		local  []audit.Reason // without an anchor file
		with   []audit.Reason // with it
		says   string
	}{
		"the last record cut off": {
			func(t *testing.T, l *log) { t.Helper(); cutChain(l, 1) },
			[]audit.Reason{audit.ReasonTruncated}, []audit.Reason{audit.ReasonTruncated}, "TRUNCATED anchored=20 local=19",
		},
		"several records cut off": {
			func(t *testing.T, l *log) { t.Helper(); cutChain(l, 7) },
			[]audit.Reason{audit.ReasonTruncated}, []audit.Reason{audit.ReasonTruncated}, "TRUNCATED anchored=20 local=13",
		},
		"all records cut off": {
			func(t *testing.T, l *log) { t.Helper(); cutChain(l, 20) },
			[]audit.Reason{audit.ReasonTruncated}, []audit.Reason{audit.ReasonTruncated}, "TRUNCATED anchored=20 local=0",
		},
		"one tenant deleted": {
			func(t *testing.T, l *log) { t.Helper(); remove(t, l.path("t/"+auditor.TenantID(acme))) },
			[]audit.Reason{audit.ReasonTruncated}, []audit.Reason{audit.ReasonTruncated}, "the chain is not there",
		},
		"all tenants deleted": {
			func(t *testing.T, l *log) { t.Helper(); remove(t, l.path("t")) },
			[]audit.Reason{audit.ReasonTruncated}, []audit.Reason{audit.ReasonTruncated}, "the chain is not there",
		},
		"a consistent older copy put back": {
			func(t *testing.T, l *log) { t.Helper(); rollBack(t, l) },
			nil, []audit.Reason{audit.ReasonTruncated}, "TRUNCATED anchored=20 local=18",
		},
		"another log in its place": {
			func(t *testing.T, l *log) { t.Helper(); replaceBy(t, l, "two") },
			nil, []audit.Reason{audit.ReasonReplaced, audit.ReasonSignature, audit.ReasonTruncated}, "another log",
		},
		"the end rewritten with the stolen key": { // T21
			func(t *testing.T, l *log) { t.Helper(); rewriteEnd(t, l) },
			nil, []audit.Reason{audit.ReasonRoot}, "are not those that were signed",
		},
		"one chain in the place of another": {
			func(t *testing.T, l *log) {
				t.Helper()
				l.write(segment(acme, 0), bytes.Join(l.chains["other/policy"].lines, nil))
			},
			[]audit.Reason{audit.ReasonReplaced, audit.ReasonTenant}, []audit.Reason{audit.ReasonReplaced, audit.ReasonTenant}, "chain",
		},
		"the description of the log deleted": {
			func(t *testing.T, l *log) { t.Helper(); remove(t, l.path("log.json")) },
			[]audit.Reason{audit.ReasonFile}, []audit.Reason{audit.ReasonFile}, "missing",
		},
		"what was signed last deleted": {
			func(t *testing.T, l *log) { t.Helper(); remove(t, l.path("anchor/heads.jsonl")) },
			[]audit.Reason{audit.ReasonFile}, []audit.Reason{audit.ReasonFile}, "missing",
		},
		"a checkpoint signed by nobody": {
			func(t *testing.T, l *log) {
				t.Helper()
				l.write("anchor/checkpoint", bytes.Replace(read(t, l.path("anchor/checkpoint")), []byte("\n\n— "), []byte("\n\n— x"), 1))
			},
			[]audit.Reason{audit.ReasonSignature}, []audit.Reason{audit.ReasonSignature}, "not signed",
		},
		"a link for a segment": {
			func(t *testing.T, l *log) {
				t.Helper()
				moveAway(t, l.path(segment(acme, 0)), func(from, to string) error { return os.Symlink(to, from) })
			},
			[]audit.Reason{audit.ReasonFile, audit.ReasonTruncated}, []audit.Reason{audit.ReasonFile, audit.ReasonTruncated}, "not a regular file",
		},
		"a pipe for a segment": {
			func(t *testing.T, l *log) {
				t.Helper()
				moveAway(t, l.path(segment(acme, 0)), func(from, _ string) error { return syscall.Mkfifo(from, 0o600) })
			},
			[]audit.Reason{audit.ReasonFile, audit.ReasonTruncated}, []audit.Reason{audit.ReasonFile, audit.ReasonTruncated}, "not a regular file",
		},
		"a segment renamed": {
			func(t *testing.T, l *log) {
				t.Helper()
				moveAway(t, l.path(segment(acme, 0)), func(from, to string) error { return os.Rename(to, from+".bak") })
			},
			[]audit.Reason{audit.ReasonFile, audit.ReasonTruncated}, []audit.Reason{audit.ReasonFile, audit.ReasonTruncated}, "not the name of a segment",
		},
		"a segment emptied": {
			func(t *testing.T, l *log) { t.Helper(); l.write(segment(acme, 0), nil) },
			[]audit.Reason{audit.ReasonTruncated}, []audit.Reason{audit.ReasonTruncated}, "local=0",
		},
		"a link for a tenant": {
			func(t *testing.T, l *log) {
				t.Helper()
				moveAway(t, l.path("t/"+auditor.TenantID(acme)), func(from, to string) error { return os.Symlink(to, from) })
			},
			[]audit.Reason{audit.ReasonFile, audit.ReasonTruncated}, []audit.Reason{audit.ReasonFile, audit.ReasonTruncated}, "not a directory",
		},
		"a link for all tenants": {
			func(t *testing.T, l *log) {
				t.Helper()
				moveAway(t, l.path("t"), func(from, to string) error { return os.Symlink(to, from) })
			},
			[]audit.Reason{audit.ReasonFile, audit.ReasonTruncated}, []audit.Reason{audit.ReasonFile, audit.ReasonTruncated}, "not a directory",
		},
		"the format changed": {
			func(t *testing.T, l *log) { t.Helper(); l.write("FORMAT", []byte("hookpolicy audit v9\n")) },
			[]audit.Reason{audit.ReasonFile}, []audit.Reason{audit.ReasonFile}, "format",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := whole(t)
			tc.change(t, l)
			for i, anchors := range [][]string{nil, {l.file}} {
				want := [][]audit.Reason{tc.local, tc.with}[i]
				got, all := found(t, l, anchors...)
				if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
					t.Errorf("with %d anchor files: %s\n%v", len(anchors), diff, all)
				}
				if len(want) > 0 && !slices.ContainsFunc(all, func(f audit.Finding) bool { return strings.Contains(f.Detail, tc.says) }) {
					t.Errorf("nothing says %q: %v", tc.says, all)
				}
			}
		})
	}
}

func sorted(r []audit.Reason) []audit.Reason {
	r = slices.Clone(r)
	slices.Sort(r)
	return r
}

func read(tb testing.TB, path string) []byte {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func remove(tb testing.TB, path string) {
	tb.Helper()
	if err := os.RemoveAll(path); err != nil {
		tb.Fatal(err)
	}
}

// moveAway moves a file away and puts something in its place.
func moveAway(tb testing.TB, path string, put func(from, to string) error) {
	tb.Helper()
	to := filepath.Join(tb.TempDir(), "away")
	if err := os.Rename(path, to); err != nil {
		tb.Fatal(err)
	}
	if err := put(path, to); err != nil {
		tb.Fatal(err)
	}
}

// cutChain cuts records off the end of acme's chain.
func cutChain(l *log, n int) {
	lines := l.chains[acme].lines
	l.write(segment(acme, 0), bytes.Join(lines[:len(lines)-n], nil))
}

// rollBack puts the log back to its first signing, all of it.
func rollBack(tb testing.TB, l *log) {
	tb.Helper()
	file := read(tb, l.file)
	old := newLog(tb, "one")
	old.add(acme, life()...)
	old.add("other/policy", &audit.Record{Kind: audit.KindDecision, ID: "o1", Decision: "Deny"})
	old.chain(auditor.AnchorTenant)
	old.add(auditor.AnchorTenant, &audit.Record{Kind: audit.KindKey, Extra: map[string]any{"vkeys": []any{old.key.Verifier()}}})
	old.sign()
	old.save()
	l.dir = old.dir
	if !bytes.HasPrefix(file, read(tb, old.file)) {
		tb.Fatal("the older copy is of another log")
	}
}

func replaceBy(tb testing.TB, l *log, seed string) {
	tb.Helper()
	other := newLog(tb, seed)
	other.add(acme, life()...)
	other.add(auditor.AnchorTenant, &audit.Record{Kind: audit.KindKey})
	other.sign()
	other.save()
	l.dir = other.dir
}

// rewriteEnd makes the log anew with another end, with the same key.
func rewriteEnd(tb testing.TB, l *log) {
	tb.Helper()
	other := newLog(tb, "one")
	records := life()
	records[16].Decision = "Deny"
	other.add(acme, records...)
	other.add("other/policy", &audit.Record{Kind: audit.KindDecision, ID: "o1", Decision: "Deny"})
	other.chain(auditor.AnchorTenant)
	other.add(auditor.AnchorTenant, &audit.Record{Kind: audit.KindKey, Extra: map[string]any{"vkeys": []any{other.key.Verifier()}}})
	other.sign()
	other.add(acme, &audit.Record{Kind: audit.KindDecision, ID: "late", Decision: "Allow"}, &audit.Record{Kind: audit.KindHeartbeat})
	other.sign()
	other.save()
	l.dir = other.dir
}

// T23, as far as there is more than one segment.
func TestWhatIsWrongWithSegmentsIsFound(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, l *log)
		file   int
		reason audit.Reason
	}{
		"the first is missing":  {func(t *testing.T, l *log) { t.Helper(); remove(t, l.path(segment(acme, 0))) }, 6, audit.ReasonSegment},
		"the second is missing": {func(t *testing.T, l *log) { t.Helper(); remove(t, l.path(segment(acme, 6))) }, 13, audit.ReasonSegment},
		"one is renamed": {func(t *testing.T, l *log) {
			t.Helper()
			if err := os.Rename(l.path(segment(acme, 13)), l.path(segment(acme, 14))); err != nil {
				t.Fatal(err)
			}
		}, 14, audit.ReasonSegment},
		"one stands twice": {func(t *testing.T, l *log) {
			t.Helper()
			l.write(segment(acme, 12), read(t, l.path(segment(acme, 6))))
		}, 12, audit.ReasonSegment},
		"two are swapped": {func(t *testing.T, l *log) {
			t.Helper()
			a, b := read(t, l.path(segment(acme, 6))), read(t, l.path(segment(acme, 13)))
			l.write(segment(acme, 6), b)
			l.write(segment(acme, 13), a)
		}, 6, audit.ReasonSeq},
		"the end of one is torn": {func(t *testing.T, l *log) {
			t.Helper()
			b := read(t, l.path(segment(acme, 6)))
			l.write(segment(acme, 6), b[:len(b)-1])
		}, 6, audit.ReasonTorn},
		"one is of another tenant": {func(t *testing.T, l *log) {
			t.Helper()
			l.write(segment(acme, 13), bytes.Join(l.chains["other/policy"].lines, nil))
		}, 13, audit.ReasonSeq},
	} {
		t.Run(name, func(t *testing.T) {
			l := whole(t)
			split(l)
			if _, all := found(t, l, l.file); len(all) > 0 {
				t.Fatalf("unchanged: %v", all)
			}
			tc.change(t, l)
			_, all := found(t, l)
			if len(all) == 0 || all[0].Reason != tc.reason || all[0].File != l.path(segment(acme, tc.file)) {
				t.Errorf("findings are %v", all)
			}
		})
	}
}

func split(l *log) {
	lines := l.chains[acme].lines
	l.write(segment(acme, 0), bytes.Join(lines[:6], nil))
	l.write(segment(acme, 6), bytes.Join(lines[6:13], nil))
	l.write(segment(acme, 13), bytes.Join(lines[13:], nil))
}

func TestTheJournalIsPartOfTheChains(t *testing.T) {
	journal := func(l *log, from int) []byte {
		a, b := l.chains[acme].lines, l.chains["other/policy"].lines
		return bytes.Join(append(slices.Clone(a[from:]), b[1:]...), nil)
	}
	for name, tc := range map[string]struct {
		change func(l *log)
		want   []audit.Reason
	}{
		"records that stand in both": {func(l *log) { l.write("journal/00000000000000000000.jsonl", journal(l, 5)) }, nil},
		"records only there": {func(l *log) {
			cutChain(l, 4)
			l.write("journal/00000000000000000000.jsonl", journal(l, 5))
		}, nil},
		"a record half written to its file": {func(l *log) {
			b := bytes.Join(l.chains[acme].lines, nil)
			l.write(segment(acme, 0), b[:len(b)-100])
			l.write("journal/00000000000000000000.jsonl", journal(l, 5))
		}, nil},
		"a tenant only there": {func(l *log) {
			_ = os.RemoveAll(l.path("t/" + auditor.TenantID(acme)))
			l.write("journal/00000000000000000000.jsonl", journal(l, 0))
		}, nil},
		"lines after those that count": {func(l *log) {
			l.write("journal/00000000000000000000.jsonl", append(bytes.Join(l.chains[acme].lines[5:7], nil), "garbage"...))
			l.write("journal/00000000000000000002.jsonl", bytes.Join(l.chains[acme].lines[7:], nil))
		}, nil},
		"a segment that is being made": {func(l *log) { l.write("journal/next", []byte("half")) }, nil},
		"another record of the same number": {func(l *log) {
			b := forge(l.tb, 6, "not")(slices.Clone(l.chains[acme].lines))
			l.write("journal/00000000000000000000.jsonl", bytes.Join(b[6:], nil))
		}, []audit.Reason{audit.ReasonJournal}},
		"a gap before it": {func(l *log) {
			cutChain(l, 10)
			l.write("journal/00000000000000000000.jsonl", journal(l, 15))
		}, []audit.Reason{audit.ReasonSeq}},
		"a record missing in it": {func(l *log) {
			l.write("journal/00000000000000000000.jsonl", bytes.Join(slices.Delete(slices.Clone(l.chains[acme].lines), 6, 7), nil))
		}, []audit.Reason{audit.ReasonJournal}},
		"lines missing before the next segment": {func(l *log) {
			l.write("journal/00000000000000000000.jsonl", bytes.Join(l.chains[acme].lines[5:7], nil))
			l.write("journal/00000000000000000003.jsonl", bytes.Join(l.chains[acme].lines[7:], nil))
		}, []audit.Reason{audit.ReasonSegment}},
		"an unfinished end": {func(l *log) {
			l.write("journal/00000000000000000000.jsonl", append(journal(l, 5), "{\"agent\""...))
		}, []audit.Reason{audit.ReasonTorn}},
		"a changed byte": {func(l *log) {
			b := journal(l, 5)
			b[40] ^= 1
			l.write("journal/00000000000000000000.jsonl", b)
		}, []audit.Reason{audit.ReasonHash}},
		"a foreign file": {func(l *log) { l.write("journal/x", nil) }, []audit.Reason{audit.ReasonFile}},
	} {
		t.Run(name, func(t *testing.T) {
			l := whole(t)
			tc.change(l)
			got, all := found(t, l, l.file)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%v", diff, all)
			}
		})
	}
}

func TestAnAnchorOfWhatIsNoLogIsRefused(t *testing.T) {
	l := whole(t)
	if _, err := auditor.Verify(l.path(segment(acme, 0)), auditor.Options{Anchors: []string{l.file}}); err == nil {
		t.Error("no error")
	}
	if _, err := auditor.Verify(t.TempDir(), auditor.Options{}); err == nil {
		t.Error("an empty directory is verified")
	}
}

func TestParts(t *testing.T) {
	l := whole(t)
	split(l)
	for path, records := range map[string]uint64{
		l.path("t/" + auditor.TenantID(acme)):  20,
		filepath.Dir(l.path(segment(acme, 0))): 20,
		l.path(segment(acme, 6)):               7,
	} {
		r, err := auditor.Verify(path, auditor.Options{})
		if err != nil || !r.OK() || len(r.Chains) != 1 || r.Chains[0].Records != records {
			t.Errorf("%s: %+v (%v)", path, r, err)
		}
	}
	r, err := auditor.VerifyReader("-", bytes.NewReader(bytes.Join(l.chains[acme].lines, nil)))
	if err != nil || !r.OK() || r.Chains[0].Records != 20 {
		t.Errorf("%+v (%v)", r, err)
	}
	if r, err = auditor.VerifyReader("-", strings.NewReader("")); err != nil || r.OK() {
		t.Errorf("nothing is a good chain: %+v (%v)", r, err)
	}
}

func TestATornAnchorLineIsNoFinding(t *testing.T) {
	l := whole(t)
	l.appendTo(l.file, []byte(`{"v":1,"lo`))
	if _, all := found(t, l, l.file); len(all) > 0 {
		t.Error(all)
	}
	l.appendTo(l.file, []byte("\n"))
	l.now = l.now.Add(time.Minute)
	l.sign()
	l.save()
	if _, all := found(t, l, l.file); len(all) > 0 {
		t.Error(all)
	}
}

// A sample of single bits, in all that is written of chains and in the last
// checkpoint.
func TestFlippedBitsAreFound(t *testing.T) {
	l := whole(t)
	files, err := filepath.Glob(l.path("t/*/log/*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(files, l.path("anchor/checkpoint")) {
		data := read(t, path)
		for i := 0; i < len(data); i += 1 + len(data)/20 {
			changed := bytes.Clone(data)
			changed[i] ^= 1 << (i % 8)
			if err := os.WriteFile(path, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, all := found(t, l, l.file); len(all) == 0 {
				t.Errorf("bit %d of byte %d of %s is missed", i%8, i, path)
			}
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

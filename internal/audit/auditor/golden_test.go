package auditor_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/audit/auditor"
)

var update = flag.Bool("update", false, "write the golden directory anew")

// T41: a log of this version verifies in every later one, with the same result
// to the byte. testdata/v2 is never to change; a new format gets its own.
func TestTheGoldenLogVerifiesAsEver(t *testing.T) {
	golden := filepath.Join("testdata", "v2")
	if *update {
		writeGolden(t, golden)
	}
	t.Chdir(golden)
	r, err := auditor.Verify("audit", auditor.Options{Anchors: []string{"anchors.jsonl"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile("report.json", got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("report.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" || !r.OK() {
		t.Errorf("report differs (-want +got):\n%s", diff)
	}
}

func writeGolden(t *testing.T, golden string) {
	t.Helper()
	l := whole(t)
	split(l)
	lines := l.chains[acme].lines
	l.write(segment(acme, 13), bytes.Join(lines[13:17], nil))
	l.write("journal/00000000000000000031.jsonl", bytes.Join(append(slices.Clone(lines[15:]), l.chains["other/policy"].lines[1]), nil))
	remove(t, golden)
	if err := os.CopyFS(filepath.Join(golden, "audit"), os.DirFS(l.dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(golden, "anchors.jsonl"), read(t, l.file), 0o600); err != nil {
		t.Fatal(err)
	}
}

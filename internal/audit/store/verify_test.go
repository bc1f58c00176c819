package store_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

// segmented makes a log whose chain of ten records is in three files: from 0,
// 4 and 7.
func segmented(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	chain := lifeOf(t, dir, 9)
	ends := lineEnds(chain)
	write(t, chainFile(dir), chain[:ends[3]])
	write(t, segment(dir, 4), chain[ends[3]:ends[6]])
	write(t, segment(dir, 7), chain[ends[6]:])
	return dir
}

func segment(dir string, first int) string {
	return filepath.Join(chainDir(dir), fmt.Sprintf("%020d.jsonl", first))
}

func finding(t *testing.T, path string) *audit.Finding {
	t.Helper()
	r, err := store.VerifyPath(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Chains {
		if c.Finding != nil {
			if r.OK() {
				t.Error("a report with a finding is OK")
			}
			return c.Finding
		}
	}
	return nil
}

func TestSegmentsAreOneChain(t *testing.T) {
	dir := segmented(t)
	for _, path := range []string{dir, filepath.Dir(chainDir(dir)), chainDir(dir)} {
		c := verified(t, path).Chains[0]
		if c.Segments != 3 || c.Records != 10 || c.FirstSeq != 0 || c.LastSeq != 9 || c.Tenant != tenant {
			t.Errorf("%s: report is %+v", path, c)
		}
	}
	l := open(t, dir, store.Options{})
	if r := add(t, l, "new"); r.Seq != 11 {
		t.Errorf("receipt is %+v", r)
	}
	shut(t, l)
	verified(t, dir)
}

func TestOneSegmentVerifiesByItself(t *testing.T) {
	dir := segmented(t)
	c := verified(t, segment(dir, 4)).Chains[0]
	if c.FirstSeq != 4 || c.LastSeq != 6 || c.Records != 3 {
		t.Errorf("report is %+v", c)
	}
	in, err := os.Open(chainFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if c, err = store.VerifyReader("-", in); err != nil || c.Finding != nil || c.Records != 4 {
		t.Errorf("report is %+v, error %v", c, err)
	}
}

func TestWhatIsWrongWithSegmentsIsFound(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, dir string)
		file   int
		line   int64
		seq    uint64
		reason audit.Reason
		says   string
	}{
		"the first is missing": {
			func(t *testing.T, dir string) { t.Helper(); remove(t, chainFile(dir)) },
			4, 1, 0, audit.ReasonSegment, "records 0 to 3 are missing",
		},
		"one in the middle is missing": {
			func(t *testing.T, dir string) { t.Helper(); remove(t, segment(dir, 4)) },
			7, 1, 4, audit.ReasonSegment, "records 4 to 6 are missing",
		},
		"one is renamed": {
			func(t *testing.T, dir string) {
				t.Helper()
				if err := os.Rename(segment(dir, 7), segment(dir, 8)); err != nil {
					t.Fatal(err)
				}
			},
			8, 1, 7, audit.ReasonSegment, "records 7 to 7 are missing",
		},
		"two are swapped": {
			func(t *testing.T, dir string) {
				t.Helper()
				a, b := read(t, segment(dir, 4)), read(t, segment(dir, 7))
				write(t, segment(dir, 4), b)
				write(t, segment(dir, 7), a)
			},
			4, 1, 4, audit.ReasonSeq, "seq is 7",
		},
		"a byte is changed": {
			func(t *testing.T, dir string) {
				t.Helper()
				b := read(t, segment(dir, 4))
				b[lineEnds(b)[0]+30] ^= 4
				write(t, segment(dir, 4), b)
			},
			4, 2, 5, audit.ReasonHash, "record 5",
		},
		"the end of one is torn": {
			func(t *testing.T, dir string) {
				t.Helper()
				b := read(t, segment(dir, 4))
				write(t, segment(dir, 4), b[:len(b)-1])
			},
			4, 3, 6, audit.ReasonTorn, "ends early",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := segmented(t)
			tc.change(t, dir)
			f := finding(t, dir)
			if f == nil {
				t.Fatal("nothing is found")
			}
			if f.File != segment(dir, tc.file) || f.Line != tc.line || f.Seq != tc.seq || f.Reason != tc.reason {
				t.Errorf("finding is %+v", f)
			}
			if !strings.Contains(f.Error(), tc.says) {
				t.Errorf("finding says %q", f.Error())
			}
		})
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
}

func TestFlippedBitsInTheDurablePartAreFound(t *testing.T) {
	dir := t.TempDir()
	chain := lifeOf(t, dir, 20)
	for i := 0; i < len(chain); i += 97 {
		changed := bytes.Clone(chain)
		changed[i] ^= 1 << (i % 8)
		c, err := store.VerifyReader("chain", bytes.NewReader(changed))
		if err != nil || c.Finding == nil {
			t.Fatalf("bit %d of byte %d is missed (%v)", i%8, i, err)
		}
		if at := bytes.Count(chain[:i], []byte("\n")); c.Finding.Line != int64(at+1) || c.Finding.Seq != uint64(at) {
			t.Errorf("byte %d of record %d: finding is %v", i, at, c.Finding)
		}
	}
}

func TestUnknownFilesAreReported(t *testing.T) {
	dir := segmented(t)
	want := []string{
		filepath.Join(dir, "notes.txt"),
		filepath.Join(dir, "t", "stray"),
		filepath.Join(filepath.Dir(chainDir(dir)), "x"),
		filepath.Join(chainDir(dir), "0.jsonl"),
	}
	for _, name := range want {
		write(t, name, nil)
	}
	r := verified(t, dir)
	got := map[string]bool{}
	for _, name := range r.Unknown {
		got[name] = true
	}
	for _, name := range want {
		if !got[name] {
			t.Errorf("%s is not reported", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("unknown are %v", r.Unknown)
	}
}

func TestAReportIsJSON(t *testing.T) {
	dir := segmented(t)
	b := read(t, chainFile(dir))
	b[10] ^= 1
	write(t, chainFile(dir), b)
	r, err := store.VerifyPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back store.Report
	if err := json.Unmarshal(out, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*r, back); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNotThereIsAnError(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		if _, err := store.VerifyPath(path); err == nil {
			t.Error("no error")
		}
	}
}

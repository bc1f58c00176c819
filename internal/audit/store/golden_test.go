package store_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

// goldens are directories that versions before have left behind: v1 without a
// journal, v2 with one that has a record more than the tenant's file. Both were
// killed. The heads are those of their chains.
var goldens = map[string]struct {
	records uint64
	head    string
	// commitment is that of "x" with the key in the directory.
	commitment string
}{
	"v1": {9, "5cadb55ee1267b752811f62d7535354ad9c460c2f8dee5a818eca9db59fbbb23", "0427cc05cedff7d0378ee71eddb95c1aebbd2811e87cac0f9055fb81a403ded4"},
	"v2": {9, "fa3c4eceb1de13ee492a4ecc383df9ca5f8b11dfbf88e38f3803b896214d4f61", "aa8213526bb6653686f83ce2b934760f3b97062290bebdd80c93be5fb35bbc03"},
}

func TestEveryLayoutSinceTheFirstIsOpenedAndGoesOn_T41(t *testing.T) {
	for version, want := range goldens {
		t.Run(version, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", version))); err != nil {
				t.Fatal(err)
			}
			before := chainsIn(t, dir)
			l := open(t, dir, store.Options{})
			if c := l.Commitment(tenant, []byte("x")); c != want.commitment {
				t.Errorf("commitment is %s", c)
			}
			r := add(t, l, "new")
			if _, err := l.Append(t.Context(), "other/policy", decision("new")); err != nil {
				t.Error(err)
			}
			shut(t, l)
			if r.Seq != want.records+1 { // after a boot record
				t.Errorf("receipt is %+v", r)
			}
			after := chainsIn(t, dir)
			for id, chain := range before {
				kept := chain[:strings.LastIndexByte(chain, '\n')+1]
				if !strings.HasPrefix(after[id], kept) {
					t.Errorf("records of %s have changed", id)
				}
				new(acks).check(t, []byte(after[id]))
			}
			head := hashOf(t, after[store.TenantID(tenant)], want.records-1)
			if head != want.head {
				t.Errorf("the last record of before is %s", head)
			}
			if format := read(t, filepath.Join(dir, "FORMAT")); string(format) != "hookpolicy audit v2\n" {
				t.Errorf("format is %s", format)
			}
		})
	}
}

// chainsIn returns the chains in a directory, by tenant_id.
func chainsIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "t", "*", "log", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	chains := map[string]string{}
	for _, name := range names {
		chains[filepath.Base(filepath.Dir(filepath.Dir(name)))] += string(read(t, name))
	}
	return chains
}

func hashOf(t *testing.T, chain string, seq uint64) string {
	t.Helper()
	for raw := range bytes.Lines([]byte(chain)) {
		if line, err := audit.ParseLine(raw); err == nil && line.Seq == seq {
			return line.Hash.String()
		}
	}
	t.Fatalf("record %d is not there", seq)
	return ""
}

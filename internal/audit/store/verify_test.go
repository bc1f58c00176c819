package store_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/audit/auditor"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

func segment(dir string, first int) string {
	return filepath.Join(chainDir(dir), fmt.Sprintf("%020d.jsonl", first))
}

// A log of the layout before, whose chain is in three files.
func TestSegmentsAreOneChain(t *testing.T) {
	dir := t.TempDir()
	chain := lifeOf(t, dir, 9)
	ends := lineEnds(chain)
	write(t, chainFile(dir), chain[:ends[3]])
	write(t, segment(dir, 4), chain[ends[3]:ends[6]])
	write(t, segment(dir, 7), chain[ends[6]:])
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

func TestStoreAndAuditorKnowTheSameNames(t *testing.T) {
	for _, tenant := range []string{"", tenant, "_service", store.AnchorTenant} {
		if store.TenantID(tenant) != auditor.TenantID(tenant) {
			t.Errorf("the directory of %q has two names", tenant)
		}
	}
	if store.AnchorTenant != auditor.AnchorTenant {
		t.Error("the anchor's chain has two names")
	}
}

package store_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

// What a start reads is counted, not timed.
func TestAStartReadsTheJournalHoweverLongTheChainsAre_P13(t *testing.T) {
	read := map[int]int64{}
	for _, records := range []int{200, 1600} {
		synctest.Test(t, func(t *testing.T) {
			fsys := newFaultFS()
			const tenants = 20
			l := open(t, "", store.Options{FS: fsys, SegmentBytes: 16 << 10})
			for i := range records {
				if _, err := l.Append(t.Context(), fmt.Sprint("tenant-", i%tenants), decision(strings.Repeat("x", 200))); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			killed := fsys.killed()
			shut(t, l)

			_, journal := killed.journal()
			size := int64(len(strings.Join(journal, "")))
			l = open(t, "", store.Options{FS: killed})
			// The journal twice, the ends of the files that it leads to, and a
			// state each.
			if limit := 4*size + tenants*(8<<10); killed.bytesRead() > limit {
				t.Errorf("%d records: a start reads %d bytes, with a journal of %d", records, killed.bytesRead(), size)
			}
			before := killed.bytesRead()
			if _, err := l.Append(t.Context(), "tenant-3", decision("new")); err != nil {
				t.Fatal(err)
			}
			if n := killed.bytesRead() - before; n > 12<<10 {
				t.Errorf("%d records: the first record of a chain reads %d bytes", records, n)
			}
			read[records] = killed.bytesRead()
			shut(t, l)
		})
	}
	if read[1600] > 2*read[200]+(64<<10) {
		t.Errorf("eight times the records: %v bytes read", read)
	}
}

func TestALongChainIsOpenedAtItsEnd_P13(t *testing.T) {
	dir := t.TempDir()
	shut(t, open(t, dir, store.Options{}))
	longChain(t, dir, 100_000_000)
	l := open(t, dir, store.Options{})
	if r := add(t, l, "new"); r.Seq != 100_000_001 {
		t.Errorf("receipt is %+v", r)
	}
	shut(t, l)
}

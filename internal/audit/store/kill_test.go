package store_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

const (
	childDir   = "AUDIT_STORE_TEST_CHILD_DIR"
	childRound = "AUDIT_STORE_TEST_CHILD_ROUND"
)

// TestChild is the process that is killed; by itself it does nothing.
func TestChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("only for the test that kills it")
	}
	t.Fatal(writeForEver(t.Context(), dir, os.Getenv(childRound)))
}

// kills is how often the process is killed.
var kills = flag.Int("kills", 20, "how often to kill the process that writes")

const killedTenants = 4

// writeForEver appends with 64 writers to chains whose files rotate all the
// time, and tells each acknowledgement on the standard output, until it is
// killed.
func writeForEver(ctx context.Context, dir, round string) error {
	l, err := store.Open(dir, store.Options{SegmentBytes: 64 << 10})
	if err != nil {
		return err
	}
	var out sync.Mutex
	errs := make(chan error)
	for w := range 64 {
		go func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d-%s-%d-%d", w%killedTenants, round, w, i)
				r, err := l.Append(ctx, fmt.Sprint("tenant-", w%killedTenants), decision(id))
				if err != nil {
					errs <- err
					return
				}
				out.Lock()
				fmt.Fprintf(os.Stdout, "%s %d %s\n", id, r.Seq, r.Hash)
				out.Unlock()
			}
		}()
	}
	return <-errs
}

func TestKilledAtAnyMomentNothingAcknowledgedIsLost_T2_T31(t *testing.T) {
	dir := t.TempDir()
	got := make([]acks, killedTenants)
	for round := range *kills {
		killOne(t, dir, round, got)
		if round%4 == 3 { // the others are recovered by the next process
			shut(t, open(t, dir, store.Options{}))
			verified(t, dir)
		}
	}
	shut(t, open(t, dir, store.Options{}))
	verified(t, dir)
	records, segments := 0, 0
	for w := range got {
		names, err := filepath.Glob(filepath.Join(dir, "t", store.TenantID(fmt.Sprint("tenant-", w)), "log", "*"))
		if err != nil {
			t.Fatal(err)
		}
		var chain []byte
		for _, name := range names {
			chain = append(chain, read(t, name)...)
		}
		got[w].check(t, chain)
		records, segments = records+len(got[w].m), segments+len(names)
	}
	t.Logf("%d records acknowledged in %d lives, chains in %d files", records, *kills, segments)
}

// killOne runs a child until it has acknowledged a random number of records.
func killOne(t *testing.T, dir string, round int, got []acks) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childDir+"="+dir, childRound+"="+strconv.Itoa(round))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, last := bufio.NewScanner(out), ""
	for left := rand.IntN(3000); lines.Scan(); left-- {
		if left == 0 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		last = last[max(0, len(last)-1500):] + "\n" + lines.Text()
		f := strings.Fields(lines.Text())
		if len(f) != 3 || len(f[2]) != 64 {
			continue // cut off by the kill
		}
		seq, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		got[f[0][0]-'0'].add(f[0], audit.Receipt{Seq: seq, Hash: f[2]})
	}
	if err := cmd.Wait(); cmd.ProcessState.Exited() {
		t.Fatalf("the child ended by itself: %v, after %q", err, last)
	}
}

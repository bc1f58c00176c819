package store_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
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
		t.Skip("only for TestKilledAtAnyMomentNothingAcknowledgedIsLost")
	}
	t.Fatal(writeForEver(t.Context(), dir, os.Getenv(childRound)))
}

// writeForEver appends with 16 writers and tells each acknowledgement on the
// standard output, until it is killed.
func writeForEver(ctx context.Context, dir, round string) error {
	l, err := store.Open(dir, store.Options{})
	if err != nil {
		return err
	}
	var out sync.Mutex
	errs := make(chan error)
	for w := range 16 {
		go func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%s-%d-%d", round, w, i)
				r, err := l.Append(ctx, tenant, decision(id))
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

func TestKilledAtAnyMomentNothingAcknowledgedIsLost(t *testing.T) {
	dir := t.TempDir()
	var got acks
	for round := range 20 {
		killOne(t, dir, round, &got)
		// The kernel has all that was written, but a kill can end a write in
		// the middle.
		if f := finding(t, dir); f != nil && f.Reason != audit.ReasonTorn {
			t.Fatalf("chain does not verify: %v", f)
		}
	}
	l := open(t, dir, store.Options{})
	got.add("last", add(t, l, "last"))
	shut(t, l)
	verified(t, dir)
	got.check(t, read(t, chainFile(dir)))
	t.Logf("%d records acknowledged in 20 lives", len(got.m))
}

// killOne runs a child until it has acknowledged a random number of records.
func killOne(t *testing.T, dir string, round int, got *acks) {
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
	lines := bufio.NewScanner(out)
	for left := rand.IntN(400); lines.Scan(); left-- {
		if left == 0 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		f := strings.Fields(lines.Text())
		if len(f) != 3 || len(f[2]) != 64 {
			continue // cut off by the kill
		}
		seq, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		got.add(f[0], audit.Receipt{Seq: seq, Hash: f[2]})
	}
	_ = cmd.Wait() // it was killed
}

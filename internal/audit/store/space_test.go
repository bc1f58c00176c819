package store_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

// fillDisk makes the disk of a file system full until the reserve goes, or
// until it is emptied.
func fillDisk(fsys *faultFS) {
	fsys.setFail(func(op, _ string, _ int) (int, error) {
		if op == "write" && fsys.entries["reserve"] != nil {
			return 0, syscall.ENOSPC
		}
		return 0, nil
	})
}

func TestTheReserveIsForTheLastRecords_T14(t *testing.T) {
	fsys := newFaultFS()
	var said bytes.Buffer
	o := store.Options{FS: fsys, ReserveBytes: 64 << 10, Logger: slog.New(slog.NewTextHandler(&said, nil))}
	l := open(t, "", o)
	var got acks
	got.add("a", add(t, l, "a"))
	if data, _ := fsys.reserve(); len(data) != 64<<10 {
		t.Errorf("the reserve has %d bytes", len(data))
	}
	fillDisk(fsys)
	for range 5 { // no decision gets at the reserve
		if _, err := l.Append(t.Context(), tenant, decision("b")); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("error is %v", err)
		}
	}
	if _, ok := fsys.reserve(); !ok {
		t.Error("a decision has used the reserve")
	}
	shut(t, l)
	chain := []byte(fsys.chains()[store.TenantID(tenant)])
	got.check(t, chain)
	if k := kinds(t, chain); k[len(k)-1] != audit.KindShutdown {
		t.Errorf("the last record is of kind %s", k[len(k)-1])
	}
	if n := strings.Count(said.String(), "cannot be written: every decision"); n != 1 {
		t.Errorf("said %d times that the disk is full:\n%s", n, &said)
	}

	// A start on the disk that is full again uses it for its recovery, and has
	// it back when there is space.
	fsys.setFail(nil)
	shut(t, open(t, "", o))
	fillDisk(fsys)
	l = open(t, "", o)
	fsys.setFail(nil)
	got.add("c", add(t, l, "c"))
	shut(t, l)
	shut(t, open(t, "", o))
	if _, ok := fsys.reserve(); !ok {
		t.Error("the reserve does not come back")
	}
}

func TestADiskTooSmallForTheReserveDoesWithout_T14(t *testing.T) {
	fsys := newFaultFS()
	fsys.setFail(func(op, name string, _ int) (int, error) {
		if op == "write" && name == "reserve" {
			return 0, syscall.ENOSPC
		}
		return 0, nil
	})
	l := open(t, "", store.Options{FS: fsys, ReserveBytes: 64 << 10})
	add(t, l, "a")
	if _, ok := fsys.reserve(); ok {
		t.Error("half a reserve is kept")
	}
	shut(t, l)
}

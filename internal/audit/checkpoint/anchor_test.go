package checkpoint_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
)

func goldenAnchor() *checkpoint.Anchor {
	return &checkpoint.Anchor{
		Version: 1, Log: "00", Time: time.Date(2026, 8, 30, 12, 0, 0, 0, time.UTC), Keys: []string{goldenVerifier},
		Checkpoint: goldenNote, Tenants: []string{goldenNote},
	}
}

func TestAnAnchorComesBackFromItsLine(t *testing.T) {
	line, err := goldenAnchor().AppendLine(nil)
	if err != nil {
		t.Fatal(err)
	}
	back, err := checkpoint.ParseAnchor(line)
	if diff := cmp.Diff(goldenAnchor(), back); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for name, bad := range map[string]string{
		"no newline":       strings.TrimSuffix(string(line), "\n"),
		"CRLF":             strings.TrimSuffix(string(line), "\n") + "\r\n",
		"another version":  strings.Replace(string(line), `"v":1`, `"v":2`, 1),
		"a member twice":   strings.Replace(string(line), `"v":1`, `"v":1,"v":1`, 1),
		"another member":   strings.Replace(string(line), `"v":1`, `"v":1,"x":1`, 1),
		"no keys":          strings.Replace(string(line), goldenVerifier, "", 1),
		"two on one line":  string(line[:len(line)-1]) + string(line),
		"not JSON":         "x\n",
		"white space":      strings.Replace(string(line), `"v":1`, `"v": 1`, 1),
		"a missing member": strings.Replace(string(line), `"log":"00",`, "", 1),
	} {
		if name == "no keys" {
			bad = strings.Replace(bad, `[""]`, `[]`, 1)
		}
		if _, err := checkpoint.ParseAnchor([]byte(bad)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
	big := goldenAnchor()
	big.Tenants = make([]string, checkpoint.MaxAnchorLogs+1)
	if _, err := big.AppendLine(nil); err == nil {
		t.Error("an anchor of too many logs is written")
	}
}

func FuzzAnchor(f *testing.F) {
	line, err := goldenAnchor().AppendLine(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Fuzz(func(t *testing.T, line []byte) {
		a, err := checkpoint.ParseAnchor(line)
		if err != nil {
			return
		}
		if again, err := a.AppendLine(nil); err != nil || !bytes.Equal(again, line) {
			t.Errorf("%q is read as %q", line, again)
		}
	})
}

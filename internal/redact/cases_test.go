package redact_test

import (
	"bytes"
	"encoding/json"
	"iter"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/redact"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// A sharedCase is one row of test/cases/redaction*.jsonl.
type sharedCase struct {
	ID       string `json:"id"`
	Expect   string `json:"expect"`
	Category string `json:"category"`
	Call     struct {
		Args json.RawMessage `json:"args"`
	} `json:"call"`
	MustNotContain []string `json:"must_not_contain"`
	MustContain    []string `json:"must_contain"`
	Reason         string   `json:"reason"`
}

func TestSharedCases(t *testing.T) {
	t.Parallel()
	r := redact.New(nil)
	for line := range sharedCases(t) {
		var c sharedCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			args := parse(t, c.Call.Args)
			clean, removed := r.Args(args)
			check(t, c, write(t, clean))
			if c.Expect == "KEEP" && (len(removed) > 0 || !cmp.Equal(args, clean)) {
				t.Errorf("harmless, but %d parts were removed: %s", len(removed), c.Reason)
			}
			for _, v := range args { // and where the text alone is written
				if s, ok := v.(string); ok && len(args) == 1 && !strings.HasPrefix(c.ID, "red-key") && !strings.HasPrefix(c.ID, "red-structure") && c.Category != "name" {
					check(t, c, write(t, map[string]any{"text": r.Text(s)}))
				}
			}
		})
	}
}

// sharedCases gives the rows of the files that have cases of redaction.
func sharedCases(t *testing.T) iter.Seq[[]byte] {
	t.Helper()
	var rows []byte
	for _, name := range []string{"redaction.jsonl", "redaction-more.jsonl"} {
		file, err := os.ReadFile("../../test/cases/" + name)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, file...)
	}
	return bytes.Lines(rows)
}

func check(t *testing.T, c sharedCase, got string) {
	t.Helper()
	for _, s := range c.MustNotContain {
		if strings.Contains(got, s) {
			t.Errorf("%s is left in %.300s: %s", s, got, c.Reason)
		}
	}
	for _, s := range c.MustContain {
		if !strings.Contains(got, s) {
			t.Errorf("%s is gone from %.300s: %s", s, got, c.Reason)
		}
	}
}

func parse(t testing.TB, doc []byte) map[string]any {
	t.Helper()
	v, err := strictjson.Parse(doc)
	if err != nil {
		t.Fatal(err)
	}
	obj, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("%T is no object", v)
	}
	return obj
}

func write(t testing.TB, v any) string {
	t.Helper()
	out, err := strictjson.Append(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

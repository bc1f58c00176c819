package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

func TestADamagedLogIsRepairedOnlyWithAWordFromSomebody(t *testing.T) {
	dir := t.TempDir()
	l, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := l.Append(t.Context(), "acme/policy", &audit.Record{Kind: audit.KindDecision, Decision: "Deny"}); err != nil {
			t.Fatal(err)
		}
	}
	code, out, errOut := hookpolicy(t, "", "audit", "repair", dir)
	if code != exitFailed || !strings.Contains(errOut, "stop the service first") {
		t.Errorf("of a log in use: %d, %s%s", code, out, errOut)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := hookpolicy(t, "", "audit", "repair", dir); code != exitOK || !strings.Contains(out, "Nothing keeps this log") {
		t.Errorf("of a good log: %d, %s", code, out)
	}

	name := filepath.Join(dir, "t", store.TenantID("acme/policy"), "log", "00000000000000000000.jsonl")
	chain, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, chain[:len(chain)-10], 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ = hookpolicy(t, "", "audit", "repair", dir)
	if code != exitFailed || !strings.Contains(out, "acme/policy: keeps 4 records, loses at least 1") || !strings.Contains(out, "--accept-loss") {
		t.Errorf("without a word: %d, %s", code, out)
	}
	if now, err := os.ReadFile(name); err != nil || len(now) != len(chain)-10 {
		t.Errorf("without a word the chain has changed: %v", err)
	}
	if code, out, _ := hookpolicy(t, "", "audit", "repair", "--accept-loss", dir); code != exitOK || !strings.Contains(out, "Repaired") {
		t.Errorf("with a word: %d, %s", code, out)
	}
	now, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(now), `"kind":"gap"`) || !strings.Contains(string(now), "(uid ") {
		t.Errorf("no gap is recorded: %v\n%s", err, now)
	}
	if code, out, _ := hookpolicy(t, "", "audit", "verify", dir); code != exitOK {
		t.Errorf("after it: %d, %s", code, out)
	}
	if code, _, errOut := hookpolicy(t, "", "audit", "repair", t.TempDir()); code != exitFailed || !strings.Contains(errOut, "no audit log is here") {
		t.Errorf("of nothing: %d, %s", code, errOut)
	}
}

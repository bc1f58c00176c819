package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestQuantilesAreOfTheSortedValues(t *testing.T) {
	values := []time.Duration{5, 1, 4, 2, 3}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 3, 0.99: 5, 1: 5} {
		if got := quantile(values, q); got != want {
			t.Errorf("quantile %v of %v is %d, want %d", q, values, got, want)
		}
	}
	if values[0] != 5 {
		t.Error("the values were sorted in place")
	}
}

func TestARequestHasItsNumberInEveryHole(t *testing.T) {
	r := decide(newText)
	text := append([]byte(nil), r.text...)
	r.number(text, 123)
	r.number(text, 45) // what stood there before does not show
	if got := strings.Count(string(text), "000000000045"); got != 2 {
		t.Errorf("the number stands in %d places, want 2:\n%s", got, text)
	}
	if len(text) != len(r.text) || strings.Contains(string(text), "@") {
		t.Errorf("the request lost its form:\n%s", text)
	}
}

func TestTheSizeOfABodyIsReadFromTheHeader(t *testing.T) {
	for header, want := range map[string]int{
		"HTTP/1.1 200 OK\r\nContent-Length: 17\r\nX: y\r\n": 17,
		"HTTP/1.1 200 OK\r\nX: y\r\n":                       -1,
		"HTTP/1.1 503 No\r\nContent-Length: 17\r\n":         -1,
	} {
		got, err := bodySize([]byte(header))
		if want >= 0 && (err != nil || got != want) || want < 0 && err == nil {
			t.Errorf("%q: got %d, %v", header, got, err)
		}
	}
}

func TestOnlyTheGeneratedPartOfThePageIsRewritten(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	for _, old := range []string{"", "old figures\n"} {
		if err := os.WriteFile(page, []byte("before\n"+beginMark+old+endMark+"after\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := rewritePage(page, "new figures\n"); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if want := "before\n" + beginMark + "\nnew figures\n\n" + endMark + "after\n"; string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if err := os.WriteFile(page, []byte("no marks\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if rewritePage(page, "x") == nil {
		t.Error("a page without a generated part was rewritten")
	}
}

func TestARowThatIsNotMeasuredSaysWhy(t *testing.T) {
	r := report{rows: []row{{what: "a", budget: "≤ 1", measured: "2"}, {what: "b", budget: "≤ 1", measured: "1", met: true}, {what: "c", open: "no cluster", met: true}}}
	text := r.markdown()
	for _, want := range []string{"| a | ≤ 1 | 2 | **no** |", "| b | ≤ 1 | 1 | yes |", "| c |  | not yet: no cluster | – |"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}

package cases_test

import (
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/test/cases"
)

func TestEveryCaseHasANameOfItsOwnAndAnExpectation(t *testing.T) {
	names, err := cases.Names("*")
	if err != nil || len(names) < 5 {
		t.Fatalf("files %v: %v", names, err)
	}
	seen := make(map[string]bool)
	for _, name := range names {
		all, err := cases.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			if c.ID == "" || seen[c.ID] || c.Expect == "" || len(c.Call) == 0 || !c.Accepts(c.Expect) {
				t.Errorf("%s: case %q has no name of its own, no call, or expects nothing", name, c.ID)
			}
			seen[c.ID] = true
			if strings.Contains(string(c.Call), `"$gen"`) {
				t.Errorf("%s: %s is not written out", name, c.ID)
			}
		}
	}
}

func TestPlacesOfTheTestAreFilledIn(t *testing.T) {
	all, err := cases.Read("paths", "$T", "/here")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if strings.Contains(string(c.Line), "$T") {
			t.Errorf("%s still holds the mark", c.ID)
		}
	}
}

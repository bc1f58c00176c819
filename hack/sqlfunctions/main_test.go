package main

import (
	"strings"
	"testing"
)

func TestAVolatileFunctionWithoutAnEffectStopsTheGenerator(t *testing.T) {
	var out strings.Builder
	err := run(strings.NewReader("pg_new_thing\tiv\tpostgres\t99.0\n"), &out)
	if err == nil || !strings.Contains(err.Error(), "pg_new_thing") {
		t.Errorf("error %v does not name the function", err)
	}
}

func TestFunctionsAreSortedIntoTheirEffects(t *testing.T) {
	var out strings.Builder
	rows := "some_pure\ti\tpostgres\t99.0\nsome_read\tis\tpostgres\t99.0\npg_ls_dir\tv\tpostgres\t99.0\nsneaky\ti\tnobody_knows\t99.0\n"
	if err := run(strings.NewReader(rows), &out); err != nil {
		t.Fatal(err)
	}
	section := func(name string) string {
		_, rest, _ := strings.Cut(out.String(), "\n["+name+"]\n")
		body, _, _ := strings.Cut(rest, "\n[")
		return " " + strings.Join(strings.Fields(body), " ") + " "
	}
	for name, effect := range map[string]string{"some_pure": "pure", "some_read": "reads", "pg_ls_dir": "file"} {
		if !strings.Contains(section(effect), " "+name+" ") {
			t.Errorf("%s is not in %s", name, effect)
		}
	}
	if strings.Contains(out.String(), "sneaky") {
		t.Error("a function of an extension that is not trusted is in the catalogue")
	}
}

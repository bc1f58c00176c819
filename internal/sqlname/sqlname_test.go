package sqlname_test

import (
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/sqlname"
)

func TestNamesAreReadAsTheServerReadsThem(t *testing.T) {
	for text, want := range map[string][2]string{
		"orders":           {"", "orders"},
		"Sales.Orders":     {"sales", "orders"},
		` "Sales" . Order`: {"Sales", "order"},
		`"a.b"`:            {"", "a.b"},
		`"say ""hi"""`:     {"", `say "hi"`},
		"db.s.t":           {"s", "t"},
		`"12"`:             {"", "12"},
		"ÄB":               {"", "Äb"},
	} {
		schema, name, ok := sqlname.Split(text)
		if !ok || schema != want[0] || name != want[1] {
			t.Errorf("%s: %q, %q, %t", text, schema, name, ok)
		}
	}
	for _, text := range []string{"", " ", ".", "a.", ".a", "a..b", `"a`, `""`, "12", "a b", `a"b"`} {
		if schema, name, ok := sqlname.Split(text); ok {
			t.Errorf("%q is read as %q, %q", text, schema, name)
		}
	}
}

func TestPatternsStandForNames(t *testing.T) {
	for _, tc := range []struct {
		pattern, schema, name string
		want                  bool
	}{
		{"orders", "public", "orders", true},
		{"orders", "public", "orders2", false},
		{"Orders", "public", "orders", true},
		{`"Orders"`, "public", "orders", false},
		{`"Orders"`, "public", "Orders", true},
		{"sales.*", "sales", "orders", true},
		{"sales.*", "sales2", "orders", false},
		{"*.secrets", "a", "secrets", true},
		{"*.secrets", "a", "my_secrets", false},
		{"public.tmp_*_x", "public", "tmp_1_x", true},
		{"public.tmp_*_x", "public", "tmp_x", false},
		{"a*a", "s", "a", false},
		{"a*b*c", "s", "aXbYc", true},
		{"a*b*c", "s", "acb", false},
		{`"a*"`, "s", "ab", false},
		{`"a*"`, "s", "a*", true},
		{"st_*", "public", "st_area", true},
		{"*", "", "anything.at all", true},
	} {
		p, err := sqlname.Parse(tc.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if p.Match(tc.schema, tc.name) != tc.want {
			t.Errorf("%s and %q.%q: want %t", tc.pattern, tc.schema, tc.name, tc.want)
		}
	}
	if (sqlname.Pattern{}).Match("", "") {
		t.Error("the zero pattern stands for something")
	}
	for _, text := range []string{"", "a.b.c", "a..b", `"a`, "a b", `x"y"`} {
		if _, err := sqlname.Parse(text); err == nil {
			t.Errorf("%q is a pattern", text)
		}
	}
}

func FuzzPatternsStandForThemselves(f *testing.F) {
	f.Add("a", "b")
	f.Add(`s"`, "*.")
	f.Fuzz(func(t *testing.T, schema, name string) {
		quoted := `"` + double(schema) + `"."` + double(name) + `"`
		p, err := sqlname.Parse(quoted)
		if err != nil {
			if schema != "" && name != "" {
				t.Fatalf("%s: %v", quoted, err)
			}
			return
		}
		if !p.IsExact() || !p.Match(schema, name) || p.Match(schema, name+"x") {
			t.Fatalf("%s does not stand for itself alone", quoted)
		}
	})
}

func double(s string) string {
	var b []byte
	for i := range len(s) {
		if s[i] == '"' {
			b = append(b, '"')
		}
		b = append(b, s[i])
	}
	return string(b)
}

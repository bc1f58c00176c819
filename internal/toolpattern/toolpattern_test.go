package toolpattern_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/toolpattern"
)

func TestAPatternMatchesNamesOfTools(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"bash", "bash", true}, {"bash", "Bash", true}, {"bash", "bash2", false}, {"bash", "", false}, {"", "", true},
		{"delete_*", "delete_file", true}, {"delete_*", "delete_", true}, {"delete_*", "undelete_file", false}, {"delete_*", "delete", false},
		{"*_delete", "file_delete", true}, {"*_delete", "file_deleted", false}, {"*", "anything", true}, {"*", "", true},
		{"a*a", "a", false}, {"a*a", "aa", true}, {"a*b*a", "aba", true}, {"a*b*b*a", "aba", false},
		{"get_*_by_*", "get_user_by_id", true}, {"get_*_by_*", "get_user", false},
		{"delete_*", "mcp__files__delete_file", true}, {"delete_*", "mcp__a__b__delete_file", true}, {"files", "mcp__files__delete_file", false},
		{"a.b", "axb", false}, {"[a]", "a", false},
	} {
		if got := toolpattern.New(tc.pattern).Match(tc.name); got != tc.want {
			t.Errorf("%q and %q: %t", tc.pattern, tc.name, got)
		}
	}
}

// FuzzPattern holds patterns against regular expressions.
func FuzzPattern(f *testing.F) {
	f.Add("get_*_by_*", "get_user_by_id")
	f.Add("*a*", "banana")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if strings.Contains(name, "__") || strings.ToLower(pattern) != pattern || strings.ToLower(name) != name {
			t.Skip()
		}
		expr := "(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$"
		re, err := regexp.Compile(expr)
		if err != nil {
			t.Skip()
		}
		if got, want := toolpattern.New(pattern).Match(name), re.MatchString(name); got != want {
			t.Errorf("%q and %q: %t, want %t", pattern, name, got, want)
		}
	})
}

package approval_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/hookpolicy/hookpolicy/internal/approval"
)

func TestSafeShowsWhatWouldHideOrMove(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"plain text":                           {"DELETE FROM orders WHERE id = 7", "DELETE FROM orders WHERE id = 7"},
		"letters of any script":                {"Zürich 東京 नमस्ते ёж ไทย", "Zürich 東京 नमस्ते ёж ไทย"},
		"ANSI sequence":                        {"a\x1b[2K\x1b[1Ab", `a\u{1b}[2K\u{1b}[1Ab`},
		"8-bit control sequence":               {"a\u009b2Kb", `a\u{9b}2Kb`},
		"line ends and tab":                    {"a\r\n\tb", `a\r\n\tb`},
		"backspace and NUL":                    {"a\b\x00b", `a\u{8}\u{0}b`},
		"bidi override":                        {"a\u202eb", `a\u{202e}b`},
		"bidi isolates":                        {"a\u2066\u2069b", `a\u{2066}\u{2069}b`},
		"implicit bidi marks":                  {"\u061c\u200e\u200f", `\u{61c}\u{200e}\u{200f}`},
		"zero width":                           {"a\u200b\u200d\u2060\ufeffb", `a\u{200b}\u{200d}\u{2060}\u{feff}b`},
		"soft hyphen":                          {"a\u00adb", `a\u{ad}b`},
		"tag characters":                       {"a\U000e0041b", `a\u{e0041}b`},
		"variation selectors":                  {"a\ufe0f\U000e0100b", `a\u{fe0f}\u{e0100}b`},
		"private use":                          {"a\ue000\U00100000b", `a\u{e000}\u{100000}b`},
		"line separators":                      {"a\u2028\u2029b", `a\u{2028}\u{2029}b`},
		"blanks that are no space":             {"a\u00a0\u3000\u3164\u2800b", `a\u{a0}\u{3000}\u{3164}\u{2800}b`},
		"joiner without a glyph":               {"a\u034fb", `a\u{34f}b`},
		"unassigned":                           {"a\u0378b", `a\u{378}b`},
		"bytes that are not UTF-8":             {"a\xff\xc3\xc3\xa9", `a\x{ff}\x{c3}é`},
		"the replacement character":            {"a\ufffdb", "a\ufffdb"},
		"an accent":                            {"e\u0301", "e\u0301"},
		"an accent on nothing":                 {"\u0338a", `\u{338}a`},
		"an accent on an escape":               {"\u200b\u0338a", `\u{200b}\u{338}a`},
		"stacked accents":                      {"e" + strings.Repeat("\u0301", 6), "e" + strings.Repeat("\u0301", 4) + `\u{301}\u{301}`},
		"a few spaces":                         {"a" + strings.Repeat(" ", 16) + "b", "a" + strings.Repeat(" ", 16) + "b"},
		"spaces that push a text out of sight": {"SELECT 1" + strings.Repeat(" ", 4000) + "; DELETE", `SELECT 1\u{20*4000}; DELETE`},
		"empty lines that do":                  {"a" + strings.Repeat("\n", 100) + "b", `a\u{a*100}b`},
		"an escape that is already one":        {`a\u{202e}b`, `a\u{202e}b`},
		"a mention is text":                    {"<!channel> **x**", "<!channel> **x**"},
		"nothing":                              {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := approval.Safe(tc.text, 500); got != tc.want {
				t.Errorf("Safe = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestSafeTellsTheLengthOfWhatItShortens(t *testing.T) {
	got := approval.Safe(strings.Repeat("é", 1000), 100)
	if want := strings.Repeat("é", 56) + "… [1000 characters in all]"; got != want {
		t.Errorf("Safe = %q, want %q", got, want)
	}
	if got := approval.Safe(strings.Repeat("x", 64), 0); got != strings.Repeat("x", 64) {
		t.Errorf("64 characters were shortened to %q", got)
	}
	if got := approval.Safe(strings.Repeat("\u202e\u202d", 100), 64); !strings.HasPrefix(got, `\u{202e}\u{202d}… [`) {
		t.Errorf("an escape was cut: %q", got)
	}
}

func FuzzSafe(f *testing.F) {
	for _, seed := range []string{"", "a\x1b[2Kb", "\u202e\u2066", "e\u0301\u0301\u0301\u0301\u0301", "\xff\xc3\xa9", strings.Repeat(" ", 40), `\u{20*17}`, "\u200b\u0338", strings.Repeat("x ", 100)} {
		f.Add(seed, 70)
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = min(limit, 1<<20)
		once := approval.Safe(text, limit)
		if again := approval.Safe(once, limit); again != once {
			t.Errorf("Safe(%q) = %q, and of that %q", text, once, again)
		}
		if n := utf8.RuneCountInString(once); n > max(limit, 64) {
			t.Errorf("%d characters, limit %d", n, limit)
		}
		if !utf8.ValidString(once) {
			t.Errorf("%q is not UTF-8", once)
		}
		for _, r := range once {
			if !unicode.IsPrint(r) || unicode.In(r, unicode.Variation_Selector, unicode.Cf, unicode.Co) {
				t.Errorf("%q holds %U", once, r)
			}
		}
	})
}

func BenchmarkSafe(b *testing.B) {
	for name, text := range map[string]string{
		"plain":  strings.Repeat("DELETE FROM orders; ", 20),
		"hidden": strings.Repeat("DELETE\u200bFROM ordérs; ", 20),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				approval.Safe(text, 4000)
			}
		})
	}
}

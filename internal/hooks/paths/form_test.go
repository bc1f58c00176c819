package paths_test

import (
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/hooks/paths"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

func TestAPathThatCouldBeReadAsAnotherIsRefusedByItsForm(t *testing.T) {
	h := newHook(t, plan.ResolveLexical, "/data", "/data", "/")
	for rule, list := range map[string][]string{
		"empty":     {""},
		"length":    {"/data/" + strings.Repeat("a/", 2046)},
		"encoding":  {"/data/\xff"},
		"control":   {"/data/a\x00.txt", "/data/a\nb", "/data/\x1b[2Ka", "/data/\x7f", "/data/\u0085", "/data/\u202egpj.exe", "/data/a\u200b", "/data/\ufeffa", "/data/.\u200d./x", "/data/\u200d..", "/data/..\ufe0f/x", "/data/a\u2028b", "/data/\u3164", "/data/\u00ad"},
		"blank":     {" /data/a", "/data/a ", "/data/a\u00a0", "\u3000/etc/passwd"},
		"backslash": {`C:\Windows`, `/data\a`, `\\server\share`, `..\..\x`},
		"network":   {"//server/share/x", "//data/a", "///etc"},
		"home":      {"~", "~/x", "~root/x"},
		"scheme":    {"file:///etc/passwd", "file:/etc/passwd", "FILE:x", "http://x/y", "s3://bucket/key", "data:text/plain,x", "C:/Windows", "c:x", "jar:file:/x", "/data/file:///etc/passwd"},
		"escape":    {"/data/..%2fx", "/data/%2e%2e/x", "/data/%2E./x", "/data/%252e%252e/x", "/data/a%00", "/data/%5cx", "/data/%c0%af", "/data/%c0%ae", "/data/%e0%80%af", "/data/%u002e", "/data/%0a"},
		"expansion": {"/data/*.txt", "/data/a?", "/data/{a,b}", "/data/{1..3}", "/data/{{x}}", "/data/{a", "${HOME}/x", "$HOME/x", "/data/$(id)", "`id`", "/data/a::$DATA", "$_"},
		"archive":   {"/data/up.zip!/../../etc/passwd"},
		"option":    {"-rf", "|id", "<x", ">x", `"/etc/passwd"`, "'/etc/passwd'", "id|"},
		"name":      {"/data/" + strings.Repeat("b", 256), "/data/\u2025/x", "/data/\uff0e\uff0e/x", "/data/.\uff0e/x", "/data/..\uff0fx", "/data/a\uff0fb", "/data/a\uff3cb", "/data/..\u2215x", "/data/..\u2044x", "/data/.. /x", "/data/ ../x", "/data/ /x", "/data/\u00a0/x", "/data/..\u29f8etc"},
	} {
		for _, path := range list {
			d := decide(t, h, tool, map[string]any{"path": path})
			if deny, ok := d.(chain.Deny); !ok || deny.Code != paths.CodeForm || deny.Rule != "path.form."+rule {
				t.Errorf("%+q: decided %#v, want path.form.%s", path, d, rule)
			}
		}
	}
}

func TestOrdinaryNamesThatLookOddAreNotRefused(t *testing.T) {
	h := newHook(t, plan.ResolveLexical, "/data", "/data")
	for _, path := range []string{
		"/data/my report (final).txt", "/data/...", "/data/..hidden", "/data/a..b", "/data/.config", "/data/a.txt~", "/data/x/~y", "/data/a%20b",
		"/data/100% sure.txt", "/data/50%", "/data/%41", "/data/10:30.csv", "2024-01-01T10:30.csv", "/data/R&D; plans.txt", "/data/a,b=c+d@e#f.txt",
		"/data/it's.txt", "/data/cost in $.csv", "/data/5$.csv", "/data/caf\u00e9.txt", "/data/cafe\u0301.txt", "/data/\u67e5\u8be2.txt",
		"/data/\u06a9\u062a\u0627\u0628\u200c\u0647\u0627", "/data/\U0001f468\u200d\U0001f469.png", "/data/\u2764\ufe0f.png", "/data/10.00\u202fAM.png",
		"/data/AC\u29f8DC.mp3", "/data/wait\u2026.txt", "/data/%E0%B8%81.txt", "/data/a!b", "/data/wow!", "/data/-x", "/data/Acme Inc./x", "/data/" + strings.Repeat("b", 255),
	} {
		if d := decide(t, h, tool, map[string]any{"path": path}); d.Effect() == chain.EffectDeny {
			t.Errorf("%+q: decided %#v", path, d)
		}
	}
}

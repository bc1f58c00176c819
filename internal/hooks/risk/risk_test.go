package risk_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/hooks/risk"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

func hook(t testing.TB, c plan.Context, r plan.Risk) chain.Hook {
	t.Helper()
	h, err := risk.New(&plan.Segment{Context: c}, &plan.Hook{Risk: &r})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func decide(t testing.TB, h chain.Hook, tool, args string) chain.Decision {
	t.Helper()
	v, err := strictjson.Parse([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	d, err := h.Decide(t.Context(), &chain.Call{Tool: tool, ToolAsCalled: tool, Args: v.(map[string]any)})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// levelOf is the level that the record says.
func levelOf(t testing.TB, d chain.Decision) string {
	t.Helper()
	var facts map[string]any
	switch d := d.(type) {
	case chain.Allow:
		facts = d.Facts
	case chain.AskUser:
		facts = d.Facts
	default:
		t.Fatalf("decision %T", d)
	}
	return facts["level"].(string)
}

var words = []string{"--force", "-rf", "prod", "production"}

func TestTheHighestRuleCountsAndConditionsNarrowIt(t *testing.T) {
	h := hook(t, plan.Context{}, plan.Risk{Default: plan.RiskMedium, Medium: plan.VerdictAsk, Rules: []plan.RiskRule{
		{Match: "read_*", Level: plan.RiskLow}, {Match: "*_secret", Level: plan.RiskHigh},
		{Match: "deploy", Level: plan.RiskLow}, {Match: "deploy", Level: plan.RiskHigh, Conditions: []plan.RiskCondition{{Path: "env", Values: []string{"live"}}, {Path: "size", Matches: "[0-9]{3,}"}}},
	}})
	for _, tc := range []struct{ tool, args, want string }{
		{"read_file", `{}`, "Low"}, {"mcp__fs__read_file", `{}`, "Low"}, {"Read_File", `{}`, "Low"},
		{"read_secret", `{}`, "High"}, {"other", `{}`, "Medium"},
		{"deploy", `{"env":"live","size":100}`, "High"}, {"deploy", `{"env":"live","size":9}`, "Low"}, {"deploy", `{"env":["live"],"size":100}`, "Low"}, {"deploy", `{}`, "Low"},
	} {
		if got := levelOf(t, decide(t, h, tc.tool, tc.args)); got != tc.want {
			t.Errorf("%s %s: %s, want %s", tc.tool, tc.args, got, tc.want)
		}
	}
}

func TestWhatThePolicyVouchesForRaisesTheRisk(t *testing.T) {
	for name, tc := range map[string]struct {
		context plan.Context
		want    string
	}{
		"nothing":               {plan.Context{}, "Low"},
		"production":            {plan.Context{Environment: "Production"}, "Medium"},
		"a test environment":    {plan.Context{Environment: "staging", Branch: "feature/prod", ProjectKind: "toys"}, "Low"},
		"a protected branch":    {plan.Context{Branch: "main"}, "Medium"},
		"a release branch":      {plan.Context{Branch: "release/1.2"}, "Medium"},
		"a risky project":       {plan.Context{ProjectKind: "finance"}, "Medium"},
		"all of them, one step": {plan.Context{Environment: "prod", Branch: "master", ProjectKind: "auth"}, "Medium"},
	} {
		h := hook(t, tc.context, plan.Risk{Default: plan.RiskLow, Medium: plan.VerdictAsk})
		d := decide(t, h, "t", `{}`)
		if got := levelOf(t, d); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
		if ask, ok := d.(chain.AskUser); ok && len(ask.RiskReasons) == 0 {
			t.Errorf("%s: nobody is told why", name)
		}
	}
}

func TestSensitiveWordsAreWords(t *testing.T) {
	h := hook(t, plan.Context{}, plan.Risk{Default: plan.RiskLow, Medium: plan.VerdictAsk, SensitiveWords: words})
	for args, raises := range map[string]bool{
		`{"env":"prod"}`: true, `{"env":"PROD"}`: true, `{"env":"prod-eu-1"}`: true, `{"host":"db.prod.example"}`: true, `{"a":{"b":["x","see prod, now"]}}`: true,
		`{"env":"non-prod"}`: false, `{"env":"pre-prod"}`: false, `{"name":"product"}`: false, `{"name":"reproduce"}`: false, `{"sql":"SELECT * FROM masterdata_domain"}`: false,
		`{"prod":"x"}`: false, `{"cmd":"git push --force"}`: true, `{"cmd":"git push --force-with-lease"}`: false, `{"cmd":"rm -rf /tmp/x"}`: true, `{"cmd":"rm '-rf' x"}`: true,
		`{"cmd":"perf -rfx"}`: false, `{"n":1,"b":true,"z":null}`: false,
		`{"branch":"main"}`: true, `{"ref":"refs/heads/release/2"}`: true, `{"branch":"maintenance"}`: false, `{"menu":"main"}`: false,
	} {
		want := map[bool]string{true: "Medium", false: "Low"}[raises]
		if got := levelOf(t, decide(t, h, "t", args)); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

func TestHighAsksMediumAsThePolicySaysLowPasses(t *testing.T) {
	for _, tc := range []struct {
		level  plan.RiskLevel
		medium plan.Verdict
		code   string // "": it passes
		risk   chain.Risk
	}{
		{plan.RiskHigh, plan.VerdictAllow, risk.CodeHigh, chain.RiskHigh}, {plan.RiskMedium, plan.VerdictAsk, risk.CodeMedium, chain.RiskMedium},
		{plan.RiskMedium, plan.VerdictAllow, "", ""}, {plan.RiskLow, plan.VerdictAsk, "", ""}, {"", plan.VerdictAllow, risk.CodeHigh, chain.RiskHigh},
	} {
		d := decide(t, hook(t, plan.Context{}, plan.Risk{Default: tc.level, Medium: tc.medium}), "t", `{}`)
		ask, asks := d.(chain.AskUser)
		if asks != (tc.code != "") || ask.Code != tc.code || ask.Risk != tc.risk {
			t.Errorf("%s with medium %s: %+v", tc.level, tc.medium, d)
		}
	}
}

func TestNothingOfTheArgumentsIsInWhatIsSaid(t *testing.T) {
	h := hook(t, plan.Context{}, plan.Risk{Default: plan.RiskHigh, Medium: plan.VerdictAsk, SensitiveWords: words})
	text, err := json.Marshal(decide(t, h, "t", `{"note":"prod canary-7f3a","branch":"main canary-7f3a"}`))
	if err != nil || strings.Contains(string(text), "canary") {
		t.Errorf("%v: %s", err, text)
	}
}

func FuzzDecideNeverLowersTheRisk(f *testing.F) {
	f.Add("read_file", `{"env":"prod"}`)
	f.Add("x", `{"branch":"main","a":[["--force"]]}`)
	rank := map[string]int{"Low": 0, "Medium": 1, "High": 2}
	r := plan.Risk{Default: plan.RiskLow, Medium: plan.VerdictAllow, SensitiveWords: words, Rules: []plan.RiskRule{{Match: "*write*", Level: plan.RiskMedium}}}
	plain, raised := hook(f, plan.Context{}, r), hook(f, plan.Context{Environment: "prod"}, r)
	f.Fuzz(func(t *testing.T, tool, args string) {
		v, err := strictjson.Parse([]byte(args))
		object, ok := v.(map[string]any)
		if err != nil || !ok {
			t.Skip()
		}
		call := &chain.Call{Tool: tool, ToolAsCalled: tool, Args: object}
		low, err1 := plain.Decide(t.Context(), call)
		high, err2 := raised.Decide(t.Context(), call)
		if err1 != nil || err2 != nil || rank[levelOf(t, high)] < rank[levelOf(t, low)] {
			t.Errorf("%v %v: %+v, then %+v", err1, err2, low, high)
		}
	})
}

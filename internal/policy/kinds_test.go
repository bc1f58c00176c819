package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/plan/stmtclass"
	"github.com/hookpolicy/hookpolicy/internal/policy"
)

func TestRootsOfAPathAllowlist(t *testing.T) {
	for name, tc := range map[string]struct {
		fields string
		want   []string
	}{
		"the namespace's data directory":          {"", []string{"/data/customer-a"}},
		"and the working directory when declared": {"workingDirectory: /work", []string{"/data/customer-a", "/work"}},
		"once, when they are the same":            {"workingDirectory: /data/customer-a", []string{"/data/customer-a"}},
		"those of the policy and no other":        {"roots: [/srv, /a b], workingDirectory: /srv/x", []string{"/a b", "/srv"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := compiled(t, hook("pathAllowlist", tc.fields)).Hooks[0].PathAllowlist
			if !cmp.Equal(got.Roots, tc.want) {
				t.Errorf("got %q, want %q", got.Roots, tc.want)
			}
		})
	}
}

func TestARiskHookHasTheDefaultsOfItsBaseline(t *testing.T) {
	for fields, want := range map[string]plan.Risk{
		"":                                     {Default: plan.RiskMedium, Medium: plan.VerdictAsk},
		"baseline: personal-learning":          {Default: plan.RiskMedium, Medium: plan.VerdictAllow},
		"baseline: production-service":         {Default: plan.RiskHigh, Medium: plan.VerdictAsk},
		"baseline: open-source":                {Default: plan.RiskMedium, Medium: plan.VerdictAllow},
		"baseline: open-source, medium: Ask":   {Default: plan.RiskMedium, Medium: plan.VerdictAsk},
		"baseline: team-project, default: Low": {Default: plan.RiskLow, Medium: plan.VerdictAsk},
	} {
		seg, _, errs := policy.Compile(tenant(t, hook("risk", fields)))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		h := seg.Hooks[0]
		if h.Risk.Default != want.Default || h.Risk.Medium != want.Medium || !h.AllTools || len(h.Patterns) > 0 || len(h.Risk.Rules) < 64 || len(h.Risk.SensitiveWords) == 0 {
			t.Errorf("%s: %+v", fields, h)
		}
	}
}

func TestWhatARiskHookNamesIsKnownToThePolicy(t *testing.T) {
	seg, _, errs := policy.Compile(tenant(t, hook("risk", `sensitiveWords: [], tools: [{match: "Deploy*", level: High, arguments: [{path: env, values: [b, a]}]}]`)))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	want := plan.Hook{
		Name: "h", Kind: plan.KindRisk, FailurePolicy: plan.FailureDeny, TimeoutMilliseconds: 1000, AllTools: true, Patterns: []string{"deploy*"},
		Risk: &plan.Risk{Default: plan.RiskMedium, Medium: plan.VerdictAsk, Rules: []plan.RiskRule{
			{Match: "deploy*", Level: plan.RiskHigh, Conditions: []plan.RiskCondition{{Path: "env", Values: []string{"a", "b"}}}},
		}},
	}
	if diff := cmp.Diff(want, seg.Hooks[0], cmpopts.IgnoreFields(plan.Hook{}, "Name")); diff != "" {
		t.Errorf("hook (-want +got):\n%s", diff)
	}
}

func TestARootHasOneNameHoweverItIsWritten(t *testing.T) {
	for _, root := range []string{"/data/a", "/data/a/", "/data//a", "//data/a", "/data/./a", "/data/b/../a"} {
		seg, warnings, errs := policy.Compile(tenant(t, hook("pathAllowlist", "roots: ['"+root+"']")))
		if len(errs) > 0 || !slices.Equal(seg.Hooks[0].PathAllowlist.Roots, []string{"/data/a"}) {
			t.Errorf("%s: %v", root, errs)
		}
		if climbs := strings.Contains(root, ".."); climbs != (len(warnings) > 0) {
			t.Errorf("%s: warnings %q", root, warnings)
		}
	}
}

func TestRootsThatAreRefused(t *testing.T) {
	const at = "spec.hooks[0].pathAllowlist."
	root := func(dir string) string { return hook("pathAllowlist", `roots: ["`+dir+`"]`) }
	checkRefusals(t, map[string]refusal{
		"a relative one":                  {root("data/a"), at + "roots[0]", "must be an absolute path"},
		"one from home":                   {root("~/a"), at + "roots[0]", "must be an absolute path"},
		"an empty one":                    {root(""), at + "roots[0]", "must be an absolute path"},
		"the root of all":                 {root("/"), at + "roots[0]", "must not be / itself"},
		"the root of all, disguised":      {root("/a/.."), at + "roots[0]", "must not be / itself"},
		"two slashes":                     {root("//"), at + "roots[0]", "must not be / itself"},
		"the process table, disguised":    {root("/data/../proc"), at + "roots[0]", "/proc"},
		"one with a NUL":                  {root(`/data\0`), at + "roots[0]", "control"},
		"one with a newline":              {root(`/da\nta`), at + "roots[0]", "control"},
		"one that turns text around":      {root(`/data/\u202egpj`), at + "roots[0]", "invisible"},
		"one with a space at its end":     {root("/data "), at + "roots[0]", "white space"},
		"one in the process table":        {root("/proc/self/root"), at + "roots[0]", "/proc"},
		"the devices":                     {root("/dev"), at + "roots[0]", "/dev"},
		"one that is too long":            {root("/" + strings.Repeat("a", 1024)), at + "roots[0]", "Too long"},
		"one that stands twice":           {hook("pathAllowlist", "roots: [/a, /a]"), at + "roots[1]", "Duplicate"},
		"a relative working directory":    {hook("pathAllowlist", "workingDirectory: a"), at + "workingDirectory", "must be an absolute path"},
		"everything as working directory": {hook("pathAllowlist", "workingDirectory: /"), at + "workingDirectory", "must not be / itself"},
		"links resolved by nobody known":  {hook("pathAllowlist", "resolve: Client"), at + "resolve", `"Service", "Agent", "Lexical"`},
	})
}

func TestOverridesReachThePlan(t *testing.T) {
	got := compiled(t, hook("destructiveSQL", `maxBytes: 100, unknownFunctions: Allow, overrides: [
    {statement: UpdateStmt, decision: Allow}, {class: admin, decision: Deny}, {statement: InsertStmt, decision: AskUser},
    {class: forbidden, decision: Deny}, {statement: CopyStmt, decision: Deny}]`)).Hooks[0].DestructiveSQL
	want := &plan.DestructiveSQL{
		Dialect: plan.DialectPostgres, MaxBytes: 100, UnknownFunctions: plan.VerdictAllow,
		Overrides: []plan.Override{
			{Statement: "UpdateStmt", Decision: plan.VerdictAllow}, {Class: "admin", Decision: plan.VerdictDeny},
			{Statement: "InsertStmt", Decision: plan.VerdictAsk}, {Class: "forbidden", Decision: plan.VerdictDeny},
			{Statement: "CopyStmt", Decision: plan.VerdictDeny},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOverridesThatAreRefused(t *testing.T) {
	const at = "spec.hooks[0].destructiveSQL.overrides"
	over := func(items string) string { return hook("destructiveSQL", "overrides: ["+items+"]") }
	checkRefusals(t, map[string]refusal{
		"for nothing":                               {over("{decision: Deny}"), at + "[0]", "needs a class or a statement"},
		"for both":                                  {over("{class: read, statement: SelectStmt, decision: Deny}"), at + "[0]", "a class or for a statement"},
		"without a decision":                        {over("{class: read}"), at + "[0].decision", "one of Allow, AskUser and Deny"},
		"with another decision":                     {over("{class: read, decision: Ask}"), at + "[0].decision", `"Allow", "AskUser", "Deny"`},
		"for an unknown class":                      {over("{class: reads, decision: Deny}"), at + "[0].class", `"read", "write"`},
		"for an unknown statement":                  {over("{statement: Insert, decision: Deny}"), at + "[0].statement", "did you mean InsertStmt?"},
		"for a statement nobody knows":              {over("{statement: Frobnicate, decision: Deny}"), at + "[0].statement", "no statement of PostgreSQL's grammar"},
		"for a wrapper":                             {over("{statement: RawStmt, decision: Deny}"), at + "[0].statement", "only wraps"},
		"twice for a class":                         {over("{class: read, decision: Deny}, {class: read, decision: AskUser}"), at + "[1]", "Duplicate"},
		"to an unknown answer to unknown functions": {hook("destructiveSQL", "unknownFunctions: AskUser"), "spec.hooks[0].destructiveSQL.unknownFunctions", `"Ask", "Allow", "Deny"`},
		"to a text that is too long":                {hook("destructiveSQL", "maxBytes: 32769"), "spec.hooks[0].destructiveSQL.maxBytes", "between 1 and 32768"},
	})
}

// TestNoOverrideLoosensADeny goes through the whole grammar.
func TestNoOverrideLoosensADeny(t *testing.T) {
	loosens := func(key, name, decision string) bool {
		_, _, errs := policy.Compile(tenant(t, hook("destructiveSQL", "overrides: [{"+key+": "+name+", decision: "+decision+"}]")))
		return len(errs) == 0
	}
	for _, node := range stmtclass.Nodes() {
		_, decision, _ := stmtclass.Class(node)
		if decision != stmtclass.Deny {
			continue
		}
		if loosens("statement", node, "Allow") || loosens("statement", node, "AskUser") {
			t.Errorf("%s was loosened", node)
		}
		if !loosens("statement", node, "Deny") {
			t.Errorf("%s could not be denied", node)
		}
	}
	if loosens("class", "forbidden", "Allow") || loosens("class", "forbidden", "AskUser") {
		t.Error("class forbidden was loosened")
	}
}

func TestRewriteReachesThePlan(t *testing.T) {
	h := compiled(t, hook("rewrite", `tools: [u, t], remove: [z, w], set: {read_only: true, "a.b": {d: [1.50, null], c: "<x>"}, num: 12345678901234567}`)).Hooks[0]
	want := plan.Hook{
		Name: "h", Kind: plan.KindRewrite, FailurePolicy: plan.FailureDeny, TimeoutMilliseconds: 1000,
		Tools: []string{"t", "u"}, Sets: []string{"a.b", "num", "read_only"},
		Rewrite: &plan.Rewrite{
			Set: []plan.Assignment{
				{Path: "a.b", Value: `{"c":"<x>","d":[1.5,null]}`},
				{Path: "num", Value: "12345678901234567"},
				{Path: "read_only", Value: "true"},
			},
			Remove: []string{"w", "z"},
		},
	}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRewritesThatAreRefused(t *testing.T) {
	const at = "spec.hooks[0].rewrite"
	rewrite := func(fields string) string { return hook("rewrite", fields) }
	checkRefusals(t, map[string]refusal{
		"without tools":                 {rewrite("remove: [a]"), at + ".tools", "Required"},
		"of a pattern of tools":         {rewrite(`tools: ["*"], remove: [a]`), at + ".tools[0]", "wildcards"},
		"of a tool twice":               {rewrite("tools: [t, t], remove: [a]"), at + ".tools[1]", "Duplicate"},
		"of nothing":                    {rewrite("tools: [t]"), at, "needs set, remove or sqlLimit"},
		"of an empty set":               {rewrite("tools: [t], set: {}"), at + ".set", "at least one"},
		"of a path that cannot be read": {rewrite(`tools: [t], set: {"a..b": 1}`), at + ".set[a..b]", "cannot be read"},
		"that consents":                 {rewrite("tools: [t], set: {confirm_destructive: true}"), at + ".set[confirm_destructive]", "reserved"},
		"that names an approval":        {rewrite("tools: [t], set: {hook_approval: x}"), at + ".set[hook_approval]", "reserved"},
		"that takes an approval away":   {rewrite("tools: [t], remove: [hook_approval]"), at + ".remove[0]", "reserved"},
		"that sets and removes":         {rewrite("tools: [t], set: {a: 1}, remove: [a]"), at + ".remove[0]", "written by " + at + ".set[a]"},
		"that sets and removes within":  {rewrite("tools: [t], set: {a: 1}, remove: [a.b]"), at + ".remove[0]", "written by"},
		"that sets within what it sets": {rewrite(`tools: [t], set: {a: 1, "a[*].b": 1}`), at + ".set[a[*].b]", "written by"},
		"that removes twice":            {rewrite(`tools: [t], remove: [a, '\a']`), at + ".remove[1]", "written by"},
		"to a value that is too long":   {rewrite("tools: [t], set: {a: " + strings.Repeat("x", 4096) + "}"), at + ".set[a]", "Too long"},
	})
}

func TestRewriteOfNeighboursIsNoOverlap(t *testing.T) {
	compiled(t, hook("rewrite", `tools: [t], set: {ab: 1, "a.b": 1, 'a\.b': 1}, remove: [abc, a.c]`))
}

func TestErrorsDoNotRepeatTheValuesThatARewriteSets(t *testing.T) {
	_, _, errs := policy.Compile(tenant(t, hook("rewrite", `tools: [t], set: {hook_approval: hunter2, a: `+strings.Repeat("hunter2", 1000)+`}`)))
	if text := problems(errs); len(errs) != 2 || strings.Contains(text, "hunter2") {
		t.Errorf("got %s", text)
	}
}

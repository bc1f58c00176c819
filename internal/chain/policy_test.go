package chain_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

func containsText(err error, want string) bool { return strings.Contains(err.Error(), want) }

func TestEnforcementReachesTheTenantsHooksOnly(t *testing.T) {
	s := scripted{
		"allows": allow, "denies": deny("no"), "asks": ask("q", chain.RiskMedium), "rewrites": set("b", "2"), "pins": set("pin", "1"),
	}
	untouched := map[string]any{"a": "1"}
	pinned := map[string]any{"a": "1", "pin": "1"}
	for name, tc := range map[string]struct {
		baseline, tenant string
		mode             plan.Enforcement
		want             answer
		would            chain.Effect
	}{
		"dry run answers allow where it would deny":       {"allows", "denies", plan.DryRun, answer{Effect: chain.EffectAllow, Args: untouched}, chain.EffectDeny},
		"dry run answers allow where it would ask":        {"allows", "asks", plan.DryRun, answer{Effect: chain.EffectAllow, Args: untouched}, chain.EffectAskUser},
		"dry run leaves the arguments alone":              {"allows", "rewrites", plan.DryRun, answer{Effect: chain.EffectAllow, Args: untouched}, chain.EffectRewrite},
		"a baseline denies in dry run":                    {"denies", "allows", plan.DryRun, answer{Effect: chain.EffectDeny, Code: "no", Hook: "denies"}, chain.EffectDeny},
		"a baseline rewrites in dry run":                  {"pins", "rewrites", plan.DryRun, answer{Effect: chain.EffectRewrite, Hook: "pins", Args: pinned}, chain.EffectRewrite},
		"off runs no tenant hook":                         {"allows", "denies", plan.Off, answer{Effect: chain.EffectAllow, Args: untouched}, ""},
		"a baseline asks while the tenant is off":         {"asks", "denies", plan.Off, answer{Effect: chain.EffectAskUser, Code: "q", Hook: "asks", Args: untouched}, ""},
		"enforced, the baseline runs first":               {"denies", "asks", plan.Enforce, answer{Effect: chain.EffectDeny, Code: "no", Hook: "denies"}, ""},
		"a mode that nobody has heard of enforces":        {"allows", "denies", "Sometimes", answer{Effect: chain.EffectDeny, Code: "no", Hook: "denies"}, ""},
		"a tenant's rewrite is judged by the baseline":    {"pins", "rewrites", plan.Enforce, answer{Effect: chain.EffectRewrite, Hook: "pins", Args: map[string]any{"a": "1", "b": "2", "pin": "1"}}, ""},
		"a tenant's deny stands beside a baseline's ask":  {"asks", "denies", plan.Enforce, answer{Effect: chain.EffectDeny, Code: "no", Hook: "denies"}, ""},
		"a baseline's ask stands beside a tenant's allow": {"asks", "allows", plan.Enforce, answer{Effect: chain.EffectAskUser, Code: "q", Hook: "asks", Args: untouched}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := &plan.Plan{Baseline: []*plan.Segment{segment("", hook(tc.baseline))}, Tenant: segment("team", hook(tc.tenant))}
			p.Tenant.Enforcement = tc.mode
			r := build(t, p, s).Decide(t.Context(), call(map[string]any{"a": "1"}))
			if diff := cmp.Diff(tc.want, summary(r)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			var would chain.Effect
			if r.Would != nil {
				would = r.Would.Effect()
			}
			if would != tc.would {
				t.Errorf("would be %q, want %q", would, tc.would)
			}
		})
	}
}

func TestToolsAreKnownByTheirExactNames(t *testing.T) {
	c := build(t, tenant(hook("h")), scripted{"h": deny("judged")})
	for name, tc := range map[string]struct {
		tool string
		want string
	}{
		"the name":                        {"db_query_sql", "judged"},
		"behind an MCP prefix":            {"mcp__postgres__db_query_sql", "judged"},
		"upper case":                      {"DB_QUERY_SQL", chain.CodeToolLookalike},
		"behind a prefix, upper case":     {"mcp__postgres__DB_query_sql", chain.CodeToolLookalike},
		"a capital I for an l":            {"db_query_sqI", chain.CodeToolLookalike},
		"a Cyrillic letter":               {"db_qu\u0435ry_sql", chain.CodeToolLookalike},
		"leading space":                   {" db_query_sql", chain.CodeToolInvalid},
		"trailing newline":                {"db_query_sql\n", chain.CodeToolInvalid},
		"zero-width space":                {"db_query_sql\u200b", chain.CodeToolInvalid},
		"wildcard":                        {"*", chain.CodeToolInvalid},
		"empty":                           {"", chain.CodeToolInvalid},
		"another tool":                    {"kb_search", ""},
		"a tool whose name starts alike":  {"db_query", ""},
		"a tool whose name goes on alike": {"db_query_sql2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := call(map[string]any{})
			in.ToolAsCalled = tc.tool
			r := c.Decide(t.Context(), in)
			code := ""
			if d, ok := r.Decision.(chain.Deny); ok {
				code = d.Code
			}
			if code != tc.want {
				t.Errorf("denied with %q, want %q", code, tc.want)
			}
		})
	}
}

func TestATenantCannotHideACallBehindALookalikeOfTheBaselines(t *testing.T) {
	guarding := func(tool string) plan.Hook {
		h := hook("allows")
		h.Tools = []string{tool}
		return h
	}
	for name, tool := range map[string]string{
		"another separator": "db-query-sql",
		"a look-alike":      "db_query_sqI",
		"its MCP name":      "mcp__pg__db_query_sql",
	} {
		t.Run(name, func(t *testing.T) {
			p := &plan.Plan{Baseline: []*plan.Segment{segment("", hook("denies"))}, Tenant: segment("team", guarding(tool))}
			in := call(map[string]any{})
			in.ToolAsCalled = tool
			r := build(t, p, scripted{"allows": allow, "denies": deny("judged")}).Decide(t.Context(), in)
			if r.Effect() != chain.EffectDeny {
				t.Errorf("%s past the baseline", r.Effect())
			}
		})
	}
}

func TestToolsThatNoHookNames(t *testing.T) {
	for verdict, want := range map[plan.Verdict]answer{
		plan.VerdictAllow: {Effect: chain.EffectAllow, Args: map[string]any{}},
		plan.VerdictAsk:   {Effect: chain.EffectAskUser, Code: chain.CodeToolUnlisted, Args: map[string]any{}},
		plan.VerdictDeny:  {Effect: chain.EffectDeny, Code: chain.CodeToolUnlisted},
		"":                {Effect: chain.EffectDeny, Code: chain.CodeToolUnlisted},
	} {
		t.Run(string(verdict), func(t *testing.T) {
			p := tenant(hook("h"))
			p.Tenant.UnlistedTools = verdict
			in := call(map[string]any{})
			in.ToolAsCalled = "kb_search"
			r := build(t, p, scripted{"h": allow}).Decide(t.Context(), in)
			if diff := cmp.Diff(want, summary(r)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func guarding(name string, g plan.Guard) plan.Hook {
	h := hook(name)
	g.Tool = guarded
	h.Guards = []plan.Guard{g}
	return h
}

func TestGuardedToolsTakeDeclaredArgumentsOnly(t *testing.T) {
	data := []plan.Datum{
		{Path: "params", Type: plan.TypeAny},
		{Path: "read_only", Type: plan.TypeBoolean},
		{Path: "table", Type: plan.TypeIdentifier},
		{Path: "limit", Type: plan.TypeInteger},
		{Path: "ratio", Type: plan.TypeNumber},
		{Path: "label", Type: plan.TypeString, Pattern: "[a-z]+"},
		{Path: "options.verbose", Type: plan.TypeBoolean},
	}
	p := tenant(guarding("h", plan.Guard{Judged: []string{"sql"}, Data: data, Undeclared: plan.VerdictDeny}))
	c := build(t, p, scripted{"h": allow})
	for name, tc := range map[string]struct {
		args map[string]any
		want string
	}{
		"the judged argument":               {map[string]any{"sql": "x"}, ""},
		"no argument":                       {map[string]any{}, ""},
		"declared data":                     {map[string]any{"sql": "x", "params": []any{map[string]any{"a": "b"}}, "read_only": true}, ""},
		"an alias beside it":                {map[string]any{"sql": "x", "query": "y"}, chain.CodeArgumentsUndeclared},
		"the same name in upper case":       {map[string]any{"SQL": "x"}, chain.CodeArgumentsUndeclared},
		"boolean as text":                   {map[string]any{"read_only": "true"}, chain.CodeArgumentsInvalid},
		"identifier":                        {map[string]any{"table": "public.orders"}, ""},
		"identifier that is more":           {map[string]any{"table": "t FROM PROGRAM 'id' --"}, chain.CodeArgumentsInvalid},
		"identifier that is empty":          {map[string]any{"table": ""}, chain.CodeArgumentsInvalid},
		"identifier that is null":           {map[string]any{"table": nil}, chain.CodeArgumentsInvalid},
		"integer":                           {map[string]any{"limit": json.Number("-5")}, ""},
		"integer with a fraction":           {map[string]any{"limit": json.Number("5.0")}, chain.CodeArgumentsInvalid},
		"number":                            {map[string]any{"ratio": json.Number("5e-1")}, ""},
		"number as text":                    {map[string]any{"ratio": "5"}, chain.CodeArgumentsInvalid},
		"pattern":                           {map[string]any{"label": "abc"}, ""},
		"pattern matches the whole":         {map[string]any{"label": "abc; x"}, chain.CodeArgumentsInvalid},
		"pattern matches the whole line":    {map[string]any{"label": "abc\n"}, chain.CodeArgumentsInvalid},
		"declared within an object":         {map[string]any{"options": map[string]any{"verbose": true}}, ""},
		"undeclared within an object":       {map[string]any{"options": map[string]any{"init": "x"}}, chain.CodeArgumentsUndeclared},
		"scalar where an object is meant":   {map[string]any{"options": "x"}, chain.CodeArgumentsUndeclared},
		"array where an object is meant":    {map[string]any{"options": []any{"x"}}, chain.CodeArgumentsUndeclared},
		"consent flags are taken off first": {map[string]any{"confirm_destructive": true}, chain.CodeArgumentsUndeclared},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.Decide(t.Context(), call(tc.args))
			code := ""
			if d, ok := r.Decision.(chain.Deny); ok {
				code = d.Code
			}
			if code != tc.want {
				t.Errorf("denied with %q, want %q", code, tc.want)
			}
		})
	}
}

func TestWhatCountsAsDeclared(t *testing.T) {
	sql := guarding("sql", plan.Guard{Judged: []string{"sql"}, Undeclared: plan.VerdictDeny})
	lax := guarding("lax", plan.Guard{Judged: []string{"sql"}, Undeclared: plan.VerdictAllow})
	path := guarding("path", plan.Guard{Judged: []string{"file"}, Undeclared: plan.VerdictDeny})
	pin := hook("pin")
	pin.Kind, pin.Sets = plan.KindRewrite, []string{"read_only"}
	s := scripted{"sql": allow, "lax": allow, "path": allow, "pin": set("read_only", true)}
	for name, tc := range map[string]struct {
		baseline, tenant []plan.Hook
		args             map[string]any
		want             string
	}{
		"one hook's argument for another":         {nil, []plan.Hook{sql, path}, map[string]any{"sql": "x", "file": "y"}, ""},
		"what a rewrite sets":                     {nil, []plan.Hook{sql, pin}, map[string]any{"sql": "x"}, ""},
		"anything, where the hook allows it":      {nil, []plan.Hook{lax}, map[string]any{"any": "y"}, ""},
		"nothing more, where one hook refuses":    {nil, []plan.Hook{lax, sql}, map[string]any{"any": "y"}, chain.CodeArgumentsUndeclared},
		"the baseline's word for the tenant":      {[]plan.Hook{path}, []plan.Hook{sql}, map[string]any{"file": "y"}, ""},
		"not the tenant's word for the baseline":  {[]plan.Hook{sql}, []plan.Hook{path}, map[string]any{"file": "y"}, chain.CodeArgumentsUndeclared},
		"not a tenant's rewrite for the baseline": {[]plan.Hook{sql}, []plan.Hook{pin}, map[string]any{"sql": "x"}, chain.CodeArgumentsUndeclared},
	} {
		t.Run(name, func(t *testing.T) {
			p := &plan.Plan{Tenant: segment("team", tc.tenant...)}
			if tc.baseline != nil {
				p.Baseline = []*plan.Segment{segment("", tc.baseline...)}
			}
			r := build(t, p, s).Decide(t.Context(), call(tc.args))
			code := ""
			if d, ok := r.Decision.(chain.Deny); ok {
				code = d.Code
			}
			if code != tc.want {
				t.Errorf("denied with %q, want %q", code, tc.want)
			}
		})
	}
}

func TestHooksSeeTheToolByItsPolicyName(t *testing.T) {
	c := build(t, tenant(hook("h")), scripted{"h": func(_ context.Context, c *chain.Call) (chain.Decision, error) {
		if c.Tool != guarded || c.ToolAsCalled != "mcp__pg__db_query_sql" {
			return chain.Deny{Code: c.Tool}, nil
		}
		return chain.Allow{}, nil
	}})
	in := call(map[string]any{})
	in.ToolAsCalled = "mcp__pg__db_query_sql"
	if r := c.Decide(t.Context(), in); r.Effect() != chain.EffectAllow || r.Tool != guarded {
		t.Errorf("effect %s for tool %q", r.Effect(), r.Tool)
	}
}

package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/policy"
)

func foundingPathGuards() []plan.Guard {
	var guards []plan.Guard
	for _, tool := range []string{"db_import_csv", "kb_add_file", "kb_add_path"} {
		guards = append(guards, plan.Guard{
			Tool: tool, Judged: []string{"path", "paths"},
			Data: []plan.Datum{{Path: "table", Type: plan.TypeIdentifier}}, Undeclared: plan.VerdictDeny,
		})
	}
	return guards
}

func foundingSQLGuards() []plan.Guard {
	return []plan.Guard{{
		Tool: "db_query_sql", Judged: []string{"sql"}, Undeclared: plan.VerdictDeny,
		Data: []plan.Datum{
			{Path: "dry_run", Type: plan.TypeBoolean}, {Path: "params", Type: plan.TypeAny},
			{Path: "read_only", Type: plan.TypeBoolean}, {Path: "table", Type: plan.TypeIdentifier},
		},
	}}
}

func defaultApprovals() plan.Approvals {
	return plan.Approvals{
		Consent: plan.ConsentHuman, TimeoutHighSeconds: 300, TimeoutMediumSeconds: 300,
		UseWithinSeconds: 300, MinimumApprovers: 1, MaxPending: 20,
	}
}

func TestAPolicyWithoutHooksHasTheFoundingTwo(t *testing.T) {
	want := &plan.Segment{
		Source:        plan.Source{Namespace: "customer-a", Name: "p"},
		Enforcement:   plan.Enforce,
		UnlistedTools: plan.VerdictAllow,
		Hooks: []plan.Hook{{
			Name: "path-allowlist", Kind: plan.KindPathAllowlist, FailurePolicy: plan.FailureDeny, TimeoutMilliseconds: 1000,
			Tools:         []string{"db_import_csv", "kb_add_file", "kb_add_path"},
			Guards:        foundingPathGuards(),
			PathAllowlist: &plan.PathAllowlist{Roots: []string{"/data/customer-a"}, Resolve: plan.ResolveService},
		}, {
			Name: "destructive-sql", Kind: plan.KindDestructiveSQL, FailurePolicy: plan.FailureDeny, TimeoutMilliseconds: 1000,
			Tools:          []string{"db_query_sql"},
			Guards:         foundingSQLGuards(),
			DestructiveSQL: &plan.DestructiveSQL{Dialect: plan.DialectPostgres, MaxBytes: 16384, UnknownFunctions: plan.VerdictAsk},
		}},
		Approvals: defaultApprovals(),
		Audit:     plan.Audit{OnFailure: plan.VerdictDeny},
	}
	if diff := cmp.Diff(want, compiled(t, "{}")); diff != "" {
		t.Errorf("segment (-want +got):\n%s", diff)
	}
}

func TestEverySettingReachesThePlan(t *testing.T) {
	seg := compiled(t, `
  enforcement: DryRun
  context: {environment: production, projectKind: finance, branch: main}
  agents: {serviceAccounts: [b, a]}
  unlistedTools: Ask
  hooks: [{name: h, failurePolicy: Ignore, timeoutMilliseconds: 7, rewrite: {tools: [u, t], remove: [w, v]}}]
  approvals: {consent: Agent, timeoutSeconds: {high: 1, medium: 2}, useWithinSeconds: 3, approvers: {minimum: 4}, maxPending: 5}
  audit: {onFailure: Allow, redact: {keys: [k2, k1]}}`)
	want := &plan.Segment{
		Source:          plan.Source{Namespace: "customer-a", Name: "p"},
		ServiceAccounts: []string{"a", "b"},
		Enforcement:     plan.DryRun,
		Context:         plan.Context{Environment: "production", ProjectKind: "finance", Branch: "main"},
		UnlistedTools:   plan.VerdictAsk,
		Hooks: []plan.Hook{{
			Name: "h", Kind: plan.KindRewrite, FailurePolicy: plan.FailureIgnore, TimeoutMilliseconds: 7,
			Tools: []string{"t", "u"}, Rewrite: &plan.Rewrite{Remove: []string{"v", "w"}},
		}},
		Approvals: plan.Approvals{
			Consent: plan.ConsentAgent, TimeoutHighSeconds: 1, TimeoutMediumSeconds: 2,
			UseWithinSeconds: 3, MinimumApprovers: 4, MaxPending: 5,
		},
		Audit: plan.Audit{OnFailure: plan.VerdictAllow, RedactKeys: []string{"k1", "k2"}},
	}
	if diff := cmp.Diff(want, seg); diff != "" {
		t.Errorf("segment (-want +got):\n%s", diff)
	}
}

func TestABaselineEnforcesAndTakesAPersonsConsentOnly(t *testing.T) {
	seg, warnings, errs := policy.CompileCluster(cluster(t, `
  priority: -5
  context: {environment: production}
  hooks: [{name: h, destructiveSQL: {overrides: [{class: admin, decision: Deny}]}}]
  approvals: {approvers: {minimum: 2}}
  audit: {redact: {keys: [k]}}`))
	if len(errs) > 0 || len(warnings) > 0 {
		t.Fatalf("errors %v, warnings %v", errs, warnings)
	}
	approvals := defaultApprovals()
	approvals.MinimumApprovers = 2
	want := &plan.Segment{
		Source:        plan.Source{Name: "p", Priority: -5},
		Enforcement:   plan.Enforce,
		Context:       plan.Context{Environment: "production"},
		UnlistedTools: plan.VerdictAllow,
		Hooks: []plan.Hook{{
			Name: "h", Kind: plan.KindDestructiveSQL, FailurePolicy: plan.FailureDeny, TimeoutMilliseconds: 1000,
			Tools: []string{"db_query_sql"}, Guards: foundingSQLGuards(),
			DestructiveSQL: &plan.DestructiveSQL{Dialect: plan.DialectPostgres, MaxBytes: 16384, UnknownFunctions: plan.VerdictAsk,
				Overrides: []plan.Override{{Class: "admin", Decision: plan.VerdictDeny}},
			},
		}},
		Approvals: approvals,
		Audit:     plan.Audit{OnFailure: plan.VerdictDeny, RedactKeys: []string{"k"}},
	}
	if diff := cmp.Diff(want, seg); diff != "" {
		t.Errorf("segment (-want +got):\n%s", diff)
	}
}

func TestABaselineNamesItsHooksAndRoots(t *testing.T) {
	_, _, errs := policy.CompileCluster(cluster(t, "{}"))
	if len(errs) != 1 || errs[0].Field != "spec.hooks" {
		t.Errorf("no hooks: got %s", problems(errs))
	}
	_, _, errs = policy.CompileCluster(cluster(t, hook("pathAllowlist", "")))
	if len(errs) != 1 || errs[0].Field != "spec.hooks[0].pathAllowlist.roots" {
		t.Errorf("no roots: got %s", problems(errs))
	}
	seg, _, errs := policy.CompileCluster(cluster(t, hook("pathAllowlist", "workingDirectory: /work")))
	if len(errs) > 0 || !cmp.Equal(seg.Hooks[0].PathAllowlist.Roots, []string{"/work"}) {
		t.Errorf("a working directory: got %v, %s", seg, problems(errs))
	}
}

func TestASegmentSaysWhereItCameFrom(t *testing.T) {
	created := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	hp := tenant(t, "{}")
	hp.UID, hp.Generation, hp.CreationTimestamp = "u-1", 3, metav1.NewTime(created)
	seg, _, errs := policy.Compile(hp)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	want := plan.Source{Namespace: "customer-a", Name: "p", UID: "u-1", Generation: 3, Created: created}
	if seg.Source != want {
		t.Errorf("got %+v, want %+v", seg.Source, want)
	}
	if seg.Digest() != compiled(t, "{}").Digest() {
		t.Error("where a segment came from changed what it means")
	}
}

func TestTheOrderOfASetIsNoPartOfItsMeaning(t *testing.T) {
	a := compiled(t, "{agents: {serviceAccounts: [x, y]}, "+hook("pathAllowlist", "roots: [/a, /b], arguments: [{tool: t, path: p}, {tool: s, path: q}]")[1:])
	b := compiled(t, "{agents: {serviceAccounts: [y, x]}, "+hook("pathAllowlist", "roots: [/b, /a], arguments: [{tool: s, path: q}, {tool: t, path: p}]")[1:])
	if a.Digest() != b.Digest() {
		t.Error("two spellings of one policy have different digests")
	}
}

func TestWarningsAreGivenForWhatIsAllowedAndUnwise(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want string }{
		"the agent consents to its own calls":          {"{approvals: {consent: Agent}}", "spec.approvals.consent: with Agent, a model can consent"},
		"links are not seen":                           {hook("pathAllowlist", "resolve: Lexical"), "spec.hooks[0].pathAllowlist.resolve: with Lexical"},
		"the working directory lies beneath no root":   {hook("pathAllowlist", "roots: [/data/a], workingDirectory: /data/ab"), "workingDirectory: lies beneath none"},
		"the working directory lies beneath a root":    {hook("pathAllowlist", "roots: [/data/a], workingDirectory: /data/a/b"), ""},
		"a policy without anything unwise has nothing": {"{}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			seg, warnings, errs := policy.Compile(tenant(t, tc.spec))
			if seg == nil || len(errs) > 0 {
				t.Fatalf("no segment: %s", problems(errs))
			}
			if got := strings.Join(warnings, "\n"); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestEveryProblemIsReportedAtOnce(t *testing.T) {
	_, _, errs := policy.Compile(tenant(t, `
  enforcement: Sometimes
  hooks:
  - {name: A, pathAllowlist: {roots: [data, /], resolve: Nobody}}
  - {name: b, destructiveSQL: {overrides: [{statement: DropdbStmt, decision: Allow}]}}
  - {name: b, rewrite: {tools: ["t*"], set: {hook_approval: x}}}
  approvals: {maxPending: -1}`))
	want := []string{
		"spec.enforcement", "spec.approvals.maxPending", "spec.hooks[0].name", "spec.hooks[0].pathAllowlist.roots[0]",
		"spec.hooks[0].pathAllowlist.roots[1]", "spec.hooks[0].pathAllowlist.resolve",
		"spec.hooks[1].destructiveSQL.overrides[0].decision", "spec.hooks[2].name",
		"spec.hooks[2].rewrite.tools[0]", "spec.hooks[2].rewrite.set[hook_approval]",
	}
	var got []string
	for _, err := range errs {
		got = append(got, err.Field)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	checkRefusals(t, map[string]refusal{
		"a mode that does not exist":          {"{enforcement: Maybe}", "spec.enforcement", `supported values: "Enforce", "DryRun", "Off"`},
		"an answer that does not exist":       {"{unlistedTools: AskUser}", "spec.unlistedTools", `"Allow", "Ask", "Deny"`},
		"a consent that does not exist":       {"{approvals: {consent: Any}}", "spec.approvals.consent", `"Human", "Agent"`},
		"a failure that does not exist":       {"{audit: {onFailure: Ask}}", "spec.audit.onFailure", `"Deny", "Allow"`},
		"a key that is empty":                 {`{audit: {redact: {keys: [""]}}}`, "spec.audit.redact.keys[0]", "the name of an argument"},
		"a key that stands twice":             {"{audit: {redact: {keys: [a, a]}}}", "spec.audit.redact.keys[1]", "Duplicate"},
		"an account that stands twice":        {"{agents: {serviceAccounts: [a, a]}}", "spec.agents.serviceAccounts[1]", "Duplicate"},
		"an account that cannot exist":        {"{agents: {serviceAccounts: [A_]}}", "spec.agents.serviceAccounts[0]", "the name of a ServiceAccount"},
		"a fact that hides something":         {`{context: {branch: "main\u202e"}}`, "spec.context.branch", "invisible"},
		"a time-out that is negative":         {"{approvals: {timeoutSeconds: {high: -1}}}", "spec.approvals.timeoutSeconds.high", "between 1 and 86400"},
		"a time-out that is too long":         {"{approvals: {timeoutSeconds: {medium: 86401}}}", "spec.approvals.timeoutSeconds.medium", "between 1 and 86400"},
		"too many approvers":                  {"{approvals: {approvers: {minimum: 17}}}", "spec.approvals.approvers.minimum", "between 1 and 16"},
		"an empty list of hooks":              {"{hooks: []}", "spec.hooks", "leave it out for the built-in hooks"},
		"a hook without a name":               {"{hooks: [{destructiveSQL: {}}]}", "spec.hooks[0].name", "Required"},
		"a hook of no kind":                   {"{hooks: [{name: a}]}", "spec.hooks[0]", "needs one of pathAllowlist, destructiveSQL, rewrite and risk"},
		"a hook of two kinds":                 {"{hooks: [{name: a, destructiveSQL: {}, rewrite: {tools: [t], remove: [a]}}]}", "spec.hooks[0]", "of one kind only"},
		"a time for a decision that is wrong": {"{hooks: [{name: a, timeoutMilliseconds: 30001, destructiveSQL: {}}]}", "spec.hooks[0].timeoutMilliseconds", "between 1 and 30000"},
		"a failure policy that is wrong":      {"{hooks: [{name: a, failurePolicy: Open, destructiveSQL: {}}]}", "spec.hooks[0].failurePolicy", `"Fail", "Ignore"`},
	})
}

func TestNamesThatNoObjectCanHaveAreRefused(t *testing.T) {
	for name, change := range map[string]func(m *metav1.ObjectMeta){
		"no name":                 func(m *metav1.ObjectMeta) { m.Name = "" },
		"a name with a slash":     func(m *metav1.ObjectMeta) { m.Name = "a/b" },
		"no namespace":            func(m *metav1.ObjectMeta) { m.Namespace = "" },
		"a namespace that climbs": func(m *metav1.ObjectMeta) { m.Namespace = ".." },
	} {
		t.Run(name, func(t *testing.T) {
			hp := tenant(t, hook("pathAllowlist", "roots: [/a]"))
			change(&hp.ObjectMeta)
			if seg, _, errs := policy.Compile(hp); seg != nil || len(errs) == 0 {
				t.Error("compiled")
			}
		})
	}
}

func TestWhoResolvesIsAMatterOfWhatTheServiceSees(t *testing.T) {
	for name, tc := range map[string]struct {
		resolve string
		view    []policy.View
		want    plan.Resolve
	}{
		"a service that sees everything":        {"", nil, plan.ResolveService},
		"a service that sees the roots":         {"", []policy.View{policy.Sees([]string{"/data"})}, plan.ResolveService},
		"a service that sees another directory": {"", []policy.View{policy.Sees([]string{"/data/team-b"})}, plan.ResolveAgent},
		"a service that sees nothing":           {"", []policy.View{policy.Sees(nil)}, plan.ResolveAgent},
		"what the policy says holds":            {", resolve: Service", []policy.View{policy.Sees(nil)}, plan.ResolveService},
	} {
		t.Run(name, func(t *testing.T) {
			hp := tenant(t, "{hooks: [{name: h, pathAllowlist: {roots: [/data/team]"+tc.resolve+"}}]}")
			seg, _, errs := policy.Compile(hp, tc.view...)
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			if got := seg.Hooks[0].PathAllowlist.Resolve; got != tc.want {
				t.Errorf("resolve %s, want %s", got, tc.want)
			}
		})
	}
}

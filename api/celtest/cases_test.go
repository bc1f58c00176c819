package celtest_test

import (
	"fmt"
	"strings"
)

// A testCase is a spec that is taken, or refused with words that want is in.
type testCase struct {
	kind string // empty: both kinds
	spec string
	want string
}

// hook is a spec with one hook that has these fields beside its name.
func hook(fields string) string { return "{hooks: [{name: h, " + fields + "}]}" }

func sql(fields string) string   { return hook("destructiveSQL: {" + fields + "}") }
func paths(fields string) string { return hook("pathAllowlist: {" + fields + "}") }

// list repeats an item, in which %d becomes its number.
func list(n int, item string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = strings.ReplaceAll(item, "%d", fmt.Sprint(i))
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// setOf is an object with that many members.
func setOf(n int) string { return "{" + strings.Trim(list(n, "k%d: 1"), "[]") + "}" }

func text(n int) string { return strings.Repeat("a", n) }

func cases() map[string]testCase {
	const (
		tenant   = "HookPolicy"
		cluster  = "ClusterHookPolicy"
		rewrites = "{name: h%d, rewrite: {tools: [t], remove: [a]}}"
		exactly  = "must be the exact name of a tool"
		absolute = "must be an absolute path, and not / itself"
		one      = "exactly one of the fields in [pathAllowlist destructiveSQL rewrite risk] must be set"
		account  = "must be the name of a ServiceAccount"
		noHooks  = "leave it out for the built-in hooks"
	)
	return map[string]testCase{
		"an empty spec is a policy":             {tenant, "{}", ""},
		"a spec is required":                    {tenant, "null", "spec: Required value"},
		"enforcement is one of three words":     {tenant, `{enforcement: "Off"}`, ""},
		"a fourth word is refused":              {tenant, "{enforcement: Maybe}", `supported values: "Enforce", "DryRun", "Off"`},
		"YAML's Off without quotes is no word":  {tenant, "{enforcement: Off}", "must be of type string"},
		"unlisted tools have three answers":     {tenant, "{unlistedTools: Ask}", ""},
		"unlisted tools have no fourth answer":  {tenant, "{unlistedTools: AskUser}", `supported values: "Allow", "Ask", "Deny"`},
		"a context has three facts":             {"", "{context: {environment: e, projectKind: p, branch: b}, " + hook("rewrite: {tools: [t], remove: [a]}")[1:], ""},
		"a fact is not too long":                {tenant, "{context: {environment: " + text(64) + "}}", "may not be more than 63"},
		"a fact is not empty":                   {tenant, `{context: {branch: ""}}`, "at least 1 chars"},
		"agents may be left to be all":          {tenant, "{agents: {serviceAccounts: []}}", ""},
		"agents have the names of accounts":     {tenant, "{agents: {serviceAccounts: [etl-agent, a.b]}}", ""},
		"agents have no other names":            {tenant, "{agents: {serviceAccounts: [ETL]}}", account},
		"agents have no name twice":             {tenant, "{agents: {serviceAccounts: [a, a]}}", "Duplicate value"},
		"agents are not too many":               {tenant, "{agents: {serviceAccounts: " + list(65, "a%d") + "}}", "must have at most 64 items"},
		"the longest list of hooks":             {"", "{hooks: " + list(64, rewrites) + "}", ""},
		"hooks are not too many":                {"", "{hooks: " + list(65, rewrites) + "}", "must have at most 64 items"},
		"hooks are not an empty list":           {tenant, "{hooks: []}", noHooks},
		"a baseline has hooks":                  {cluster, "{}", "spec.hooks: Required value"},
		"a baseline's hooks are no empty list":  {cluster, "{hooks: []}", "delete the policy instead"},
		"two hooks do not share a name":         {"", "{hooks: [{name: a, destructiveSQL: {}}, {name: a, destructiveSQL: {}}]}", "the names of hooks must be unique"},
		"a hook has a name":                     {"", "{hooks: [{destructiveSQL: {}}]}", "name: Required value"},
		"the longest name":                      {"", "{hooks: [{name: " + text(63) + ", destructiveSQL: {}}]}", ""},
		"a name is not too long":                {"", "{hooks: [{name: " + text(64) + ", destructiveSQL: {}}]}", "may not be more than 63"},
		"a name is a label":                     {"", "{hooks: [{name: a_b, destructiveSQL: {}}]}", "must be lower-case letters, digits and hyphens, and must start"},
		"a hook is of some kind":                {"", "{hooks: [{name: a}]}", one},
		"a hook is of one kind":                 {"", hook("destructiveSQL: {}, rewrite: {tools: [t], remove: [a]}"), one},
		"a hook of each kind":                   {"", "{hooks: [{name: a, pathAllowlist: {}}, {name: b, destructiveSQL: {}}, {name: c, rewrite: {tools: [t], remove: [a]}}]}", ""},
		"a failure is ignored when told to":     {"", hook("failurePolicy: Ignore, destructiveSQL: {}"), ""},
		"a failure has two meanings":            {"", hook("failurePolicy: Open, destructiveSQL: {}"), `supported values: "Fail", "Ignore"`},
		"the shortest time":                     {"", hook("timeoutMilliseconds: 1, destructiveSQL: {}"), ""},
		"the longest time":                      {"", hook("timeoutMilliseconds: 30000, destructiveSQL: {}"), ""},
		"no time at all":                        {"", hook("timeoutMilliseconds: 0, destructiveSQL: {}"), "greater than or equal to 1"},
		"too long a time":                       {"", hook("timeoutMilliseconds: 30001, destructiveSQL: {}"), "less than or equal to 30000"},
		"arguments name tool and path":          {"", sql("arguments: [{tool: t, path: a.b}]"), ""},
		"an argument needs a tool":              {"", sql("arguments: [{path: a}]"), "tool: Required value"},
		"an argument needs a path":              {"", sql("arguments: [{tool: t}]"), "path: Required value"},
		"arguments are no empty list":           {"", sql("arguments: []"), "at least 1 items"},
		"arguments are not too many":            {"", sql("arguments: " + list(65, "{tool: t, path: p%d}")), "must have at most 64 items"},
		"a tool's name is no pattern":           {"", sql(`arguments: [{tool: "db_*", path: a}]`), exactly},
		"a tool's name has no white space":      {"", sql(`arguments: [{tool: "a b", path: a}]`), exactly},
		"a tool's name has nothing invisible":   {"", sql(`arguments: [{tool: "a\u200bb", path: a}]`), exactly},
		"a tool's name is not too long":         {"", sql("arguments: [{tool: " + text(129) + ", path: a}]"), "may not be more than 128"},
		"an argument's path is not too long":    {"", sql("arguments: [{tool: t, path: " + text(257) + "}]"), "may not be more than 256"},
		"data have a type":                      {"", sql("data: [{tool: t, path: a, type: identifier}]"), ""},
		"data have no other type":               {"", sql("data: [{tool: t, path: a, type: date}]"), "Unsupported value"},
		"data are not too many":                 {"", sql("data: " + list(65, "{tool: t, path: p%d}")), "must have at most 64 items"},
		"a tool with data is no pattern":        {"", sql(`data: [{tool: "*", path: a}]`), exactly},
		"a string may have a pattern":           {"", sql("data: [{tool: t, path: a, type: string, pattern: a+}]"), ""},
		"what may be anything has no pattern":   {"", sql("data: [{tool: t, path: a, pattern: a+}]"), "pattern needs type string or identifier"},
		"a number has no pattern":               {"", sql("data: [{tool: t, path: a, type: number, pattern: a+}]"), "pattern needs type string or identifier"},
		"a pattern is not too long":             {"", sql("data: [{tool: t, path: a, type: string, pattern: " + text(1025) + "}]"), "may not be more than 1024"},
		"undeclared arguments may be allowed":   {"", sql("undeclaredArguments: Allow"), ""},
		"undeclared arguments are never asked":  {"", sql("undeclaredArguments: Ask"), `supported values: "Deny", "Allow"`},
		"roots are absolute":                    {"", paths("roots: [/data/a, /srv]"), ""},
		"a relative root is refused":            {"", paths("roots: [data]"), absolute},
		"the root of all is refused":            {"", paths("roots: [/]"), absolute},
		"roots are not repeated":                {"", paths("roots: [/a, /a]"), "Duplicate value"},
		"roots are no empty list":               {"", paths("roots: []"), "at least 1 items"},
		"roots are not too many":                {"", paths("roots: " + list(33, "/r%d")), "must have at most 32 items"},
		"a root is not too long":                {"", paths("roots: [/" + text(1024) + "]"), "may not be more than 1024"},
		"a working directory is absolute":       {"", paths("roots: [/a], workingDirectory: /a"), ""},
		"a relative working directory":          {"", paths("workingDirectory: a"), absolute},
		"links are resolved by one of three":    {"", paths("resolve: Agent"), ""},
		"links are resolved by nobody else":     {"", paths("resolve: Client"), `supported values: "Service", "Agent", "Lexical"`},
		"the longest SQL text":                  {"", sql("maxBytes: 32768"), ""},
		"a longer SQL text":                     {"", sql("maxBytes: 32769"), "less than or equal to 32768"},
		"no SQL text":                           {"", sql("maxBytes: 0"), "greater than or equal to 1"},
		"unknown functions may be denied":       {"", sql("unknownFunctions: Deny"), ""},
		"unknown functions have three answers":  {"", sql("unknownFunctions: AskUser"), `supported values: "Ask", "Allow", "Deny"`},
		"an override is for a class":            {"", sql("overrides: [{class: admin, decision: Deny}]"), ""},
		"an override is for a statement":        {"", sql("overrides: [{statement: InsertStmt, decision: AskUser}]"), ""},
		"an override is not for both":           {"", sql("overrides: [{class: read, statement: SelectStmt, decision: Deny}]"), "exactly one of the fields in [class statement] must be set"},
		"an override is for something":          {"", sql("overrides: [{decision: Deny}]"), "exactly one of the fields in [class statement] must be set"},
		"an override decides":                   {"", sql("overrides: [{class: read}]"), "decision: Required value"},
		"an override spells decisions in full":  {"", sql("overrides: [{class: read, decision: Ask}]"), `supported values: "Allow", "AskUser", "Deny"`},
		"an override knows the classes":         {"", sql("overrides: [{class: reads, decision: Deny}]"), "Unsupported value"},
		"overrides are not too many":            {"", sql("overrides: " + list(65, "{statement: A%d, decision: Deny}")), "must have at most 64 items"},
		"a rewrite sets values of every kind":   {"", hook(`rewrite: {tools: [t], set: {a: true, "b.c": 1.5, d: [x, {e: null}], f: null}}`), ""},
		"a rewrite removes":                     {"", hook("rewrite: {tools: [t], remove: [a]}"), ""},
		"a rewrite does something":              {"", hook("rewrite: {tools: [t]}"), "rewrite needs set, remove or sqlLimit"},
		"a rewrite limits rows":                 {"", hook("rewrite: {tools: [t], sqlLimit: {path: sql, max: 1000}}"), ""},
		"a limit is a row at least":             {"", hook("rewrite: {tools: [t], sqlLimit: {path: sql, max: 0}}"), "greater than or equal to 1"},
		"tables are allowed, denied or both":    {"", sql("tables: {allow: [public.orders], deny: ['audit.*']}"), ""},
		"tables of neither kind are none":       {"", sql("tables: {}"), "tables need allow, deny or both"},
		"functions are declared with a class":   {"", sql("functions: [{name: 'st_*', class: read}]"), ""},
		"a function has no made-up class":       {"", sql("functions: [{name: f, class: harmless}]"), "Unsupported value"},
		"conditions are asked of two kinds":     {"", sql("requireWhere: [Update, Delete]"), ""},
		"conditions are asked of no other kind": {"", sql("requireWhere: [Merge]"), "Unsupported value"},
		"one dialect is known":                  {"", sql("dialect: postgres"), ""},
		"other dialects are not":                {"", sql("dialect: mysql"), "Unsupported value"},
		"a risk hook of defaults":               {"", hook("risk: {}"), ""},
		"a risk hook with everything":           {"", hook("risk: {baseline: open-source, default: Low, medium: Allow, sensitiveWords: [], tools: [{match: 'deploy*', level: High, arguments: [{path: env, values: [prod]}, {path: ref, matches: 'main|rel.*'}]}]}"), ""},
		"a rule has a level":                    {"", hook("risk: {tools: [{match: a}]}"), "level: Required value"},
		"a rule's level is one of three":        {"", hook("risk: {tools: [{match: a, level: Huge}]}"), "Unsupported value"},
		"a rule's name has no white space":      {"", hook("risk: {tools: [{match: 'a b', level: High}]}"), "in which * may stand for any characters"},
		"a condition is of one kind":            {"", hook("risk: {tools: [{match: a, level: High, arguments: [{path: p, values: [a], matches: b}]}]}"), "exactly one of the fields in [values matches] must be set"},
		"a condition says something":            {"", hook("risk: {tools: [{match: a, level: High, arguments: [{path: p}]}]}"), "exactly one of the fields in [values matches] must be set"},
		"a baseline is a known one":             {"", hook("risk: {baseline: startup}"), "Unsupported value"},
		"a rewrite sets something":              {"", hook("rewrite: {tools: [t], set: {}}"), "at least 1 properties"},
		"a rewrite sets an object":              {"", hook("rewrite: {tools: [t], set: [a]}"), "must be of type object"},
		"a rewrite does not set too much":       {"", hook("rewrite: {tools: [t], set: " + setOf(65) + "}"), "must have at most 64 items"},
		"a rewrite does not remove too much":    {"", hook("rewrite: {tools: [t], remove: " + list(65, "a%d") + "}"), "must have at most 64 items"},
		"a rewrite names tools":                 {"", hook("rewrite: {remove: [a]}"), "tools: Required value"},
		"a rewrite names some tool":             {"", hook("rewrite: {tools: [], remove: [a]}"), "at least 1 items"},
		"a rewrite takes no pattern":            {"", hook(`rewrite: {tools: ["t?"], remove: [a]}`), exactly},
		"consent may be the agent's":            {tenant, "{approvals: {consent: Agent}}", ""},
		"consent is nobody else's":              {tenant, "{approvals: {consent: Nobody}}", `supported values: "Human", "Agent"`},
		"the longest wait":                      {tenant, "{approvals: {timeoutSeconds: {high: 86400, medium: 1}, useWithinSeconds: 86400}}", ""},
		"a longer wait":                         {tenant, "{approvals: {timeoutSeconds: {high: 86401}}}", "less than or equal to 86400"},
		"no wait":                               {tenant, "{approvals: {timeoutSeconds: {medium: 0}}}", "greater than or equal to 1"},
		"sixteen approvers":                     {tenant, "{approvals: {approvers: {minimum: 16}}}", ""},
		"seventeen approvers":                   {tenant, "{approvals: {approvers: {minimum: 17}}}", "less than or equal to 16"},
		"no call pending":                       {tenant, "{approvals: {maxPending: 0}}", "greater than or equal to 1"},
		"too many calls pending":                {tenant, "{approvals: {maxPending: 1001}}", "less than or equal to 1000"},
		"an audit may let pass what it misses":  {tenant, "{audit: {onFailure: Allow}}", ""},
		"an audit asks nobody":                  {tenant, "{audit: {onFailure: Ask}}", `supported values: "Deny", "Allow"`},
		"keys are redacted":                     {tenant, "{audit: {redact: {keys: [ssn]}}}", ""},
		"keys are not repeated":                 {tenant, "{audit: {redact: {keys: [ssn, ssn]}}}", "Duplicate value"},
		"keys are not empty":                    {tenant, `{audit: {redact: {keys: [""]}}}`, "at least 1 chars"},
		"keys are not too many":                 {tenant, "{audit: {redact: {keys: " + list(65, "k%d") + "}}}", "must have at most 64 items"},
		"a baseline has a priority":             {cluster, "{priority: -1000000, hooks: [{name: a, destructiveSQL: {}}]}", ""},
		"a priority has a bound":                {cluster, "{priority: 1000001, hooks: [{name: a, destructiveSQL: {}}]}", "less than or equal to 1000000"},
		"a baseline has approvals and an audit": {cluster, "{approvals: {maxPending: 5}, audit: {redact: {keys: [k]}}, hooks: [{name: a, destructiveSQL: {}}]}", ""},
	}
}

// Package plan holds a compiled policy: what one HookPolicy and the cluster's
// baseline mean, with every default filled in and nothing left to look up.
//
// A plan is plain data. It is built by package policy, read by package chain
// and the hooks, and never changed after it was built: share it freely. Its
// Digest names its meaning; two replicas that show the same digest decide the
// same way. Generation, UID and creation time say where a plan came from, not
// what it means, and are no part of the digest.
package plan

import "time"

// A Plan is one compiled chain: the baseline's segments in their order, then
// the tenant's. Tenant is nil for a caller that only the baseline governs.
type Plan struct {
	Baseline []*Segment `json:"baseline,omitempty"`
	Tenant   *Segment   `json:"tenant,omitempty"`
}

// Segments returns the plan's segments in the order in which they run.
func (p *Plan) Segments() []*Segment {
	all := make([]*Segment, 0, len(p.Baseline)+1)
	all = append(all, p.Baseline...)
	if p.Tenant != nil {
		all = append(all, p.Tenant)
	}
	return all
}

// A Segment is what one policy object contributes to a chain.
type Segment struct {
	Source Source `json:"source"`
	// ServiceAccounts are the callers governed, sorted; empty means every
	// ServiceAccount of the source's namespace. Unused in a baseline segment.
	ServiceAccounts []string    `json:"serviceAccounts,omitempty"`
	Enforcement     Enforcement `json:"enforcement"`
	Context         Context     `json:"context,omitzero"`
	// UnlistedTools answers for a tool that no hook of this segment names.
	UnlistedTools Verdict   `json:"unlistedTools"`
	Hooks         []Hook    `json:"hooks,omitempty"`
	Approvals     Approvals `json:"approvals"`
	Audit         Audit     `json:"audit"`

	// Refusal, if set, is the code with which every call of a governed caller
	// is denied, because this segment is not decided here: its policy is bound
	// to another decision service, or never compiled. Nothing else of the
	// segment counts then.
	Refusal string `json:"refusal,omitempty"`
}

// Codes of Segment.Refusal.
const (
	RefusalElsewhere = "policy.elsewhere" // another decision service decides for this caller
	RefusalInvalid   = "policy.invalid"   // the policy has no version that compiles
)

// IsBaseline reports whether the segment comes from a ClusterHookPolicy.
func (s *Segment) IsBaseline() bool { return s.Source.Namespace == "" }

// A Source says which object a segment was compiled from.
type Source struct {
	Namespace string `json:"namespace,omitempty"` // empty: a ClusterHookPolicy
	Name      string `json:"name"`
	// Priority orders baseline segments, lower first.
	Priority int32 `json:"priority,omitempty"`

	UID        string    `json:"-"`
	Generation int64     `json:"-"`
	Created    time.Time `json:"-"`
}

// Tenant is the name under which the source's calls are recorded:
// "namespace/name", or "name" for a ClusterHookPolicy.
func (s Source) Tenant() string {
	if s.Namespace == "" {
		return s.Name
	}
	return s.Namespace + "/" + s.Name
}

// Enforcement says what becomes of a segment's decisions.
type Enforcement string

// The enforcement modes. The zero value is no mode; compile fills in Enforce.
const (
	Enforce Enforcement = "Enforce" // decide and mean it
	DryRun  Enforcement = "DryRun"  // decide and record, but answer Allow
	Off     Enforcement = "Off"     // run no hook of the segment
)

// A Verdict is a policy's answer where no hook has one, in the policy's words.
type Verdict string

// The verdicts.
const (
	VerdictAllow Verdict = "Allow"
	VerdictAsk   Verdict = "Ask"
	VerdictDeny  Verdict = "Deny"
)

// A Context holds facts that the policy's owner vouches for.
type Context struct {
	Environment string `json:"environment,omitempty"`
	ProjectKind string `json:"projectKind,omitempty"`
	Branch      string `json:"branch,omitempty"`
}

// Consent says whose word turns an Ask into an Allow.
type Consent string

// The kinds of consent.
const (
	ConsentHuman Consent = "Human" // a person approves this very call
	ConsentAgent Consent = "Agent" // the agent repeats the call with confirm_destructive
)

// Approvals are the settings of held calls. Times are whole seconds.
type Approvals struct {
	Consent              Consent `json:"consent"`
	TimeoutHighSeconds   int32   `json:"timeoutHighSeconds"`
	TimeoutMediumSeconds int32   `json:"timeoutMediumSeconds"`
	UseWithinSeconds     int32   `json:"useWithinSeconds"`
	MinimumApprovers     int32   `json:"minimumApprovers"`
	MaxPending           int32   `json:"maxPending"`
}

// Audit are the settings of a tenant's audit chain.
type Audit struct {
	// OnFailure answers when a decision cannot be recorded: Deny or Allow.
	OnFailure Verdict `json:"onFailure"`
	// RedactKeys are argument names, beyond the built-in ones, whose values
	// are never written down.
	RedactKeys []string `json:"redactKeys,omitempty"`
}

// A Kind names a kind of hook.
type Kind string

// The kinds of hook.
const (
	KindPathAllowlist  Kind = "pathAllowlist"
	KindDestructiveSQL Kind = "destructiveSQL"
	KindRewrite        Kind = "rewrite"
	KindRisk           Kind = "risk"
)

// FailurePolicy says what a hook's own failure means.
type FailurePolicy string

// The failure policies.
const (
	FailureDeny   FailurePolicy = "Fail"   // the call is denied
	FailureIgnore FailurePolicy = "Ignore" // the failure is recorded and the chain moves on
)

// A Hook is one step of a segment. Exactly one of the pointers is set, the one
// that Kind names.
type Hook struct {
	Name                string        `json:"name"`
	Kind                Kind          `json:"kind"`
	FailurePolicy       FailurePolicy `json:"failurePolicy"`
	TimeoutMilliseconds int32         `json:"timeoutMilliseconds"`
	// Tools are the exact names of the tools that the hook looks at, sorted.
	Tools []string `json:"tools,omitempty"`
	// AllTools says that the hook looks at every tool. Those that match Patterns
	// are named by it, beside Tools: see package toolpattern.
	AllTools bool     `json:"allTools,omitempty"`
	Patterns []string `json:"patterns,omitempty"`
	// Guards are the argument declarations of a hook that judges, one a tool.
	Guards []Guard `json:"guards,omitempty"`
	// Sets are the argument paths that the hook writes itself.
	Sets []string `json:"sets,omitempty"`

	PathAllowlist  *PathAllowlist  `json:"pathAllowlist,omitempty"`
	DestructiveSQL *DestructiveSQL `json:"destructiveSQL,omitempty"`
	Rewrite        *Rewrite        `json:"rewrite,omitempty"`
	Risk           *Risk           `json:"risk,omitempty"`
}

// Timeout is the time that the hook has for one decision.
func (h *Hook) Timeout() time.Duration {
	return time.Duration(h.TimeoutMilliseconds) * time.Millisecond
}

// GuardOf returns the hook's declarations for a tool, nil if it guards it not.
func (h *Hook) GuardOf(tool string) *Guard {
	for i := range h.Guards {
		if h.Guards[i].Tool == tool {
			return &h.Guards[i]
		}
	}
	return nil
}

// A Guard declares the arguments of one guarded tool. An argument that no
// guard of the tool declares is refused, unless Undeclared allows it.
// Paths are in the syntax of package argpath.
type Guard struct {
	Tool       string   `json:"tool"`
	Judged     []string `json:"judged,omitempty"`
	Data       []Datum  `json:"data,omitempty"`
	Undeclared Verdict  `json:"undeclared"` // Deny or Allow
}

// A Datum declares one argument that is data and is not judged.
type Datum struct {
	Path    string   `json:"path"`
	Type    DataType `json:"type"`
	Pattern string   `json:"pattern,omitempty"` // RE2, matches the whole string
}

// A DataType bounds what a datum may be.
type DataType string

// The types of data. Identifier is a string of letters, digits and
// underscores that starts with no digit, up to 63 bytes, with dots between
// parts.
const (
	TypeAny        DataType = "any"
	TypeString     DataType = "string"
	TypeBoolean    DataType = "boolean"
	TypeInteger    DataType = "integer"
	TypeNumber     DataType = "number"
	TypeIdentifier DataType = "identifier"
)

// Resolve says who resolves the symbolic links of a path.
type Resolve string

// The resolve modes.
const (
	ResolveService Resolve = "Service" // the decision service, on volumes that it sees
	ResolveAgent   Resolve = "Agent"   // the enforcement point, which sends its result
	ResolveLexical Resolve = "Lexical" // nobody: cleaning only, blind to links
)

// A PathAllowlist keeps a tool's paths beneath roots.
type PathAllowlist struct {
	Roots            []string `json:"roots,omitempty"`
	WorkingDirectory string   `json:"workingDirectory,omitempty"`
	Resolve          Resolve  `json:"resolve"`
}

// A DestructiveSQL judges SQL text by what it would do.
type DestructiveSQL struct {
	Dialect  SQLDialect `json:"dialect"`
	MaxBytes int32      `json:"maxBytes"`
	// UnknownFunctions answers for a function that neither the catalogue nor
	// Functions names.
	UnknownFunctions Verdict       `json:"unknownFunctions"`
	Functions        []SQLFunction `json:"functions,omitempty"` // sorted by name
	// Tables are the tables that texts may name; nil: any.
	Tables *SQLTables `json:"tables,omitempty"`
	// RequireWhere are the statements that need a condition which chooses
	// rows: Update, Delete; sorted.
	RequireWhere []string   `json:"requireWhere,omitempty"`
	Overrides    []Override `json:"overrides,omitempty"`
}

// A SQLDialect names the database whose SQL is judged.
type SQLDialect string

// DialectPostgres is PostgreSQL's, the only one.
const DialectPostgres SQLDialect = "postgres"

// A SQLFunction says what functions do that the catalogue does not know. It
// never makes a function of the catalogue less than it is there.
type SQLFunction struct {
	Name  string `json:"name"`  // a pattern in the syntax of package sqlname
	Class string `json:"class"` // read, write, destructive, admin or forbidden
}

// The statements of RequireWhere.
const (
	WhereUpdate = "Update"
	WhereDelete = "Delete"
)

// SQLTables bounds the tables that a text may name. Allow and Deny are patterns
// in the syntax of package sqlname, sorted. Deny wins; an empty Allow allows
// what Deny does not name.
type SQLTables struct {
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
	// SearchPath are the schemas, after the server's own, in which names
	// without a schema may lie. Their order is kept.
	SearchPath []string `json:"searchPath"`
}

// An Override changes the answer to a class or to a kind of statement. It may
// loosen Ask to Allow and tighten anything; it never loosens Deny.
type Override struct {
	Class     string  `json:"class,omitempty"`     // read, write, destructive or admin
	Statement string  `json:"statement,omitempty"` // a node of the grammar, such as InsertStmt
	Decision  Verdict `json:"decision"`
}

// A Rewrite changes arguments.
type Rewrite struct {
	Set      []Assignment `json:"set,omitempty"`
	Remove   []string     `json:"remove,omitempty"`
	SQLLimit *SQLLimit    `json:"sqlLimit,omitempty"`
}

// A SQLLimit bounds the rows that the SQL at Path gives.
type SQLLimit struct {
	Path string `json:"path"`
	Max  int32  `json:"max"`
}

// An Assignment sets the argument at Path to Value, a JSON text.
type Assignment struct {
	Path  string `json:"path"`
	Value string `json:"value"`
}

// A RiskLevel ranks what a call could do.
type RiskLevel string

// The levels, from the least.
const (
	RiskLow    RiskLevel = "Low"
	RiskMedium RiskLevel = "Medium"
	RiskHigh   RiskLevel = "High"
)

// A Risk ranks calls.
type Risk struct {
	Rules          []RiskRule `json:"rules,omitempty"` // in the policy's order, which means nothing
	Default        RiskLevel  `json:"default"`
	Medium         Verdict    `json:"medium"`                   // Ask or Allow
	SensitiveWords []string   `json:"sensitiveWords,omitempty"` // lower case, sorted
}

// A RiskRule gives the calls that it matches a level.
type RiskRule struct {
	Match      string          `json:"match"` // a pattern in the syntax of package toolpattern
	Conditions []RiskCondition `json:"conditions,omitempty"`
	Level      RiskLevel       `json:"level"`
}

// A RiskCondition holds where some value at Path is in the list, or matches.
type RiskCondition struct {
	Path    string   `json:"path"`
	Values  []string `json:"values,omitempty"`  // sorted
	Matches string   `json:"matches,omitempty"` // RE2, for the whole text
}

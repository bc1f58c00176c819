package chain

// An Effect names a kind of decision, spelled as on the wire and in records.
type Effect string

// The four effects. The zero value is none of them and never an Allow.
const (
	EffectAllow   Effect = "Allow"
	EffectDeny    Effect = "Deny"
	EffectAskUser Effect = "AskUser"
	EffectRewrite Effect = "Rewrite"
)

// A Decision is one of Allow, Deny, AskUser and Rewrite. The set is sealed: a
// nil Decision, and there is no other, counts as a failed hook.
type Decision interface {
	Effect() Effect
	basis() Basis
}

// A Basis is what a decision rests on, for the operator's record. It never
// reaches the agent.
type Basis struct {
	// Rule is the identifier of the rule that applied, such as
	// "sql.class.destructive".
	Rule string
	// Facts are what the hook found: nil, bool, string, json.Number, []any
	// and map[string]any only, free of literals from the arguments.
	Facts map[string]any
}

func (b Basis) basis() Basis { return b }

// Allow lets the call run as it is.
type Allow struct{ Basis }

// Deny blocks the call. Nothing turns it into anything else.
type Deny struct {
	Basis
	Code    string // stable, for machines, such as "path.outside"
	Message string // short and neutral, for the agent
}

// AskUser holds the call back until a person has approved it.
type AskUser struct {
	Basis
	Code    string   // stable, for machines, such as "sql.destructive"
	Prompt  string   // one sentence: what will happen
	Details []string // what else a person needs to see
	Risk    Risk     // RiskMedium if empty
	// RiskReasons say why, where that is more than what will happen.
	RiskReasons []string
}

// Rewrite lets the call run with other arguments. Args replaces all of them.
type Rewrite struct {
	Basis
	Args map[string]any
}

// Effect returns EffectAllow.
func (Allow) Effect() Effect { return EffectAllow }

// Effect returns EffectDeny.
func (Deny) Effect() Effect { return EffectDeny }

// Effect returns EffectAskUser.
func (AskUser) Effect() Effect { return EffectAskUser }

// Effect returns EffectRewrite.
func (Rewrite) Effect() Effect { return EffectRewrite }

// A Risk ranks what a call could do.
type Risk string

// The risks, from the least.
const (
	RiskLow    Risk = "Low"
	RiskMedium Risk = "Medium"
	RiskHigh   Risk = "High"
)

// Max returns the higher of two risks. An unknown one counts as High.
func (r Risk) Max(s Risk) Risk {
	if s.rank() > r.rank() {
		return s
	}
	return r
}

func (r Risk) rank() int {
	switch r {
	case RiskLow:
		return 0
	case RiskMedium, "":
		return 1
	default:
		return 2
	}
}

// Codes of the chain's own decisions.
const (
	CodeHookFailed          = "hook.failed"
	CodeRewriteDiverged     = "chain.rewrite_diverged"
	CodeToolLookalike       = "tool.lookalike"
	CodeToolInvalid         = "tool.invalid"
	CodeToolUnlisted        = "tool.unlisted"
	CodeArgumentsUndeclared = "arguments.undeclared"
	CodeArgumentsInvalid    = "arguments.invalid"
)

package approval

import (
	"crypto/rand"
	"strings"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/chain"
)

// A State is where a held call stands.
type State string

// The states. Only Approved lets the call pass, once. The last five are ends.
const (
	Pending  State = "Pending"
	Approved State = "Approved"
	Rejected State = "Rejected"
	TimedOut State = "TimedOut"
	Used     State = "Used"
	Expired  State = "Expired" // approved, but not used in time
	Voided   State = "Voided"  // its policy changed or went away
)

// RejectionStands is how long a rejection denies the same call.
const RejectionStands = 10 * time.Minute

// An Approval is one held call. It is a value: steps make new ones, and nobody
// changes what its slices, maps and pointers lead to.
//
// Times that come from one process carry its monotonic clock; a Store keeps
// that reading where it can.
type Approval struct {
	ID     string // NewID
	Digest string // Binding.Digest of the call

	// Frozen when the call was held.

	Prompt  string   // Safe, one sentence: what will happen
	Details []string // Safe
	Risk    chain.Risk
	// RiskReasons say why the risk is what it is. Safe.
	RiskReasons []string
	Args        any // redacted; values as package strictjson parses them
	Asks        []Ask
	Requester   chain.Caller
	Session     string
	Tool        string
	Policy      Policy
	// Policies are those whose hooks ask: who decides may decide under each.
	Policies []PolicyRef
	// ByAgent says that the requester's own confirm_destructive is enough.
	ByAgent bool
	// DecisionID is the decision that held the call; Replica is the replica
	// that made it and takes the approval's votes and time-out.
	DecisionID       string
	Replica          string
	CreatedAt        time.Time
	DecideBy         time.Time
	UseWithin        time.Duration // counted from the approval
	MinimumApprovers int           // distinct people

	// Moved by steps.

	State     State     // as of the last step; StateAt knows what time has changed
	Votes     []Vote    // those that were counted
	SettledAt time.Time // when it left Pending; zero before
	EndedAt   time.Time // when it reached an end; zero before
	UsedBy    *Use

	// Cast are votes that people cast in the Store itself and that nobody has
	// counted yet, as it shows them. A step moves them to Votes.
	Cast []Vote

	// Version is the Store's, for compare-and-swap; opaque.
	Version string
}

// An Ask is one hook's wish that a person decides.
type Ask struct {
	Hook string
	Rule string
}

// A Policy says under which policy a call was held.
type Policy struct {
	Name        string // namespace/name, or the name of a baseline
	Generation  int64
	UID         string
	ChainDigest string
}

// A PolicyRef names a policy: a HookPolicy of the requester's namespace, or one
// of the platform's baseline.
type PolicyRef struct {
	Name     string
	Baseline bool
}

// A Vote is one person's word.
type Vote struct {
	User    string // as the voter's identity was proven
	Approve bool
	Reason  string // Safe
	At      time.Time
	Via     string // how the user was known, such as "unix-socket"
}

// ViaAgent marks a vote that is the requester's own confirm_destructive, under
// consent: Agent.
const ViaAgent = "agent"

// A Use says which decision spent an approval.
type Use struct {
	DecisionID string
	Replica    string
	At         time.Time
}

// NewID returns a new approval's id: "ap-" and 26 random characters a-z, 2-7.
func NewID() string { return "ap-" + strings.ToLower(rand.Text()) }

// StateAt returns the state that the approval is in at a time: what is pending
// is timed out from DecideBy on, what is approved has expired from UseBy on.
func (a Approval) StateAt(now time.Time) State {
	switch {
	case a.State == Pending && past(now, a.DecideBy):
		return TimedOut
	case a.State == Approved && past(now, a.UseBy()):
		return Expired
	default:
		return a.State
	}
}

// UseBy is the end of the time in which an approved call may be used; zero
// before it was approved.
func (a Approval) UseBy() time.Time {
	if a.SettledAt.IsZero() {
		return time.Time{}
	}
	return a.SettledAt.Add(a.UseWithin)
}

// Deadline is when time alone changes the state next; false if it never does.
func (a Approval) Deadline() (time.Time, bool) {
	switch a.State {
	case Pending:
		return a.DecideBy, true
	case Approved:
		return a.UseBy(), true
	default:
		return time.Time{}, false
	}
}

// IsEnd reports whether nothing can follow the state. No state is no end.
func (s State) IsEnd() bool { return s != Pending && s != Approved && s != "" }

// at returns the approval as it stands at a time.
func (a Approval) at(now time.Time) Approval {
	a.State = a.StateAt(now)
	return a
}

// past reports whether a deadline was reached. Setting the wall clock back
// does not help, for the monotonic reading goes on; suspending the machine does
// not either, for then the wall clock does.
func past(now, deadline time.Time) bool {
	return !now.Before(deadline) || !now.Round(0).Before(deadline.Round(0))
}

// rejectionStandsAt reports whether the approval is a rejection that still
// denies its call. Only the monotonic clock counts where there is one: setting
// the wall clock forward ends no rejection.
func (a Approval) rejectionStandsAt(now time.Time) bool {
	return a.State == Rejected && now.Before(a.SettledAt.Add(RejectionStands))
}

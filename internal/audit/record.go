package audit

// A Kind says what a record tells of.
type Kind string

// The kinds of record.
const (
	KindGenesis  Kind = "genesis"  // the first record of a chain
	KindBoot     Kind = "boot"     // a service opened the chain again
	KindPolicy   Kind = "policy"   // a policy came into force, changed or went
	KindDecision Kind = "decision" // one attempt to call a tool
	KindApproval Kind = "approval" // a step in the life of a held call
	KindTimeout  Kind = "timeout"  // a held call that nobody decided in time
	KindOutcome  Kind = "outcome"  // what the enforcement point says the tool did
	KindShutdown Kind = "shutdown" // an orderly end

	KindKey        Kind = "key"        // a key that signs checkpoints
	KindCheckpoint Kind = "checkpoint" // a signed checkpoint of another chain
	KindHeartbeat  Kind = "heartbeat"  // nothing happened for a while
	KindGap        Kind = "gap"        // records were given up by a repair
)

// A Record is what happened, without its place in a chain: the log adds v,
// seq, prev_hash, ts, tenant and replica. An empty field is left out.
//
// Nothing in a record may be secret. Args, Facts and Details are redacted by
// the caller before they are put here.
type Record struct {
	Kind  Kind
	ID    string // the decision's id, a UUIDv7
	ReqID string // the caller's callId
	Ref   *Ref   // the decision that an approval, time-out or outcome closes

	Agent   string // "namespace/serviceaccount" of the caller
	Session string
	Tool    string // as the caller wrote it

	Decision string   // Allow, Deny, AskUser or Rewrite
	Reason   string   // a code, never a text
	Hook     string   // the hook that decided
	Rules    []string // the rules that applied, in the order of the hooks
	Would    string   // DryRun: what would have been decided
	Mode     string   // DryRun or Off; empty when enforced
	Repeat   bool     // a retry that got the first answer again
	Risk     string

	Policy  string // digest of the compiled chain
	PolicyN string // namespace/name@generation of the policy

	Args       any // redacted
	ArgsDigest string
	NewArgs    any // redacted; what a Rewrite ordered
	Redacted   []Redaction
	Facts      map[string]any // hook name → what it found

	Approval *ApprovalStep
	Outcome  *OutcomeClaim

	LatencyMicros int64
	// Extra members of the records that the log and the service write about
	// themselves, such as a boot's quarantined bytes. Values as package
	// strictjson parses them.
	Extra map[string]any
}

// A Ref names the record that another one belongs to.
type Ref struct {
	ID  string
	Seq uint64
}

// A Redaction says what was taken out of the arguments and how.
type Redaction struct {
	Pointer    string // RFC 6901, within args
	How        string // key, shape, …
	Commitment string // keyed hash of what was there; never a bare hash
}

// An ApprovalStep is one step in the life of a held call.
type ApprovalStep struct {
	ID     string
	State  string // Pending, Approved, Rejected, TimedOut, Used, …
	User   string // who voted
	Via    string // how the user was known: "unix-socket", "agent" …
	Reason string // redacted
	// Replica is the one that holds the call, if that is another one: what began
	// it stands in that replica's chain.
	Replica string
	WaitMs  int64 // from hold to this step
}

// An OutcomeClaim is what an enforcement point says a tool did.
type OutcomeClaim struct {
	Status       string
	ResultDigest string
	Error        string // redacted
	DurationMs   int64
}

// A Receipt says where a record stands, once it is durable.
type Receipt struct {
	Chain string // the chain's origin
	Seq   uint64
	Hash  string // record_hash, hexadecimal
}

// Package engine takes one call all the way: who governs its caller, what the
// chain decides, whether a person has approved it, and the record of it all.
// A server puts it on a socket, an offline check runs it over a file.
//
// Decide never fails. Whatever goes wrong on the way is a Deny with a code,
// and the record comes before the answer: what cannot be recorded is denied,
// unless the tenant's policy says otherwise.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/redact"
)

// Codes of the engine's own decisions.
const (
	CodeNoPolicy            = "policy.none"       // no policy governs the caller
	CodePolicyInvalid       = "policy.invalid"    // no policy was ever loaded
	CodeIDReused            = "call.id_reused"    // the call id named another call
	CodeCancelled           = "call.cancelled"    // the caller was gone before the decision
	CodeAuditUnavailable    = "audit.unavailable" // the decision cannot be recorded
	CodeRedactionFailed     = "redaction_failed"  // its arguments cannot be written safely
	CodeApprovalUnavailable = approval.CodeUnavailable
	CodeApprovalRejected    = approval.CodeRejected
	CodeApprovalTimeout     = approval.CodeTimeout
	CodeApprovalTooMany     = approval.CodeTooManyPending
	CodeApprovalUnknown     = "approval.unknown"
	CodeOutcomeUnknown      = "outcome.unknown"
	CodeOutcomeRepeated     = "outcome.repeated"
)

// A Recorder is the audit log. Append returns once the record is durable, or
// after a time of its own with an error; then the record may still come.
type Recorder interface {
	Append(ctx context.Context, tenant string, rec *audit.Record) (audit.Receipt, error)
	// Commitment is a keyed hash that ties a record to data that is not in it.
	Commitment(tenant string, data []byte) string
	// Ready returns why nothing can be recorded now, or nil.
	Ready() error
}

// Options are an Engine's parts and settings.
type Options struct {
	Constructors chain.Constructors // required
	Recorder     Recorder           // required
	// Approvals are where held calls are kept. Required.
	Approvals approval.Store
	// VotesInStore says that people vote in the store itself, and not here.
	VotesInStore bool
	// VotesEnforced reports whether the store's votes are guarded now; see
	// approval.Options.Enforced. Default: always.
	VotesEnforced func() bool
	// BindingKey keys the digests that tie an approval to its call, 32 bytes
	// or more. Replicas that share a store share it. Default: a random one,
	// right for a store that ends with the process.
	BindingKey []byte
	// Replica names this process in approvals.
	Replica string
	// Unmatched answers callers that no policy governs. Default: Deny. With
	// Allow, the baseline's hooks decide.
	Unmatched plan.Verdict
	// RefusalsPerSecond bounds how many attempts that belong to no tenant are
	// recorded one by one. Default: 20.
	RefusalsPerSecond float64
	Logger            *slog.Logger          // default: discards
	Metrics           prometheus.Registerer // default: unregistered
	Clock             func() time.Time      // default: time.Now
}

// An Engine decides calls. It is safe for concurrent use.
type Engine struct {
	constructors chain.Constructors
	recorder     Recorder
	desk         *approval.Desk
	replica      string
	unmatched    plan.Verdict
	log          *slog.Logger
	metrics      *metrics
	clock        func() time.Time
	plain        *redact.Redactor // without any policy's own names

	swap    sync.Mutex // serialises SetPolicies
	rules   atomic.Pointer[rules]
	repeats repeats
	refused *refusals
	recents recents
	asked   asked
	hub     hub
}

// New returns an engine that denies everything until SetPolicies succeeds.
func New(o Options) (*Engine, error) {
	if o.Recorder == nil || o.Approvals == nil || o.Constructors == nil {
		return nil, errors.New("engine needs constructors, a recorder and an approval store")
	}
	e := &Engine{
		constructors: o.Constructors,
		recorder:     o.Recorder,
		replica:      o.Replica,
		unmatched:    o.Unmatched,
		log:          o.Logger,
		metrics:      newMetrics(o.Metrics),
		clock:        o.Clock,
		plain:        redact.New(nil),
		refused:      newRefusals(o.RefusalsPerSecond),
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	if e.clock == nil {
		e.clock = time.Now
	}
	desk, err := approval.New(approval.Options{
		Store: o.Approvals, Key: o.BindingKey, Replica: o.Replica, Now: e.clock, Record: e.recordStep,
		VotesInStore: o.VotesInStore, Enforced: o.VotesEnforced,
	})
	if err != nil {
		return nil, fmt.Errorf("set up approvals: %w", err)
	}
	e.desk = desk
	return e, nil
}

// Desk is where people find the held calls.
func (e *Engine) Desk() *approval.Desk { return e.desk }

// SetPolicies puts a set of policies in force, all of it or, with an error,
// nothing of it. Held calls of a policy that changed or went are voided.
func (e *Engine) SetPolicies(ctx context.Context, set *plan.Set) error {
	e.swap.Lock()
	defer e.swap.Unlock()
	next, err := newRules(set, e.constructors, e.rules.Load())
	if err != nil {
		return fmt.Errorf("build the policies' chains: %w", err)
	}
	e.rules.Store(next)
	e.metrics.policies.Set(float64(set.Len()))
	inForce := next.digests()
	if _, err := e.desk.Void(ctx, func(a approval.Approval) bool { return !inForce[a.Policy.ChainDigest] }); err != nil {
		// The binding holds the old chain's digest: they can release nothing.
		e.log.LogAttrs(ctx, slog.LevelWarn, "Approvals of replaced policies could not be voided", slog.Any("error", err))
	}
	return nil
}

// Run keeps the engine's timers until ctx is done: time-outs of held calls,
// and the counts of refusals that were not recorded one by one.
func (e *Engine) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(suppressedEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				e.recordSuppressed(context.WithoutCancel(ctx), e.clock(), true)
				return
			case <-ticker.C:
				e.recordSuppressed(ctx, e.clock(), false)
				e.repeats.expire(e.clock())
				e.countHeld(ctx)
			}
		}
	})
	wg.Go(func() { e.publishResolved(ctx) })
	e.desk.Run(ctx)
	wg.Wait()
}

// countHeld counts the held calls. While they cannot be read, the last count
// stands.
func (e *Engine) countHeld(ctx context.Context) {
	if held, err := e.desk.List(ctx, approval.Pending); err == nil {
		e.metrics.held.Set(float64(len(held)))
	}
}

// Ready returns why no call can be decided now, or nil.
func (e *Engine) Ready() error {
	if e.rules.Load() == nil {
		return errors.New("no policy is loaded")
	}
	if err := e.recorder.Ready(); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// Warnings are what an operator should look at although calls are decided. They
// are shown to anyone who asks, so they name no tenant.
func (e *Engine) Warnings() []string {
	r, ok := e.recorder.(interface{ CorruptChains() int })
	if !ok {
		return nil
	}
	if n := r.CorruptChains(); n > 0 {
		return []string{fmt.Sprintf("audit: corrupt chains: %d; calls of their tenants are denied", n)}
	}
	return nil
}

// Subscribe delivers the caller's own events until ctx is done. The channel is
// closed when a subscriber falls behind.
func (e *Engine) Subscribe(ctx context.Context, caller chain.Caller) <-chan Event {
	return e.hub.subscribe(ctx, caller)
}

// newID returns a decision id: a UUIDv7, so that ids sort by time.
func (e *Engine) newID() string {
	id, err := uuid.NewV7()
	if err != nil {
		// Impossible: the runtime's random source never fails.
		panic(fmt.Sprintf("engine: make an id: %v", err))
	}
	return id.String()
}

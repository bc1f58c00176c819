package engine

import (
	"context"
	"sync"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/chain"
)

// maxRecents is how many decisions are remembered so that an outcome can be
// held against its decision: the latest of them, in two generations of half.
const maxRecents = 65_536

// maxErrorBytes bounds the error text of an outcome's record.
const maxErrorBytes = 1024

// recents remembers the latest decisions by the hash of their record.
type recents struct {
	mu      sync.Mutex
	younger map[string]*recent
	older   map[string]*recent
}

// A recent is one decision whose outcome may be reported.
type recent struct {
	caller   chain.Caller
	callID   string
	id       string
	seq      uint64
	bound    *bound
	reported bool
	// call is kept only where a hook wants to hear of its outcome.
	call *chain.Call
}

func (r *recents) add(hash string, d *recent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.younger == nil || len(r.younger) >= maxRecents/2 {
		r.older, r.younger = r.younger, make(map[string]*recent, len(r.younger))
	}
	r.younger[hash] = d
}

// claim finds the decision that an outcome closes and marks it as reported.
func (r *recents) claim(hash string, caller chain.Caller, callID string) (d *recent, code string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d = r.younger[hash]
	if d == nil {
		d = r.older[hash]
	}
	switch {
	case d == nil:
		return nil, ""
	case d.caller != caller || d.callID != callID:
		return nil, CodeOutcomeUnknown
	case d.reported:
		return nil, CodeOutcomeRepeated
	}
	d.reported = true
	return d, ""
}

// release takes a claim back, since it could not be recorded.
func (r *recents) release(d *recent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d.reported = false
}

// remember keeps a decision after which the tool may have run.
func (e *Engine) remember(a *attempt, v verdict, receipt audit.Receipt) {
	if v.effect != chain.EffectAllow && v.effect != chain.EffectRewrite {
		return
	}
	d := &recent{caller: a.caller, callID: a.callID(), id: a.id, seq: receipt.Seq, bound: a.bound}
	if a.bound.chain.HasObservers(a.result.Tool) {
		c := *a.call
		c.Tool, c.Args = a.result.Tool, a.result.Args
		d.call = &c
	}
	e.recents.add(receipt.Hash, d)
}

// Outcome records what the enforcement point says that a tool did. It is a
// claim and loosens nothing. The first one for a decision counts; one for a
// decision that this replica does not remember is recorded as unverified.
// What is refused is a *RefusedError, recorded.
func (e *Engine) Outcome(ctx context.Context, caller chain.Caller, o decisionv1.Outcome) (*decisionv1.OutcomeResponse, error) {
	d, code := e.recents.claim(o.Audit.Hash, caller, o.CallID)
	if code != "" {
		return nil, e.refuseOutcome(ctx, caller, code)
	}
	b, rec := e.outcomeRecord(caller, o, d)
	if b == nil {
		return nil, e.refuseOutcome(ctx, caller, CodeNoPolicy)
	}
	receipt, err := e.append(ctx, b.tenant, rec)
	if err != nil {
		if d != nil {
			e.recents.release(d)
		}
		return nil, &RefusedError{Code: CodeAuditUnavailable, Message: "the outcome cannot be recorded now"}
	}
	e.metrics.outcomes.WithLabelValues(rec.Outcome.Status).Inc()
	if d != nil && d.call != nil {
		b.chain.Observe(ctx, d.call, chain.Outcome{Status: o.Status, Duration: time.Duration(o.DurationMs) * time.Millisecond})
	}
	return &decisionv1.OutcomeResponse{CallID: o.CallID, Audit: wireReceipt(receipt)}, nil
}

func (e *Engine) outcomeRecord(caller chain.Caller, o decisionv1.Outcome, d *recent) (*bound, *audit.Record) {
	rec := &audit.Record{Kind: audit.KindOutcome, ReqID: o.CallID, Agent: caller.String()}
	var b *bound
	if d != nil {
		b = d.bound
		rec.Ref = &audit.Ref{ID: d.id, Seq: d.seq}
	} else {
		r := e.rules.Load()
		if r == nil {
			return nil, nil
		}
		own, refusal := r.lookup(caller)
		if refusal != "" {
			return nil, nil
		}
		b = own
		rec.Extra = map[string]any{"unverified": true, "claimed": map[string]any{"chain": o.Audit.Chain, "seq": o.Audit.Seq, "hash": o.Audit.Hash}}
	}
	rec.Outcome = &audit.OutcomeClaim{
		Status: o.Status, DurationMs: o.DurationMs,
		ResultDigest: bounded(o.ResultDigest), Error: cut(b.redactor.Text(o.Error), maxErrorBytes),
	}
	return b, rec
}

func (e *Engine) refuseOutcome(ctx context.Context, caller chain.Caller, code string) error {
	message := map[string]string{
		CodeOutcomeUnknown:  "there is no such decision of this caller",
		CodeOutcomeRepeated: "the outcome of this decision was reported already",
		CodeNoPolicy:        "no policy governs this caller",
	}[code]
	e.Refuse(ctx, &caller, code, message)
	return &RefusedError{Code: code, Message: message}
}

package engine

import (
	"context"
	"sync"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/chain"
)

// A recordError says that a step of an approval could not be recorded, so the
// step was not taken.
type recordError struct{ err error }

func (e *recordError) Error() string { return "record a step of an approval: " + e.err.Error() }
func (e *recordError) Unwrap() error { return e.err }

// asked remembers where the decision that holds a call is recorded, so that
// what closes it can say so.
type asked struct {
	mu  sync.Mutex
	seq map[string]uint64 // by approval id
}

func (k *asked) put(id string, seq uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.seq == nil {
		k.seq = make(map[string]uint64)
	}
	if _, ok := k.seq[id]; !ok { // the first decision holds the call
		k.seq[id] = seq
	}
}

func (k *asked) get(id string, last bool) (uint64, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	seq, ok := k.seq[id]
	if last {
		delete(k.seq, id)
	}
	return seq, ok
}

// recordStep puts a step of an approval into its tenant's chain, before the
// step takes effect.
func (e *Engine) recordStep(ctx context.Context, s approval.Step) error {
	kind := audit.KindApproval
	if s.Kind == approval.StepTimedOut {
		kind = audit.KindTimeout
	}
	a := s.Approval
	rec := &audit.Record{
		Kind: kind, Agent: a.Requester.String(), Session: bounded(a.Session), Tool: bounded(a.Tool),
		Policy: a.Policy.ChainDigest, Risk: string(a.Risk),
		Approval: &audit.ApprovalStep{ID: a.ID, State: string(s.Kind), WaitMs: s.Waited().Milliseconds()},
	}
	if v := s.Vote; v != nil {
		rec.Approval.User, rec.Approval.Via = v.User, v.Via
		rec.Approval.Reason = e.redactText(a.Policy.Name, v.Reason)
	}
	if a.Replica != e.replica {
		rec.Approval.Replica = a.Replica
	} else if seq, ok := e.asked.get(a.ID, a.State.IsEnd()); ok {
		rec.Ref = &audit.Ref{ID: a.DecisionID, Seq: seq}
	}
	if rec.Ref == nil { // not recorded yet, or by another replica or before a restart
		rec.Extra = map[string]any{"decision_id": a.DecisionID}
	}
	if s.Kind == approval.StepHeld {
		rec.Extra = map[string]any{"decision_id": a.DecisionID, "decide_by": a.DecideBy.UTC().Format(time.RFC3339)}
	}
	if _, err := e.append(ctx, a.Policy.Name, rec); err != nil {
		return &recordError{err}
	}
	e.metrics.approvals.WithLabelValues(string(s.Kind)).Inc()
	return nil
}

// redactText redacts a text under the rules of the policy that has the name.
func (e *Engine) redactText(policy, text string) string {
	if r := e.rules.Load(); r != nil {
		for _, b := range r.byTenant {
			if b.tenant == policy {
				return b.redactor.Text(text)
			}
		}
		return r.baseline.redactor.Text(text)
	}
	return ""
}

// publish tells whoever listens what became of a caller's call.
func (e *Engine) publish(a *attempt, v verdict, resp *decisionv1.Response) {
	event := Event{Data: decisionv1.Event{CallID: bounded(a.bound.redactor.Text(resp.CallID)), Tool: a.tool(), Session: a.session(), Reason: resp.Reason}}
	switch v.effect {
	case chain.EffectAskUser:
		event.Name, event.Data.Approval = decisionv1.EventAsk, resp.Approval
	case chain.EffectDeny:
		event.Name = decisionv1.EventDenied
	default:
		return
	}
	e.hub.publish(a.caller, event)
}

// publishResolved tells the requesters of held calls when these are decided.
func (e *Engine) publishResolved(ctx context.Context) {
	for ctx.Err() == nil {
		for a := range e.desk.Changes(ctx) {
			if a.State == approval.Pending || a.State == approval.Used {
				continue
			}
			e.hub.publish(a.Requester, Event{Name: decisionv1.EventResolved, Data: decisionv1.Event{
				Tool: bounded(a.Tool), Session: bounded(a.Session), Approval: wireApproval(&a, e.clock()),
			}})
		}
	}
}

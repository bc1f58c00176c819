package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// maxAskingPolicies is how many policies may ask about one call: who decides is
// looked up under each of them, and the API server bounds that.
const maxAskingPolicies = 8

// ask turns the questions of a call into what people have said of it.
func (e *Engine) ask(ctx context.Context, a *attempt, first chain.AskUser) verdict {
	req := e.approvalRequest(a)
	if len(req.Policies) > maxAskingPolicies {
		return denied(CodeApprovalUnavailable, "too many policies ask about this call")
	}
	ruling, err := e.desk.Ask(ctx, req)
	if err != nil {
		return e.askFailed(ctx, a, err)
	}
	held := ruling.Approval
	switch ruling.Outcome {
	case approval.Passed:
		v := a.granted()
		v.approval, v.viaAgent = &held, byAgent(held)
		return v
	case approval.Held:
		return verdict{effect: chain.EffectAskUser, code: first.Code, message: "a person must approve this call", approval: &held}
	case approval.Refused:
		v := denied(CodeApprovalRejected, "a person refused this call; find another way")
		v.approval = &held
		return v
	case approval.TooMany:
		return denied(CodeApprovalTooMany, "too many calls of this caller wait for a person")
	default:
		return denied(CodeApprovalUnavailable, "nobody can be asked now")
	}
}

// askFailed is the verdict where the question could not be put, or its answer
// not be used.
func (e *Engine) askFailed(ctx context.Context, a *attempt, err error) verdict {
	if ctx.Err() != nil {
		return denied(CodeCancelled, "the call was given up")
	}
	e.log.LogAttrs(ctx, slog.LevelError, "Approval could not be asked for", slog.String("decisionID", a.id), slog.Any("error", err))
	if recorded := (*recordError)(nil); errors.As(err, &recorded) {
		return denied(CodeAuditUnavailable, "the decision cannot be recorded")
	}
	return denied(CodeApprovalUnavailable, "nobody can be asked now")
}

// approvalRequest makes one question of all that the last pass asked.
func (e *Engine) approvalRequest(a *attempt) approval.Request {
	r := a.result
	settings, byAgent := strictest(r.Asks)
	args, _ := a.bound.redactor.Args(r.Args)
	req := approval.Request{
		Binding: approval.Binding{
			Tool: a.req.Tool, Args: r.Args, Caller: a.caller, Session: a.req.Session,
			ChainDigest: a.bound.chain.Digest(),
		},
		Tool: a.tool(), Session: a.session(),
		DecisionID: a.id, Consent: a.consent, FlagCounts: byAgent,
		Prompt: a.bound.redactor.Text(r.Asks[0].Prompt), Details: a.details(), Risk: r.Risk(), Args: args,
		Policy:  approval.Policy{Name: a.bound.tenant, ChainDigest: a.bound.chain.Digest()},
		Timeout: r.Asks[0].Timeout(), UseWithin: time.Duration(settings.UseWithinSeconds) * time.Second,
		MinimumApprovers: int(settings.MinimumApprovers), MaxPending: int(settings.MaxPending),
	}
	if s := a.bound.segment; s != nil {
		req.Binding.PolicyUID = s.Source.UID
		req.Policy.UID, req.Policy.Generation = s.Source.UID, s.Source.Generation
	}
	for _, q := range r.Asks {
		req.Timeout = min(req.Timeout, q.Timeout())
		name := q.Segment.Source.Tenant() + "/" + q.Hook
		req.Binding.Hooks = append(req.Binding.Hooks, name)
		for _, reason := range q.RiskReasons {
			req.RiskReasons = append(req.RiskReasons, a.bound.redactor.Text(reason))
		}
		req.Asks = append(req.Asks, approval.Ask{Hook: name, Rule: q.Rule})
		ref := approval.PolicyRef{Name: q.Segment.Source.Name, Baseline: q.Segment.IsBaseline()}
		if !slices.Contains(req.Policies, ref) {
			req.Policies = append(req.Policies, ref)
		}
	}
	return req
}

// details are the lines that people see below the prompt: where, and what each
// hook has to say.
func (a *attempt) details() []string {
	var lines []string
	if s := a.bound.segment; s != nil {
		for _, fact := range []struct{ name, value string }{
			{"environment", s.Context.Environment}, {"project", s.Context.ProjectKind}, {"branch", s.Context.Branch},
		} {
			if fact.value != "" {
				lines = append(lines, fact.name+": "+fact.value)
			}
		}
	}
	for i, q := range a.result.Asks {
		if i > 0 {
			lines = append(lines, a.bound.redactor.Text(q.Prompt))
		}
		for _, d := range q.Details {
			lines = append(lines, a.bound.redactor.Text(d))
		}
	}
	return lines
}

// strictest are the settings of a question that several hooks ask: those of the
// strictest. The agent's own word counts only where every asking policy says so,
// and never for a baseline.
func strictest(asks []chain.Ask) (s plan.Approvals, byAgent bool) {
	byAgent = true
	for i, q := range asks {
		p := q.Segment.Approvals
		if q.Segment.IsBaseline() || p.Consent != plan.ConsentAgent {
			byAgent = false
		}
		if i == 0 {
			s = p
			continue
		}
		s.UseWithinSeconds = min(s.UseWithinSeconds, p.UseWithinSeconds)
		s.MinimumApprovers = max(s.MinimumApprovers, p.MinimumApprovers)
		s.MaxPending = min(s.MaxPending, p.MaxPending)
	}
	return s, byAgent
}

func byAgent(a approval.Approval) bool {
	return len(a.Votes) > 0 && a.Votes[len(a.Votes)-1].Via == approval.ViaAgent
}

// await holds a request in line. asked is the answer that stands if nobody
// decides while the client waits.
func (e *Engine) await(ctx context.Context, a *attempt, held *approval.Approval, asked *decisionv1.Response) (resp *decisionv1.Response, settled bool) {
	waitCtx, cancel := context.WithTimeout(ctx, a.req.Wait)
	defer cancel()
	if a.req.Stopping != nil {
		go func() {
			select {
			case <-a.req.Stopping:
				cancel()
			case <-waitCtx.Done():
			}
		}()
	}
	now, err := e.desk.Wait(waitCtx, held.ID, a.caller)
	if err != nil {
		return asked, false // nobody decided yet, or the client is gone
	}
	next := &attempt{caller: a.caller, req: a.req, replica: e.replica, start: e.clock()}
	if refused := e.bind(ctx, next); refused != nil { // the policy may have gone
		return refused, true
	}
	next.consent.ID = held.ID
	v := denied(CodeApprovalTimeout, "nobody answered in time; ask again if it is still needed")
	switch now.State {
	case approval.Approved, approval.Voided:
		// The policies of this moment decide, and a Deny of theirs wins.
		v = e.judge(ctx, next)
	case approval.Rejected:
		v = denied(CodeApprovalRejected, "a person refused this call; find another way")
	default: // whatever else ended it, nobody approved
	}
	if v.approval == nil {
		v.approval = &now
	}
	resp = e.conclude(ctx, next, v)
	return resp, settles(resp)
}

// Approval returns the state of one held call of this caller, at once or when
// the call is decided, the wait is over or ctx is done. An approval that this
// caller does not have is a *RefusedError.
func (e *Engine) Approval(ctx context.Context, caller chain.Caller, id string, wait time.Duration) (*decisionv1.Approval, error) {
	a, err := e.desk.Get(ctx, id, caller)
	if err == nil && wait > 0 && a.State == approval.Pending {
		waitCtx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		if decided, waitErr := e.desk.Wait(waitCtx, id, caller); waitErr == nil {
			a = decided
		} else if waitCtx.Err() == nil {
			err = waitErr
		}
	}
	switch {
	case errors.Is(err, approval.ErrNotFound):
		e.Refuse(ctx, &caller, CodeApprovalUnknown, "there is no such approval of this caller")
		return nil, &RefusedError{Code: CodeApprovalUnknown, Message: "there is no such approval of this caller"}
	case err != nil:
		return nil, &RefusedError{Code: CodeApprovalUnavailable, Message: "approvals cannot be read now"}
	}
	return wireApproval(&a, e.clock()), nil
}

// wireApproval is a held call as its own caller sees it.
func wireApproval(a *approval.Approval, now time.Time) *decisionv1.Approval {
	w := &decisionv1.Approval{
		ID: a.ID, State: decisionv1.ApprovalState(a.StateAt(now)), Prompt: a.Prompt, Details: a.Details, ExpiresAt: a.DecideBy.UTC(),
	}
	switch w.State {
	case decisionv1.Pending:
		w.ConfirmArgs = approval.ConfirmArgs(a.ID)
	case decisionv1.Approved:
		w.ConfirmArgs, w.ExpiresAt = approval.ConfirmArgs(a.ID), a.UseBy().UTC()
	default: // nothing will confirm it any more
	}
	return w
}

package engine

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// An attempt is one call on its way.
type attempt struct {
	id      string
	caller  chain.Caller
	req     *Request
	replica string // this one
	bound   *bound
	start   time.Time
	consent approval.Consent // what the caller said of an approval
	result  *chain.Result
	call    *chain.Call
	// canonical is the request's arguments in canonical form, once somebody
	// has asked for it.
	canonical []byte
}

// A verdict is what an attempt comes to, before it is recorded.
type verdict struct {
	effect   chain.Effect
	code     string
	message  string
	approval *approval.Approval // the one that is held, was used or was refused
	viaAgent bool               // the agent's own confirmation settled it
}

func denied(code, message string) verdict {
	return verdict{effect: chain.EffectDeny, code: code, message: message}
}

// Decide judges one call and returns once its decision is recorded. ctx ends
// when the client is gone.
func (e *Engine) Decide(ctx context.Context, caller chain.Caller, req Request) *decisionv1.Response {
	a := &attempt{caller: caller, req: &req, replica: e.replica, start: e.clock()}
	if refused := e.bind(ctx, a); refused != nil {
		return refused
	}
	if req.CallID == "" {
		resp, _ := e.decide(ctx, a)
		return resp
	}
	return e.decideOnce(ctx, a)
}

// bind finds what governs the caller. It returns the answer where nothing does.
func (e *Engine) bind(ctx context.Context, a *attempt) *decisionv1.Response {
	a.id = e.newID()
	r := e.rules.Load()
	if r == nil {
		return e.refuseCall(ctx, a, CodePolicyInvalid, "the decision service has no policy yet")
	}
	b, refusal := r.lookup(a.caller)
	switch {
	case refusal == "" || refusal == CodeNoPolicy && e.unmatched == plan.VerdictAllow:
		a.bound = b
		return nil
	case refusal == CodeNoPolicy:
		return e.refuseCall(ctx, a, refusal, "no policy governs this caller")
	default:
		return e.refuseCall(ctx, a, refusal, "the policy of this caller is not decided here")
	}
}

// refuseCall denies a call that no tenant's chain is for.
func (e *Engine) refuseCall(ctx context.Context, a *attempt, code, message string) *decisionv1.Response {
	e.metrics.decisions.WithLabelValues(string(chain.EffectDeny), code).Inc()
	resp := &decisionv1.Response{
		CallID: a.callID(), Decision: decisionv1.Deny, Reason: &decisionv1.Reason{Code: code, Message: message},
	}
	resp.Audit = e.recordRefusal(ctx, &audit.Record{
		Kind: audit.KindDecision, ID: a.id, ReqID: a.req.CallID, Agent: a.caller.String(),
		Decision: string(chain.EffectDeny), Reason: code,
	})
	return resp
}

// decideOnce answers the retries of one call id like the first attempt.
func (e *Engine) decideOnce(ctx context.Context, a *attempt) *decisionv1.Response {
	content, err := a.contentOf()
	if err != nil {
		return e.conclude(ctx, a, denied(CodeRedactionFailed, "the call cannot be recorded"))
	}
	key := repeatKey{caller: a.caller, id: a.req.CallID}
	for {
		mine, earlier := e.repeats.begin(key, content, a.bound.chain.Digest(), a.start)
		if mine != nil {
			return e.decideAs(ctx, a, key, mine)
		}
		if earlier.content != content {
			return e.conclude(ctx, a, denied(CodeIDReused, "the call id was used for another call"))
		}
		if earlier.done != nil {
			select {
			case <-earlier.done:
			case <-ctx.Done():
				return e.conclude(ctx, a, denied(CodeCancelled, "the call was given up"))
			}
		}
		if earlier.response != nil {
			return e.repeat(ctx, a, earlier.response)
		}
		// It settled nothing, so this attempt decides by itself.
	}
}

// decideAs makes the attempt that owns a call id, and always gives the id up.
func (e *Engine) decideAs(ctx context.Context, a *attempt, key repeatKey, mine *repeat) *decisionv1.Response {
	var settled *decisionv1.Response
	defer func() { e.repeats.end(key, mine, settled, e.clock()) }()
	resp, final := e.decide(ctx, a)
	if final {
		settled = resp
	}
	return resp
}

// repeat answers a retry like the first attempt and records that it did.
func (e *Engine) repeat(ctx context.Context, a *attempt, first *decisionv1.Response) *decisionv1.Response {
	rec := &audit.Record{
		Kind: audit.KindDecision, ID: a.id, ReqID: a.req.CallID, Agent: a.caller.String(), Session: a.session(),
		Tool: a.tool(), Decision: string(first.Decision), Repeat: true, Policy: a.bound.chain.Digest(), PolicyN: a.bound.policy,
	}
	if first.Reason != nil {
		rec.Reason = first.Reason.Code
	}
	if _, err := e.append(ctx, a.bound.tenant, rec); err != nil {
		return e.unrecorded(a)
	}
	again := *first
	return &again
}

// decide judges, waits where it may, records and answers. settled reports
// whether a retry is to get the same answer.
func (e *Engine) decide(ctx context.Context, a *attempt) (resp *decisionv1.Response, settled bool) {
	v := e.judge(ctx, a)
	resp = e.conclude(ctx, a, v)
	if v.effect == chain.EffectAskUser && resp.Decision == decisionv1.AskUser && v.approval != nil && a.req.Wait > 0 {
		return e.await(ctx, a, v.approval, resp)
	}
	return resp, settles(resp)
}

// settles reports whether an answer stands for retries. What failed for a
// reason that passes is worth another try.
func settles(resp *decisionv1.Response) bool {
	if resp.Decision == decisionv1.AskUser {
		return false
	}
	if resp.Reason == nil {
		return true
	}
	switch resp.Reason.Code {
	case CodeAuditUnavailable, CodeApprovalUnavailable, CodeApprovalTooMany, CodeCancelled, chain.CodeHookFailed:
		return false
	}
	return true
}

// judge runs the chain and turns its questions into what people have said.
func (e *Engine) judge(ctx context.Context, a *attempt) verdict {
	if err := e.announce(ctx, a.bound); err != nil {
		e.log.LogAttrs(ctx, slog.LevelError, "Policy could not be recorded", slog.String("policy", a.bound.policy), slog.Any("error", err))
		if a.bound.onFailure() != plan.VerdictAllow {
			return denied(CodeAuditUnavailable, "the decision cannot be recorded")
		}
	}
	rest, consent := approval.TakeConsent(a.req.Args)
	if a.consent.ID == "" { // a wait that ended approved names its approval itself
		a.consent = consent
	}
	a.call = &chain.Call{
		ToolAsCalled: a.req.Tool, Args: rest, Resolved: a.req.Resolved,
		Session: a.req.Session, Hints: a.req.Hints, Caller: a.caller,
	}
	a.result = a.bound.chain.Decide(ctx, a.call)
	e.report(ctx, a)
	switch d := a.result.Decision.(type) {
	case chain.Deny:
		return denied(d.Code, d.Message)
	case chain.AskUser:
		return e.ask(ctx, a, d)
	default:
		return verdict{effect: d.Effect()}
	}
}

// report logs and counts the hooks that could not judge.
func (e *Engine) report(ctx context.Context, a *attempt) {
	failures := a.result.Failures
	if w := a.result.Would; w != nil {
		failures = slices.Concat(failures, w.Failures)
	}
	for _, f := range failures {
		e.metrics.hookFailures.WithLabelValues(f.Cause, strconv.FormatBool(f.Ignored)).Inc()
		attrs := []slog.Attr{
			slog.String("policy", f.Policy), slog.String("hook", f.Hook), slog.String("cause", f.Cause),
			slog.Bool("ignored", f.Ignored), slog.String("decisionID", a.id), slog.Any("error", f.Err),
		}
		if f.Stack != nil {
			attrs = append(attrs, slog.String("stack", string(f.Stack)))
		}
		e.log.LogAttrs(ctx, slog.LevelError, "Hook could not judge", attrs...)
	}
}

// granted is the verdict over a call whose questions are answered with yes.
func (a *attempt) granted() verdict {
	if sameArgs(a) {
		return verdict{effect: chain.EffectAllow}
	}
	return verdict{effect: chain.EffectRewrite}
}

func (a *attempt) callID() string {
	if a.req.CallID != "" {
		return a.req.CallID
	}
	return a.id
}

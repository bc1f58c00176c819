package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

func sameArgs(a *attempt) bool { return strictjson.Equal(a.call.Args, a.result.Args) }

// conclude records a verdict and makes the answer of it.
func (e *Engine) conclude(ctx context.Context, a *attempt, v verdict) *decisionv1.Response {
	rec, err := e.record(a, v)
	if err != nil {
		e.log.LogAttrs(ctx, slog.LevelError, "Arguments could not be redacted", slog.String("decisionID", a.id), slog.Any("error", err))
		v = denied(CodeRedactionFailed, "the call cannot be recorded safely")
		rec = a.bareRecord(v)
	}
	args, err := answerArgs(a, v)
	if err != nil {
		v = denied(CodeRedactionFailed, "the call cannot be answered safely")
		rec = a.bareRecord(v)
	}
	receipt, err := e.append(ctx, a.bound.tenant, rec)
	if err != nil {
		// The audit log says once that it cannot be written; of each decision a metric tells.
		e.log.LogAttrs(ctx, slog.LevelDebug, "Decision could not be recorded", slog.String("tenant", a.bound.tenant), slog.String("decisionID", a.id), slog.Any("error", err))
		if v.effect == chain.EffectDeny || v.effect == chain.EffectAskUser || v.approval != nil || a.bound.onFailure() != plan.VerdictAllow {
			// A used approval stays spent: its call must not run unrecorded.
			return e.unrecorded(a)
		}
	}
	resp := &decisionv1.Response{
		CallID: a.callID(), Decision: decisionv1.Decision(v.effect), Args: args, Policy: a.bound.wire,
	}
	if err == nil {
		resp.Audit = wireReceipt(receipt)
		e.remember(a, v, receipt)
		if v.effect == chain.EffectAskUser && a.elsewhere(v.approval) == "" {
			e.asked.put(v.approval.ID, receipt.Seq)
		}
	}
	e.explain(a, v, resp)
	e.metrics.decisions.WithLabelValues(string(v.effect), v.code).Inc()
	e.metrics.seconds.Observe(e.clock().Sub(a.start).Seconds())
	e.publish(a, v, resp)
	return resp
}

// explain fills in why, who and what to do next.
func (e *Engine) explain(a *attempt, v verdict, resp *decisionv1.Response) {
	if v.code != "" {
		resp.Reason = &decisionv1.Reason{Code: v.code, Message: e.plain.Text(v.message)}
	}
	if a.result != nil {
		resp.Hook = a.result.Hook
		resp.Risk = string(a.result.Risk())
	}
	if v.approval != nil {
		resp.Approval = wireApproval(v.approval, e.clock())
		if a.result != nil && v.effect == chain.EffectAskUser {
			_, resp.Approval.AgentMayConsent = strictest(a.result.Asks)
		}
	}
}

// answerArgs are the arguments that the tool must run with.
func answerArgs(a *attempt, v verdict) (json.RawMessage, error) {
	if v.effect != chain.EffectAllow && v.effect != chain.EffectRewrite {
		return nil, nil
	}
	if v.effect == chain.EffectAllow && len(a.call.Args) == len(a.req.Args) {
		return a.canonicalArgs() // nothing was changed, and no consent taken off
	}
	b, err := strictjson.Append(make([]byte, 0, 256), a.result.Args)
	if err != nil {
		return nil, fmt.Errorf("write the arguments: %w", err)
	}
	return b, nil
}

// append makes a record durable, whether or not the client is still there:
// every attempt is recorded.
func (e *Engine) append(ctx context.Context, tenant string, rec *audit.Record) (audit.Receipt, error) {
	e.clean(rec)
	start := time.Now() // not e.clock: what is measured is the disk
	receipt, err := e.recorder.Append(context.WithoutCancel(ctx), tenant, rec)
	e.metrics.appends.Observe(time.Since(start).Seconds())
	if err != nil {
		e.metrics.auditFailures.Inc()
		return receipt, fmt.Errorf("append to the audit chain: %w", err)
	}
	return receipt, nil
}

// clean takes out of a finished record whatever else a caller can write into
// it: every text and name of the caller's, wherever it came from, has the shape
// of no secret when it is written down. Arguments were cleaned by their policy.
func (e *Engine) clean(rec *audit.Record) {
	rec.ReqID, rec.Session, rec.Tool = e.plain.Text(rec.ReqID), e.plain.Text(rec.Session), e.plain.Text(rec.Tool)
	if o := rec.Outcome; o != nil {
		o.ResultDigest = e.plain.Text(o.ResultDigest)
	}
	if rec.Facts != nil {
		rec.Facts, _ = e.plain.Args(rec.Facts)
	}
	if rec.Extra != nil {
		rec.Extra, _ = e.plain.Args(rec.Extra)
	}
}

// unrecorded is the answer where there is no record.
func (e *Engine) unrecorded(a *attempt) *decisionv1.Response {
	e.metrics.decisions.WithLabelValues(string(chain.EffectDeny), CodeAuditUnavailable).Inc()
	return &decisionv1.Response{
		CallID: a.callID(), Decision: decisionv1.Deny, Policy: a.bound.wire,
		Reason: &decisionv1.Reason{Code: CodeAuditUnavailable, Message: "the decision cannot be recorded"},
	}
}

// onFailure is the tenant's word on what happens without a record.
func (b *bound) onFailure() plan.Verdict {
	if b.segment == nil {
		return plan.VerdictDeny
	}
	return b.segment.Audit.OnFailure
}

func wireReceipt(r audit.Receipt) *decisionv1.Receipt {
	return &decisionv1.Receipt{Chain: r.Chain, Seq: strconv.FormatUint(r.Seq, 10), Hash: r.Hash}
}

package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/chain"
)

// ServiceTenant is the audit chain of what belongs to no tenant: refused
// requests, and callers that no policy governs. No HookPolicy can have the
// name, since a tenant's holds a slash.
const ServiceTenant = "_service"

// Attempts that anybody can make without a policy are recorded one by one up
// to a rate, by default this one; the rest is counted, and the counts are
// recorded. Nobody fills the disk with garbage.
const (
	refusalsPerSecond = 20
	refusalsBurst     = 200
	suppressedEvery   = 10 * time.Second
)

// refusals bounds what strangers can write into the service's chain.
type refusals struct {
	limiter *rate.Limiter

	mu         sync.Mutex
	suppressed map[string]int64 // by code
	since      time.Time
}

func newRefusals(perSecond float64) *refusals {
	if perSecond <= 0 {
		perSecond = refusalsPerSecond
	}
	return &refusals{limiter: rate.NewLimiter(rate.Limit(perSecond), refusalsBurst), suppressed: make(map[string]int64)}
}

// admit reports whether an attempt may be recorded by itself; else it counts.
func (r *refusals) admit(code string, now time.Time) bool {
	if r.limiter.AllowN(now, 1) {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.suppressed) == 0 {
		r.since = now
	}
	r.suppressed[code]++
	return false
}

// due takes the counts that are old enough to be recorded, nil if none are.
func (r *refusals) due(now time.Time, atOnce bool) map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.suppressed) == 0 || (!atOnce && now.Sub(r.since) < suppressedEvery) {
		return nil
	}
	counts := make(map[string]any, len(r.suppressed))
	for code, n := range r.suppressed {
		counts[code] = json.Number(strconv.FormatInt(n, 10))
	}
	clear(r.suppressed)
	return counts
}

// Refuse records an attempt that never became a call, such as a malformed or
// unauthenticated request, and returns its Deny. Code is stable and for
// machines, message is short and for the caller. A nil caller is unknown.
func (e *Engine) Refuse(ctx context.Context, caller *chain.Caller, code, message string) *decisionv1.Response {
	e.metrics.refusals.WithLabelValues(code).Inc()
	rec := &audit.Record{Kind: audit.KindDecision, ID: e.newID(), Decision: string(decisionv1.Deny), Reason: code}
	if caller != nil {
		rec.Agent = caller.String()
	}
	resp := &decisionv1.Response{CallID: rec.ID, Decision: decisionv1.Deny, Reason: &decisionv1.Reason{Code: code, Message: message}}
	resp.Audit = e.recordRefusal(ctx, rec)
	return resp
}

// recordRefusal writes a record into the service's chain within the rate. An
// attempt that cannot be recorded is denied all the same, so nothing is lost
// but the record, and the log says so.
func (e *Engine) recordRefusal(ctx context.Context, rec *audit.Record) *decisionv1.Receipt {
	now := e.clock()
	e.recordSuppressed(ctx, now, false)
	if !e.refused.admit(rec.Reason, now) {
		return nil
	}
	e.clean(rec)
	receipt, err := e.recorder.Append(ctx, ServiceTenant, rec)
	if err != nil {
		e.metrics.auditFailures.Inc()
		e.log.LogAttrs(ctx, slog.LevelError, "Refusal could not be recorded", slog.String("reason", rec.Reason), slog.Any("error", err))
		return nil
	}
	return wireReceipt(receipt)
}

// recordSuppressed writes down how many refusals were counted, not recorded.
func (e *Engine) recordSuppressed(ctx context.Context, now time.Time, atOnce bool) {
	counts := e.refused.due(now, atOnce)
	if counts == nil {
		return
	}
	_, err := e.recorder.Append(ctx, ServiceTenant, &audit.Record{
		Kind: audit.KindDecision, ID: e.newID(), Decision: string(decisionv1.Deny), Reason: "request.suppressed",
		Extra: map[string]any{"suppressed": counts},
	})
	if err != nil {
		e.metrics.auditFailures.Inc()
		e.log.LogAttrs(ctx, slog.LevelError, "Counted refusals could not be recorded", slog.Any("counts", counts), slog.Any("error", err))
	}
}

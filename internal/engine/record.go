package engine

import (
	"fmt"
	"slices"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// maxNameBytes bounds the caller's texts in a record: a tool's name, a session.
const maxNameBytes = 256

// record writes down an attempt and its verdict. It fails only when the
// arguments cannot be written safely.
func (e *Engine) record(a *attempt, v verdict) (*audit.Record, error) {
	rec := a.bareRecord(v)
	rec.LatencyMicros = e.clock().Sub(a.start).Microseconds()
	if err := e.recordArgs(a, v, rec); err != nil {
		return nil, err
	}
	r := a.result
	if r == nil {
		return rec, nil
	}
	rec.Hook = r.Hook
	rec.Risk = string(r.Risk())
	rec.Mode = string(r.Mode)
	steps := r.Steps
	if r.Would != nil {
		rec.Would, rec.Hook = string(r.Would.Effect()), r.Would.Hook
		if code := codeOf(r.Would.Decision); code != "" {
			rec.Extra = map[string]any{"would_reason": code}
		}
		steps = r.Would.Steps
	}
	for _, s := range steps {
		if s.Basis.Rule != "" {
			rec.Rules = append(rec.Rules, s.Basis.Rule)
		}
		if len(s.Basis.Facts) > 0 {
			if rec.Facts == nil {
				rec.Facts = make(map[string]any)
			}
			rec.Facts[a.hookName(s)] = s.Basis.Facts
		}
	}
	if v.viaAgent {
		rec.Rules = append(rec.Rules, "consent.agent")
	}
	a.recordOwn(rec, v)
	return rec, nil
}

// recordOwn adds what the chain itself decided, where no hook did, and the
// failures that its hooks' policies ignore.
func (a *attempt) recordOwn(rec *audit.Record, v verdict) {
	if d, ok := a.result.Decision.(chain.Deny); ok && v.code == d.Code && (len(a.result.Steps) == 0 || a.result.Hook == "") {
		if d.Rule != "" {
			rec.Rules = append(rec.Rules, d.Rule)
		}
		if len(d.Facts) > 0 {
			if rec.Facts == nil {
				rec.Facts = make(map[string]any)
			}
			rec.Facts["chain"] = d.Facts
		}
	}
	var failures []any
	for _, f := range a.result.Failures {
		failures = append(failures, map[string]any{"policy": f.Policy, "hook": f.Hook, "cause": f.Cause, "ignored": f.Ignored})
	}
	if failures != nil {
		if rec.Extra == nil {
			rec.Extra = make(map[string]any)
		}
		rec.Extra["failures"] = failures
	}
}

// codeOf is the code of a decision that has one.
func codeOf(d chain.Decision) string {
	switch d := d.(type) {
	case chain.Deny:
		return d.Code
	case chain.AskUser:
		return d.Code
	default:
		return ""
	}
}

// elsewhere names the replica that holds a call, if that is another one.
func (a *attempt) elsewhere(ap *approval.Approval) string {
	if ap.Replica == a.replica {
		return ""
	}
	return ap.Replica
}

// bareRecord says who asked for what and got which answer, without arguments.
func (a *attempt) bareRecord(v verdict) *audit.Record {
	rec := &audit.Record{
		Kind: audit.KindDecision, ID: a.id, ReqID: a.req.CallID,
		Agent: a.caller.String(), Session: a.session(), Tool: a.tool(),
		Decision: string(v.effect), Reason: v.code,
		Policy: a.bound.chain.Digest(), PolicyN: a.bound.policy,
	}
	if ap := v.approval; ap != nil {
		rec.Approval = &audit.ApprovalStep{ID: ap.ID, State: string(ap.State), Replica: a.elsewhere(ap)}
	}
	if v.viaAgent {
		rec.Approval.Via = approval.ViaAgent
	}
	return rec
}

// recordArgs adds the arguments, redacted, and a keyed digest of the real ones.
func (e *Engine) recordArgs(a *attempt, v verdict, rec *audit.Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("redact: panic with a value of type %T", p)
		}
	}()
	clean, removed := a.bound.redactor.Args(a.req.Args)
	rec.Args = clean
	canonical, err := a.canonicalArgs()
	if err != nil {
		return err
	}
	rec.ArgsDigest = e.recorder.Commitment(a.bound.tenant, canonical)
	for _, r := range removed {
		original, err := strictjson.Append(nil, r.Original)
		if err != nil {
			return fmt.Errorf("write a redacted value: %w", err)
		}
		rec.Redacted = append(rec.Redacted, audit.Redaction{
			Pointer: r.Pointer, How: r.How, Commitment: e.recorder.Commitment(a.bound.tenant, original),
		})
	}
	if a.result != nil && (v.effect == chain.EffectRewrite || v.effect == chain.EffectAskUser && !sameArgs(a)) {
		rec.NewArgs, _ = a.bound.redactor.Args(a.result.Args)
	}
	return nil
}

// canonicalArgs writes the arguments of the request in canonical form, once:
// its content, its record and its answer all need them. Nobody changes them.
func (a *attempt) canonicalArgs() ([]byte, error) {
	if a.canonical == nil {
		b, err := strictjson.Append(make([]byte, 0, 256), a.req.Args)
		if err != nil {
			return nil, fmt.Errorf("write the arguments: %w", err)
		}
		a.canonical = slices.Clip(b)
	}
	return a.canonical, nil
}

// hookName is how a record names a hook: a tenant's by its name, a baseline's
// with its policy before it.
func (a *attempt) hookName(s chain.Step) string {
	if s.Policy == a.bound.tenant {
		return s.Hook
	}
	return s.Policy + "/" + s.Hook
}

// tool and session are the caller's texts: redacted and bounded like any other.
func (a *attempt) tool() string    { return bounded(a.bound.redactor.Text(a.req.Tool)) }
func (a *attempt) session() string { return bounded(a.bound.redactor.Text(a.req.Session)) }

func bounded(s string) string { return cut(s, maxNameBytes) }

// cut shortens a text to so many bytes, between two runes, and shows that it
// did.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most] + "…"
}

package audit

import "strconv"

// Bounds of the parts of a record, in bytes of their JSON. A part above its
// bound is left out and said to be; a text is cut. Together they stay below
// MaxEntry, so that what fits never depends on what else is there.
const (
	MaxArgs     = 4 << 10  // args and new_args, each
	MaxFacts    = 12 << 10 // facts
	MaxDetail   = 4 << 10  // detail
	MaxRedacted = 8 << 10  // redacted
	MaxRules    = 2 << 10  // rules
	MaxText     = 2 << 10  // tool, session, approval.reason, outcome.error
	MaxWord     = 512      // every other text
	// MaxTenant bounds the name of a tenant, in bytes as it is.
	MaxTenant = 512
)

type encoder struct {
	buf []byte
	// first is true where a member takes no comma: at the start of a nested
	// object.
	first bool
}

// record writes the members of a record in their canonical order, each after a
// comma, and notes where those of its place belong.
func (e *encoder) record(r *Record, cuts *[6]int) {
	e.text("agent", r.Agent, MaxWord)
	e.approval(r.Approval)
	if r.Args != nil {
		e.value("args", r.Args, MaxArgs, "args_digest", r.ArgsDigest)
	} else {
		e.text("args_digest", r.ArgsDigest, MaxWord)
	}
	e.text("decision", r.Decision, MaxWord)
	if len(r.Extra) > 0 {
		e.value("detail", r.Extra, MaxDetail, "", "")
	}
	if len(r.Facts) > 0 {
		e.value("facts", r.Facts, MaxFacts, "", "")
	}
	e.text("hook", r.Hook, MaxWord)
	e.text("id", r.ID, MaxWord)
	e.text("kind", string(r.Kind), MaxWord)
	e.number("lat_us", r.LatencyMicros)
	cuts[cutLog] = len(e.buf)
	e.text("mode", r.Mode, MaxWord)
	if r.NewArgs != nil {
		e.value("new_args", r.NewArgs, MaxArgs, "", "")
	}
	e.outcome(r.Outcome)
	e.text("policy", r.Policy, MaxWord)
	e.text("policy_ref", r.PolicyN, MaxWord)
	cuts[cutPrev] = len(e.buf)
	e.text("reason", r.Reason, MaxWord)
	e.redacted(r.Redacted)
	e.ref(r.Ref)
	if r.Repeat {
		e.buf = append(e.name("repeat"), "true"...)
	}
	cuts[cutReplica] = len(e.buf)
	e.text("req_id", r.ReqID, MaxWord)
	e.text("risk", r.Risk, MaxWord)
	e.rules(r.Rules)
	cuts[cutSeq] = len(e.buf)
	e.text("session", r.Session, MaxText)
	cuts[cutTenant] = len(e.buf)
	e.text("tool", r.Tool, MaxText)
	cuts[cutTime] = len(e.buf)
	e.text("would", r.Would, MaxWord)
}

func (e *encoder) approval(a *ApprovalStep) {
	if a == nil {
		return
	}
	e.open("approval")
	e.text("id", a.ID, MaxWord)
	e.text("reason", a.Reason, MaxText)
	e.text("replica", a.Replica, MaxWord)
	e.text("state", a.State, MaxWord)
	e.text("user", a.User, MaxWord)
	e.text("via", a.Via, MaxWord)
	e.number("wait_ms", a.WaitMs)
	e.close()
}

func (e *encoder) outcome(o *OutcomeClaim) {
	if o == nil {
		return
	}
	e.open("outcome")
	e.text("digest", o.ResultDigest, MaxWord)
	e.number("dur_ms", o.DurationMs)
	e.text("error", o.Error, MaxText)
	e.text("status", o.Status, MaxWord)
	e.close()
}

func (e *encoder) ref(r *Ref) {
	if r == nil {
		return
	}
	e.open("ref")
	e.text("id", r.ID, MaxWord)
	e.text("seq", strconv.FormatUint(r.Seq, 10), MaxWord)
	e.close()
}

func (e *encoder) redacted(list []Redaction) {
	if len(list) == 0 {
		return
	}
	start := len(e.buf)
	sep := byte('[')
	e.name("redacted")
	for i := range list {
		e.buf = append(e.buf, sep, '{')
		sep, e.first = ',', true
		e.text("c", list[i].Commitment, MaxWord)
		e.text("how", list[i].How, MaxWord)
		e.text("ptr", list[i].Pointer, MaxRedacted) // whole or not at all
		e.close()
		if len(e.buf)-start > MaxRedacted {
			break
		}
	}
	e.buf = append(e.buf, ']')
	e.bound("redacted", start, MaxRedacted, len(list))
}

func (e *encoder) rules(list []string) {
	if len(list) == 0 {
		return
	}
	start := len(e.buf)
	sep := byte('[')
	e.name("rules")
	for _, rule := range list {
		e.buf = appendText(append(e.buf, sep), rule, MaxWord)
		sep = ','
		if len(e.buf)-start > MaxRules {
			break
		}
	}
	e.buf = append(e.buf, ']')
	e.bound("rules", start, MaxRules, len(list))
}

// value writes a member of any value, and between it and what says that it was
// left out the text member that sorts there, if there is one.
func (e *encoder) value(name string, v any, limit int, next, text string) {
	start := len(e.buf)
	e.name(name)
	head := len(e.buf)
	e.buf = AppendCanonical(e.buf, v)
	size := len(e.buf) - head
	if size > limit {
		e.buf = e.buf[:start]
	}
	e.text(next, text, MaxWord)
	if size > limit {
		e.omitted(name, size)
	}
}

// bound takes the member at start back if it is larger than limit.
func (e *encoder) bound(name string, start, limit, count int) {
	if len(e.buf)-start > limit {
		e.buf = e.buf[:start]
		e.omitted(name, count)
	}
}

func (e *encoder) omitted(name string, n int) {
	e.buf = append(e.buf, `,"`...)
	e.buf = append(append(e.buf, name...), `_omitted":`...)
	e.buf = strconv.AppendInt(e.buf, int64(n), 10)
}

func (e *encoder) open(name string) {
	e.buf = append(e.name(name), '{')
	e.first = true
}

func (e *encoder) close() {
	e.buf = append(e.buf, '}')
	e.first = false
}

func (e *encoder) name(name string) []byte {
	if !e.first {
		e.buf = append(e.buf, ',')
	}
	e.first = false
	e.buf = append(e.buf, '"')
	e.buf = append(append(e.buf, name...), `":`...)
	return e.buf
}

func (e *encoder) text(name, s string, limit int) {
	if s != "" {
		e.buf = appendText(e.name(name), s, limit)
	}
}

func (e *encoder) number(name string, n int64) {
	if n != 0 {
		e.buf = appendInt(e.name(name), n)
	}
}

package audit

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"strconv"
	"time"
)

// A Closure checks that what was begun in a chain was ended: every held call is
// decided once, and every outcome names a decision. It keeps what is open and
// of decisions the last million.
type Closure struct {
	// Partial says that records of the chain are not known, such as those before
	// the first one: nothing is wrong then for want of another record.
	Partial bool

	sum       ClosureSummary
	seed      maphash.Seed
	held      map[string]*heldCall // by approval id
	decisions []decisionMark       // by seq modulo their number
	last      []byte               // ts of the last record
	lastSeq   uint64
}

// A ClosureSummary says what became of the calls of a chain.
type ClosureSummary struct {
	Decisions  uint64 `json:"decisions"`
	Asked      uint64 `json:"asked"` // calls that were held
	Approved   uint64 `json:"approved"`
	Rejected   uint64 `json:"rejected"`
	TimedOut   uint64 `json:"timedOut"`
	Voided     uint64 `json:"voided"`    // because their policy changed
	Open       uint64 `json:"open"`      // not decided yet, and in time
	Forgotten  uint64 `json:"forgotten"` // not decided when the service was started anew: asked again, if at all
	Outcomes   uint64 `json:"outcomes"`  // reported, of decisions
	Unverified uint64 `json:"unverified"`
	// Unknown are calls that were allowed and of which no outcome was reported.
	// Whether they ran is not known; that they failed is nowhere said.
	Unknown uint64 `json:"unknown"`
}

// A heldCall is one approval of which a step was read.
type heldCall struct {
	seq      uint64
	decideBy string // "" if the record does not say
	state    string // the step that ended it; "" while nobody has decided
	spent    string // the step that ended an approval: Used, Expired, Voided
	boots    bool   // the service was started anew since
}

// A decisionMark is what is kept of a decision.
type decisionMark struct {
	seq     uint64
	id      uint64 // hash of its id
	outcome bool
	ran     bool // it was allowed
}

const (
	maxDecisions = 1 << 20
	maxHeld      = 1 << 20
)

func (c *Closure) add(seq uint64, p *parsed) *LineError {
	if c.held == nil {
		c.held, c.seed = make(map[string]*heldCall), maphash.MakeSeed()
	}
	c.last, c.lastSeq = append(c.last[:0], p.m.ts...), seq
	switch Kind(p.m.kind) {
	case KindDecision:
		return c.decision(seq, p)
	case KindApproval, KindTimeout:
		return c.step(seq, p)
	case KindOutcome:
		return c.outcome(p)
	case KindBoot:
		for _, h := range c.held {
			h.boots = true
		}
	default: // nothing that begins or ends
	}
	return nil
}

func (c *Closure) decision(seq uint64, p *parsed) *LineError {
	c.sum.Decisions++
	ran := p.m.repeat == nil && (string(p.m.decision) == "Allow" || string(p.m.decision) == "Rewrite")
	if ran {
		c.sum.Unknown++
	}
	c.mark(decisionMark{seq: seq, id: maphash.Bytes(c.seed, p.m.id), ran: ran})
	if string(p.m.decision) != "AskUser" || p.m.approval == nil || c.Partial || isElsewhere(p.m.approval) {
		return nil
	}
	if id := textMember(p.m.approval, "id"); id != nil && c.held[string(id)] == nil {
		return closureError("decision asks for an approval that was never held")
	}
	return nil
}

// isElsewhere reports whether an approval is of a call that another replica holds:
// what began it, and what it led to, stands in that replica's chain.
func isElsewhere(approval []byte) bool { return textMember(approval, "replica") != nil }

func (c *Closure) mark(d decisionMark) {
	if len(c.decisions) < maxDecisions {
		for uint64(len(c.decisions)) <= d.seq && len(c.decisions) < maxDecisions {
			c.decisions = append(c.decisions, decisionMark{})
		}
	}
	c.decisions[d.seq%maxDecisions] = d
}

// find returns the decision that a ref names; known is false if it stood too
// far back, or before the chain's beginning.
func (c *Closure) find(ref []byte) (d *decisionMark, known bool) {
	seq, err := strconv.ParseUint(string(textMember(ref, "seq")), 10, 64)
	if err != nil {
		return nil, true
	}
	if seq+maxDecisions <= c.lastSeq || c.Partial {
		return nil, false
	}
	if seq%maxDecisions >= uint64(len(c.decisions)) {
		return nil, true
	}
	d = &c.decisions[seq%maxDecisions]
	if d.seq != seq || d.id == 0 || d.id != maphash.Bytes(c.seed, textMember(ref, "id")) {
		return nil, true
	}
	return d, true
}

func (c *Closure) outcome(p *parsed) *LineError {
	if p.m.ref == nil {
		c.sum.Unverified++
		return nil
	}
	d, known := c.find(p.m.ref)
	switch {
	case !known:
		c.sum.Outcomes++
		return nil
	case d == nil:
		return closureError("outcome is of a decision that is not in the chain")
	case d.outcome:
		return closureError("second outcome of one decision")
	}
	d.outcome = true
	c.sum.Outcomes++
	if d.ran {
		c.sum.Unknown--
	}
	return nil
}

// step follows the life of a held call: it is held, then decided once, and an
// approval is used once or not at all.
func (c *Closure) step(seq uint64, p *parsed) *LineError {
	id, state := string(textMember(p.m.approval, "id")), string(textMember(p.m.approval, "state"))
	if isElsewhere(p.m.approval) {
		return nil
	}
	h := c.held[id]
	if p.m.ref != nil {
		if d, known := c.find(p.m.ref); known && d == nil {
			return closureError("approval step is of a decision that is not in the chain")
		}
	}
	if state == "Held" {
		if h != nil {
			return closureError("call is held a second time under one approval")
		}
		if len(c.held) < maxHeld {
			c.held[id] = &heldCall{seq: seq, decideBy: string(textMember(p.m.detail, "decide_by"))}
		}
		c.sum.Asked++
		return nil
	}
	if (state == "TimedOut") != (Kind(p.m.kind) == KindTimeout) {
		return closureError("kind of record and step of approval do not go together")
	}
	if h == nil {
		if p.m.ref == nil || c.Partial || len(c.held) >= maxHeld {
			return nil // another replica holds the call, and this one has taken it up
		}
		return closureError("approval step of a decision of this chain, in which the call was never held")
	}
	return c.end(h, state)
}

func (c *Closure) end(h *heldCall, state string) *LineError {
	switch state {
	case "Approved", "Rejected", "TimedOut":
		if h.state != "" {
			return closureError("approval is " + state + ", and was " + h.state + " before")
		}
		h.state = state
		c.count(state)
	case "Voided":
		if h.state != "" {
			return c.spend(h, state)
		}
		h.state = state
		c.count(state)
	case "Used", "Expired":
		return c.spend(h, state)
	case "Voted":
		if h.state != "" {
			return closureError("vote on an approval that was " + h.state + " before")
		}
	}
	return nil
}

func (c *Closure) count(state string) {
	switch state {
	case "Approved":
		c.sum.Approved++
	case "Rejected":
		c.sum.Rejected++
	case "TimedOut":
		c.sum.TimedOut++
	case "Voided":
		c.sum.Voided++
	}
}

func (c *Closure) spend(h *heldCall, state string) *LineError {
	switch {
	case h.state != "Approved":
		return closureError("approval is " + state + " and was never approved")
	case h.spent != "":
		return closureError("approval is " + state + ", and was " + h.spent + " before")
	}
	h.spent = state
	return nil
}

func closureError(detail string) *LineError { return &LineError{ReasonClosure, detail} }

// closureGrace is how late the record of a time-out may be.
const closureGrace = 2 * time.Minute

// End returns what became of the calls, and the held calls that nobody decided
// although their time is over by the last record of the chain, as findings in
// which Seq says where the call was held.
func (c *Closure) End(file string) (ClosureSummary, []*Finding) {
	sum := c.sum
	var late []*Finding
	for _, h := range c.held {
		switch {
		case h.state != "":
		case h.boots:
			sum.Forgotten++
		case h.decideBy != "" && !c.Partial && c.after(h.decideBy):
			late = append(late, &Finding{File: file, Seq: h.seq, Reason: ReasonClosure,
				Detail: fmt.Sprintf("record %d: held call was neither approved, rejected nor timed out here, and its time is over", h.seq)})
		default:
			sum.Open++
		}
	}
	return sum, late
}

// after reports whether the last record is later than a time and the grace.
func (c *Closure) after(decideBy string) bool {
	by, err := time.Parse(time.RFC3339Nano, decideBy)
	if err != nil {
		return true
	}
	return bytes.Compare(c.last, by.Add(closureGrace).UTC().AppendFormat(nil, timeLayout)) > 0
}

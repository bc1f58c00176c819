package server

import (
	"slices"
	"strconv"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/server/request"
)

// Limits of single members, in bytes. Package request has those of a call.
const (
	maxDigestBytes = 256
	maxErrorBytes  = 4096
	maxChainBytes  = 1024
	maxHashBytes   = 128
)

// parseDecide reads the body of a question.
func parseDecide(doc []byte) (engine.Request, error) {
	m, err := request.Read(doc, "callId", "tool", "args", "resolved", "session", "hints", "waitSeconds")
	if err != nil {
		return engine.Request{}, err
	}
	req := engine.Request{
		CallID:   m.Text("callId", CodeCallID, request.MaxCallIDBytes),
		Tool:     m.Text("tool", CodeTool, request.MaxToolBytes),
		Args:     m.Object("args", CodeArgs),
		Resolved: m.Texts("resolved", CodeResolved),
		Session:  m.Text("session", CodeSession, request.MaxSessionBytes),
		Hints:    m.Object("hints", CodeHints),
		Wait:     time.Duration(m.Integer("waitSeconds", CodeWait, decisionv1.MaxWaitSeconds)) * time.Second,
	}
	if req.Tool == "" {
		m.Fail(CodeTool, "tool must be a string that is not empty")
	}
	if req.Args == nil {
		m.Fail(CodeArgs, "args must be an object")
	}
	return req, m.Err()
}

// parseOutcome reads the body of an outcome.
func parseOutcome(doc []byte) (decisionv1.Outcome, error) {
	m, err := request.Read(doc, "callId", "audit", "status", "resultDigest", "error", "durationMs")
	if err != nil {
		return decisionv1.Outcome{}, err
	}
	out := decisionv1.Outcome{
		CallID:       m.Text("callId", CodeCallID, request.MaxCallIDBytes),
		Status:       m.Text("status", CodeStatus, maxHashBytes),
		ResultDigest: m.Text("resultDigest", CodeResultDigest, maxDigestBytes),
		Error:        m.Text("error", CodeError, maxErrorBytes),
		DurationMs:   m.Integer("durationMs", CodeDuration, 1<<53),
	}
	if !slices.Contains([]string{decisionv1.OutcomeOK, decisionv1.OutcomeError, decisionv1.OutcomeUnknown}, out.Status) {
		m.Fail(CodeStatus, "status must be ok, error or unknown")
	}
	if out.Audit = parseReceipt(m); m.Err() != nil {
		return decisionv1.Outcome{}, m.Err()
	}
	return out, nil
}

// parseReceipt reads the member audit, which is required.
func parseReceipt(m *request.Members) decisionv1.Receipt {
	obj := m.Object("audit", CodeReceipt)
	if obj == nil {
		m.Fail(CodeReceipt, "audit must be the object that came with the decision")
		return decisionv1.Receipt{}
	}
	inner := m.Within(obj, "chain", "seq", "hash")
	r := decisionv1.Receipt{
		Chain: inner.Text("chain", CodeReceipt, maxChainBytes),
		Seq:   inner.Text("seq", CodeReceipt, 20),
		Hash:  inner.Text("hash", CodeReceipt, maxHashBytes),
	}
	if _, err := strconv.ParseUint(r.Seq, 10, 64); err != nil || r.Chain == "" || r.Hash == "" {
		inner.Fail(CodeReceipt, "audit must hold chain, seq and hash as strings")
	}
	return r
}

package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// Limits of single members, in bytes.
const (
	maxCallIDBytes  = 128
	maxToolBytes    = 512
	maxSessionBytes = 256
	maxDigestBytes  = 256
	maxErrorBytes   = 4096
	maxChainBytes   = 1024
	maxHashBytes    = 128
)

// parseDecide reads the body of a question.
func parseDecide(doc []byte) (engine.Request, error) {
	m, err := parseMembers(doc, "callId", "tool", "args", "resolved", "session", "hints", "waitSeconds")
	if err != nil {
		return engine.Request{}, err
	}
	req := engine.Request{
		CallID:   m.text("callId", CodeCallID, maxCallIDBytes),
		Tool:     m.text("tool", CodeTool, maxToolBytes),
		Args:     m.object("args", CodeArgs),
		Resolved: m.texts("resolved", CodeResolved),
		Session:  m.text("session", CodeSession, maxSessionBytes),
		Hints:    m.object("hints", CodeHints),
		Wait:     time.Duration(m.integer("waitSeconds", CodeWait, decisionv1.MaxWaitSeconds)) * time.Second,
	}
	if req.Tool == "" {
		m.fail(CodeTool, "tool must be a string that is not empty")
	}
	if req.Args == nil {
		m.fail(CodeArgs, "args must be an object")
	}
	return req, m.err
}

// parseOutcome reads the body of an outcome.
func parseOutcome(doc []byte) (decisionv1.Outcome, error) {
	m, err := parseMembers(doc, "callId", "audit", "status", "resultDigest", "error", "durationMs")
	if err != nil {
		return decisionv1.Outcome{}, err
	}
	out := decisionv1.Outcome{
		CallID:       m.text("callId", CodeCallID, maxCallIDBytes),
		Status:       m.text("status", CodeStatus, maxHashBytes),
		ResultDigest: m.text("resultDigest", CodeResultDigest, maxDigestBytes),
		Error:        m.text("error", CodeError, maxErrorBytes),
		DurationMs:   m.integer("durationMs", CodeDuration, 1<<53),
	}
	if !slices.Contains([]string{decisionv1.OutcomeOK, decisionv1.OutcomeError, decisionv1.OutcomeUnknown}, out.Status) {
		m.fail(CodeStatus, "status must be ok, error or unknown")
	}
	if out.Audit = m.receipt(); m.err != nil {
		return decisionv1.Outcome{}, m.err
	}
	return out, nil
}

// receipt reads the member audit, which is required.
func (m *members) receipt() decisionv1.Receipt {
	obj := m.object("audit", CodeReceipt)
	if obj == nil {
		m.fail(CodeReceipt, "audit must be the object that came with the decision")
		return decisionv1.Receipt{}
	}
	inner := &members{obj: obj}
	inner.known("chain", "seq", "hash")
	r := decisionv1.Receipt{
		Chain: inner.text("chain", CodeReceipt, maxChainBytes),
		Seq:   inner.text("seq", CodeReceipt, 20),
		Hash:  inner.text("hash", CodeReceipt, maxHashBytes),
	}
	if _, err := strconv.ParseUint(r.Seq, 10, 64); err != nil || r.Chain == "" || r.Hash == "" {
		inner.fail(CodeReceipt, "audit must hold chain, seq and hash as strings")
	}
	if m.err == nil {
		m.err = inner.err
	}
	return r
}

// members are those of one object. The first problem is kept in err, and what
// is read after it is of no use.
type members struct {
	obj map[string]any
	err error
}

// parseMembers reads a document that is one object with these members.
func parseMembers(doc []byte, names ...string) (*members, error) {
	v, err := strictjson.Parse(doc)
	if err != nil {
		return nil, err
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return nil, refuse(CodeNotObject, "the body must be a JSON object")
	}
	m := &members{obj: obj}
	m.known(names...)
	return m, m.err
}

// known refuses members that another reader could take for one of names.
func (m *members) known(names ...string) {
	variant := ""
	for name := range m.obj {
		if slices.Contains(names, name) {
			continue
		}
		plain := name
		if !isASCII(name) {
			plain = norm.NFKC.String(name)
		}
		if strings.EqualFold(plain, "jsonrpc") {
			m.fail(CodeJSONRPC, "a JSON-RPC message is not a call")
		}
		for _, n := range names {
			if strings.EqualFold(plain, n) {
				variant = max(variant, n) // the same one on every attempt
			}
		}
	}
	if variant != "" {
		m.fail(CodeCaseVariant, fmt.Sprintf("a member differs from %s only by case or form", variant))
	}
}

func (m *members) fail(code, message string) {
	if m.err == nil {
		m.err = refuse(code, message)
	}
}

// text returns a string member, "" if there is none.
func (m *members) text(name, code string, maxBytes int) string {
	v, present := m.obj[name]
	if !present {
		return ""
	}
	s, ok := v.(string)
	switch {
	case !ok:
		m.fail(code, name+" must be a string")
	case len(s) > maxBytes:
		m.fail(code, fmt.Sprintf("%s is longer than %d bytes", name, maxBytes))
	}
	return s
}

// object returns an object member, nil if there is none.
func (m *members) object(name, code string) map[string]any {
	v, present := m.obj[name]
	if !present {
		return nil
	}
	obj, ok := v.(map[string]any)
	if !ok {
		m.fail(code, name+" must be an object")
	}
	return obj
}

// texts returns a member that maps strings to strings, nil if there is none.
func (m *members) texts(name, code string) map[string]string {
	obj := m.object(name, code)
	if obj == nil {
		return nil
	}
	texts := make(map[string]string, len(obj))
	for k, v := range obj {
		s, ok := v.(string)
		if !ok {
			m.fail(code, name+" must hold strings only")
		}
		texts[k] = s
	}
	return texts
}

// integer returns a member from 0 to limit, 0 if there is none. 1.0 and 1e1
// are no integers here: not every reader takes them for one.
func (m *members) integer(name, code string, limit int64) int64 {
	v, present := m.obj[name]
	if !present {
		return 0
	}
	number, _ := v.(json.Number)
	n, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil || n < 0 || n > limit {
		m.fail(code, fmt.Sprintf("%s must be an integer from 0 to %d", name, limit))
		return 0
	}
	return n
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

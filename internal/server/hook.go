package server

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/server/dialect"
)

// hook answers POST /v1/hooks/{dialect}: the same chain as POST /v1/decide, in
// the words of an agent's hook protocol.
//
// Every answer under the name of a dialect is 200 and in its words, whatever
// went wrong: for most agents any other status code, like no answer at all, is
// no objection, and the tool runs. That holds for a caller without a valid
// token too, or a token that has expired would switch the guard off. Agents
// that run a command have curl turn what it cannot fetch into a deny.
func (s *Server) hook(x *exchange) error {
	d, ok := dialectOf(x)
	if !ok {
		return refuse(dialect.CodeDialect, "there is no such dialect")
	}
	set, err := parseHookSettings(x.r.URL.RawQuery)
	if err != nil {
		return err
	}
	buf := s.buffers.get()
	defer s.buffers.put(buf)
	doc, err := readBody(x, (*buf)[:0])
	*buf = doc
	if err != nil {
		return err
	}
	if x.question, err = d.Read(doc); err != nil {
		return err
	}
	return s.answerHook(x, x.question, set.waitFor(d, x.question), set.askUser)
}

// answerHook decides a call and passes the answer on. An Allow or a Rewrite
// that the agent cannot be told is recorded once more, as what it becomes: a
// refusal.
func (s *Server) answerHook(x *exchange, q *dialect.Question, wait time.Duration, askUser bool) error {
	if wait > 0 {
		q.Call.Wait, q.Call.Stopping = wait, s.stopping
		s.extendWrite(x, wait)
	}
	resp := s.engine.Decide(x.r.Context(), *x.caller, q.Call)
	if !wellFormed(resp) {
		s.log.Error("Engine gave no answer")
		return errNoAnswer
	}
	// An agent's own prompt is nobody's approval: it counts only where the
	// policies take the agent's word anyway.
	askUser = askUser && resp.Approval != nil && resp.Approval.AgentMayConsent
	doc, err := q.Answer(resp, askUser)
	if err != nil {
		return err
	}
	if doc == nil {
		return errNoAnswer
	}
	x.reply(http.StatusOK, doc)
	return nil
}

// dialectOf returns the dialect that a request is made in.
func dialectOf(x *exchange) (*dialect.Dialect, bool) {
	name, ok := strings.CutPrefix(x.r.URL.Path, decisionv1.PathHooks)
	if !ok {
		return nil, false
	}
	return dialect.Find(name)
}

// denyHook says a Deny in the words of the request's dialect. It returns nil
// if the request is in none.
func denyHook(x *exchange, resp *decisionv1.Response) []byte {
	code, message := "", ""
	if resp.Reason != nil {
		code, message = resp.Reason.Code, resp.Reason.Message
	}
	if x.question != nil {
		return x.question.Deny(code, message)
	}
	if d, ok := dialectOf(x); ok {
		return d.Deny(code, message)
	}
	return nil
}

// hookSettings are what the one who set a hook up wrote into its address.
type hookSettings struct {
	wait    time.Duration // negative: not said
	askUser bool
}

// parseHookSettings reads the query: waitSeconds, an integer, and ask, which
// is "user" or nothing. What says neither is ignored, as in a body.
func parseHookSettings(query string) (hookSettings, error) {
	set := hookSettings{wait: -1}
	values, err := url.ParseQuery(query)
	if err != nil {
		return set, refuse(CodeWait, "the query cannot be read")
	}
	if v := values["waitSeconds"]; len(v) > 0 {
		seconds, err := strconv.ParseUint(v[0], 10, 16)
		if err != nil || len(v) > 1 || seconds > decisionv1.MaxWaitSeconds {
			return set, refuse(CodeWait, "waitSeconds must be one integer from 0 to "+strconv.Itoa(decisionv1.MaxWaitSeconds))
		}
		set.wait = time.Duration(seconds) * time.Second
	}
	if v := values["ask"]; len(v) > 0 {
		if set.askUser = len(v) == 1 && v[0] == "user"; !set.askUser {
			return set, refuse(CodeAsk, "ask must be user")
		}
	}
	return set, nil
}

// waitFor is how long a held call waits. Where the agent asks its own user,
// nobody else is waited for unless the settings say so.
func (set hookSettings) waitFor(d *dialect.Dialect, q *dialect.Question) time.Duration {
	switch {
	case set.wait >= 0:
		return set.wait
	case set.askUser && q.CanAskUser():
		return 0
	default:
		return d.Wait()
	}
}

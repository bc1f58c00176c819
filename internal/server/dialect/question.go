package dialect

import (
	"errors"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/server/request"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// A Question is one event: the call that it asks about, and the words in which
// the agent wants the answer.
type Question struct {
	Call engine.Request

	words words
}

var errNoArgs = errors.New("the decision holds no arguments")

// CanAskUser reports whether the agent would ask its own user.
func (q *Question) CanAskUser() bool { return q.words.ask != nil }

// Deny returns a deny with this reason.
func (q *Question) Deny(code, message string) []byte { return q.words.refusal(code, message) }

// Answer returns the answer in the agent's words. With askUser a call that a
// person must approve is left to the agent's own user, where CanAskUser. An
// error says why an Allow or a Rewrite cannot be passed on: the call is to be
// denied.
func (q *Question) Answer(r *decisionv1.Response, askUser bool) ([]byte, error) {
	switch r.Decision {
	case decisionv1.Allow, decisionv1.Rewrite:
		return q.pass(r)
	case decisionv1.AskUser:
		if askUser && q.words.ask != nil {
			return encode(q.words.ask(question(r))), nil
		}
		return q.Deny(held(r)), nil
	default:
		return q.Deny(codeAndMessage(r)), nil
	}
}

// pass lets a call run with the arguments that were decided on. An Allow may
// hold others than were sent: consent is taken off.
func (q *Question) pass(r *decisionv1.Response) ([]byte, error) {
	v, err := strictjson.Parse(r.Args)
	args, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, errNoArgs
	}
	if strictjson.Equal(q.Call.Args, args) {
		return encode(q.words.pass), nil
	}
	if q.words.rewrite != nil {
		if answer := q.words.rewrite(q.Call.Args, args); answer != nil {
			return encode(answer), nil
		}
	}
	return nil, &request.Error{
		Code: CodeNoRewrite, Message: "the call may run with other arguments only, and this agent cannot change them",
	}
}

func codeAndMessage(r *decisionv1.Response) (code, message string) {
	if r.Reason == nil {
		return "", ""
	}
	return r.Reason.Code, r.Reason.Message
}

// held is the deny of a call that nobody has approved yet.
func held(r *decisionv1.Response) (code, message string) {
	code, message = codeAndMessage(r)
	if message == "" {
		message = "a person must approve this call"
	}
	if r.Approval != nil {
		message += "; approval " + r.Approval.ID + " is pending, repeat the identical call once it is approved"
	}
	return code, message
}

// question is what the agent's own user is asked.
func question(r *decisionv1.Response) string {
	code, message := codeAndMessage(r)
	if r.Approval != nil && r.Approval.Prompt != "" {
		message = r.Approval.Prompt
	}
	return reason(code, message)
}

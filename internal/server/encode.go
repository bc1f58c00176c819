package server

import (
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
)

// appendResponse writes an answer as encoding/json would, without reflection
// and without a second look at the arguments, which the engine wrote.
func appendResponse(dst []byte, r *decisionv1.Response) ([]byte, error) {
	o := objectWriter{dst: append(dst, '{')}
	o.optional("callId", r.CallID)
	o.text("decision", string(r.Decision))
	if r.Reason != nil {
		o.open("reason")
		o.text("code", r.Reason.Code)
		o.text("message", r.Reason.Message)
		o.close()
	}
	o.optional("hook", r.Hook)
	if len(r.Args) > 0 {
		o.name("args")
		o.dst = append(o.dst, r.Args...)
	}
	if r.Approval != nil {
		o.value("approval", r.Approval)
	}
	o.optional("risk", r.Risk)
	if p := r.Policy; p != nil {
		o.open("policy")
		o.optional("namespace", p.Namespace)
		o.optional("name", p.Name)
		if p.Generation != 0 {
			o.name("generation")
			o.dst = strconv.AppendInt(o.dst, p.Generation, 10)
		}
		o.text("digest", p.Digest)
		o.close()
	}
	if a := r.Audit; a != nil {
		o.open("audit")
		o.text("chain", a.Chain)
		o.text("seq", a.Seq)
		o.text("hash", a.Hash)
		o.close()
	}
	return append(o.dst, '}', '\n'), o.err
}

// An objectWriter appends members to an object and keeps the first error.
type objectWriter struct {
	dst []byte
	err error
}

// name begins a member. All names are plain ASCII.
func (o *objectWriter) name(name string) {
	if o.dst[len(o.dst)-1] != '{' {
		o.dst = append(o.dst, ',')
	}
	o.dst = append(o.dst, '"')
	o.dst = append(o.dst, name...)
	o.dst = append(o.dst, '"', ':')
}

func (o *objectWriter) open(name string) {
	o.name(name)
	o.dst = append(o.dst, '{')
}

func (o *objectWriter) close() { o.dst = append(o.dst, '}') }

func (o *objectWriter) text(name, s string) {
	o.name(name)
	var err error
	if o.dst, err = jsontext.AppendQuote(o.dst, s); err != nil && o.err == nil {
		o.err = err
	}
}

func (o *objectWriter) optional(name, s string) {
	if s != "" {
		o.text(name, s)
	}
}

// value writes a member that is too rare to have an encoder of its own.
func (o *objectWriter) value(name string, v any) {
	o.name(name)
	doc, err := json.Marshal(v)
	if err != nil && o.err == nil {
		o.err = err
	}
	o.dst = append(o.dst, doc...)
}

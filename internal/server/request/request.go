// Package request reads the members of a JSON body one by one, and has the
// words for what is wrong with them.
//
// It is what every way to ask the service shares: a body is one object as
// package strictjson reads it; members that nobody knows are ignored; members
// that another reader could take for a known one are refused. The first
// problem is kept, and what is read after it is of no use.
package request

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// Codes of what is refused in a body that is strict JSON. They are stable.
const (
	CodeNotObject   = "request.not_object"
	CodeJSONRPC     = "request.jsonrpc"
	CodeCaseVariant = "request.case_variant"

	CodeTool    = "request.tool"
	CodeArgs    = "request.args"
	CodeCallID  = "request.call_id"
	CodeSession = "request.session"
	CodeHints   = "request.hints"
)

// Limits of the parts of a call, in bytes.
const (
	MaxCallIDBytes  = 128
	MaxToolBytes    = 512
	MaxSessionBytes = 256
)

// An Error says why a body was refused. Its text holds nothing of the body.
type Error struct {
	Code    string // stable, for machines
	Message string // short, for the caller
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Members are those of one object.
type Members struct {
	obj map[string]any
	err *error // of the whole body, so shared with the objects within it
}

// Read reads a document that is one object. The names are the members that
// its reader will ask for. An error is an *Error or a *strictjson.Error.
func Read(doc []byte, names ...string) (*Members, error) {
	v, err := strictjson.Parse(doc)
	if err != nil {
		return nil, err
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return nil, &Error{CodeNotObject, "the body must be a JSON object"}
	}
	m := &Members{obj: obj, err: new(error(nil))}
	m.check(names)
	return m, m.Err()
}

// Within returns the members of an object within the body. Its problems are
// problems of the body.
func (m *Members) Within(obj map[string]any, names ...string) *Members {
	inner := &Members{obj: obj, err: m.err}
	inner.check(names)
	return inner
}

// check refuses members that another reader could take for one of names.
func (m *Members) check(names []string) {
	variant := ""
	for name := range m.obj {
		if slices.Contains(names, name) {
			continue
		}
		plain := visible(name)
		if strings.EqualFold(plain, "jsonrpc") {
			m.Fail(CodeJSONRPC, "a JSON-RPC message is not a call")
		}
		for _, n := range names {
			if strings.EqualFold(plain, n) {
				variant = max(variant, n) // the same one on every attempt
			}
		}
	}
	if variant != "" {
		m.Fail(CodeCaseVariant, fmt.Sprintf("a member differs from %s only by case or form", variant))
	}
}

// Err returns the first problem, nil if there is none.
func (m *Members) Err() error { return *m.err }

// Fail notes a problem, unless there is one already.
func (m *Members) Fail(code, message string) {
	if *m.err == nil {
		*m.err = &Error{code, message}
	}
}

// Value returns a member as it was parsed.
func (m *Members) Value(name string) (v any, present bool) {
	v, present = m.obj[name]
	return v, present
}

// Text returns a string member, "" if there is none.
func (m *Members) Text(name, code string, maxBytes int) string {
	v, present := m.obj[name]
	if !present {
		return ""
	}
	s, ok := v.(string)
	switch {
	case !ok:
		m.Fail(code, name+" must be a string")
	case len(s) > maxBytes:
		m.Fail(code, fmt.Sprintf("%s is longer than %d bytes", name, maxBytes))
	}
	return s
}

// Object returns an object member, nil if there is none.
func (m *Members) Object(name, code string) map[string]any {
	v, present := m.obj[name]
	if !present {
		return nil
	}
	obj, ok := v.(map[string]any)
	if !ok {
		m.Fail(code, name+" must be an object")
	}
	return obj
}

// Texts returns a member that maps strings to strings, nil if there is none.
func (m *Members) Texts(name, code string) map[string]string {
	obj := m.Object(name, code)
	if obj == nil {
		return nil
	}
	texts := make(map[string]string, len(obj))
	for k, v := range obj {
		s, ok := v.(string)
		if !ok {
			m.Fail(code, name+" must hold strings only")
		}
		texts[k] = s
	}
	return texts
}

// Integer returns a member from 0 to limit, 0 if there is none. 1.0 and 1e1
// are no integers here: not every reader takes them for one.
func (m *Members) Integer(name, code string, limit int64) int64 {
	v, present := m.obj[name]
	if !present {
		return 0
	}
	number, _ := v.(json.Number)
	n, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil || n < 0 || n > limit {
		m.Fail(code, fmt.Sprintf("%s must be an integer from 0 to %d", name, limit))
		return 0
	}
	return n
}

// visible returns a name in its normal form, without what is not seen or is
// trimmed by some readers: blanks, control and formatting characters.
func visible(name string) string {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= '\x7f' {
			return strings.Map(keepVisible, norm.NFKC.String(name))
		}
	}
	return name
}

func keepVisible(r rune) rune {
	if unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) {
		return -1
	}
	return r
}

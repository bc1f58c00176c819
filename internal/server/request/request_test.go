package request_test

import (
	"errors"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/server/request"
)

func read(t *testing.T, doc string, names ...string) *request.Members {
	t.Helper()
	m, err := request.Read([]byte(doc), names...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTheFirstProblemIsKeptWhereverItIs(t *testing.T) {
	m := read(t, `{"a":{"n":1,"N":2},"b":3}`, "a", "b")
	inner := m.Within(m.Object("a", "code.a"), "n")
	inner.Text("n", "code.n", 8)
	m.Text("b", "code.b", 8)
	e, ok := errors.AsType[*request.Error](m.Err())
	if !ok || e.Code != request.CodeCaseVariant || !errors.Is(inner.Err(), e) {
		t.Errorf("outer %v, inner %v", m.Err(), inner.Err())
	}
}

func TestAMemberOfAnotherTypeIsAProblemAndOneThatIsMissingIsNot(t *testing.T) {
	for name, ask := range map[string]func(m *request.Members, name string){
		"text":    func(m *request.Members, name string) { m.Text(name, "code", 3) },
		"object":  func(m *request.Members, name string) { m.Object(name, "code") },
		"texts":   func(m *request.Members, name string) { m.Texts(name, "code") },
		"integer": func(m *request.Members, name string) { m.Integer(name, "code", 10) },
	} {
		for _, doc := range []string{`{"x":[]}`, `{"x":null}`, `{"x":true}`, `{"x":"long"}`, `{"x":11}`} {
			m := read(t, doc, "x")
			ask(m, "missing")
			if m.Err() != nil {
				t.Errorf("%s: a missing member: %v", name, m.Err())
			}
			ask(m, "x")
			if e, ok := errors.AsType[*request.Error](m.Err()); !ok || e.Code != "code" {
				t.Errorf("%s of %s: %v", name, doc, m.Err())
			}
		}
	}
}

func TestAnErrorHoldsNoWordOfTheBody(t *testing.T) {
	_, err := request.Read([]byte(`{"TOOL":"secret"}`), "tool")
	if err == nil || err.Error() != "request.case_variant: a member differs from tool only by case or form" {
		t.Errorf("error %v", err)
	}
}

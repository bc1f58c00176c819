package sqlclass

import (
	"reflect"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hookpolicy/hookpolicy/internal/plan/stmtclass"
)

// grammar holds, for every message type that can stand in a parse tree, where
// its child messages are. It is computed once from the generated types, so
// that a walk visits every message field and forgets none.
type grammar struct {
	shapes   map[reflect.Type]*shape // by message struct
	wrappers map[reflect.Type]*shape // by the struct around one choice of a oneof
	raw      *shape                  // of RawStmt, a top-level statement
	node     *shape                  // of Node, which holds any other message
}

// shape describes one message type.
type shape struct {
	name string // the message's name, such as "SelectStmt"
	kids []kid
	with int // index in kids of the WITH clause, or -1

	statement    bool
	class        Class // of a statement by itself
	unclassified bool  // a statement that the table lacks
	statementFn  statementRule
	nodeFn       nodeRule
}

// kid is one field that holds messages.
type kid struct {
	field    int // index in the struct
	form     form
	shape    *shape // nil for a oneof
	relation bool   // a single RangeVar: what a statement acts on
}

type form uint8

const (
	single form = iota // *T
	many               // []*T
	choice             // a oneof of message types
)

func newGrammar() *grammar {
	g := &grammar{shapes: make(map[reflect.Type]*shape), wrappers: make(map[reflect.Type]*shape)}
	g.raw, g.node = g.shapeOf(reflect.TypeFor[pg.RawStmt]()), g.shapeOf(reflect.TypeFor[pg.Node]())
	statements, nodes := statementRules(), nodeRules()
	for _, s := range g.shapes {
		s.statementFn, s.nodeFn = statements[s.name], nodes[s.name]
	}
	return g
}

// shapeOf returns the shape of a message struct and computes it, and those of
// all that it can hold, at the first call.
func (g *grammar) shapeOf(t reflect.Type) *shape {
	if s, ok := g.shapes[t]; ok {
		return s
	}
	message := reflect.New(t).Interface().(proto.Message).ProtoReflect()
	s := &shape{name: string(message.Descriptor().Name()), with: -1}
	g.shapes[t] = s // before its kids: types hold each other
	if strings.HasSuffix(s.name, "Stmt") && t != reflect.TypeFor[pg.RawStmt]() {
		class, _, known := stmtclass.Class(s.name)
		s.statement, s.class, s.unclassified = true, Read, !known
		switch {
		case !known:
			s.class = Forbidden
		case class != "": // else what it holds decides
			s.class = ClassOf(class)
		}
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		switch {
		case isMessage(f.Type):
			if f.Type == reflect.TypeFor[*pg.WithClause]() {
				s.with = len(s.kids)
			}
			s.kids = append(s.kids, kid{field: i, form: single, shape: g.shapeOf(f.Type.Elem()), relation: f.Type == reflect.TypeFor[*pg.RangeVar]()})
		case f.Type.Kind() == reflect.Slice && isMessage(f.Type.Elem()):
			s.kids = append(s.kids, kid{field: i, form: many, shape: g.shapeOf(f.Type.Elem().Elem())})
		case f.Type.Kind() == reflect.Interface:
			s.kids = append(s.kids, kid{field: i, form: choice})
			g.addChoices(reflect.New(t), i)
		}
	}
	return s
}

// addChoices learns the wrapper types of a oneof: it sets each choice of an
// empty message once and looks at what the generated code put there.
func (g *grammar) addChoices(empty reflect.Value, field int) {
	message := empty.Interface().(proto.Message).ProtoReflect()
	fields := message.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.ContainingOneof() == nil || f.Kind() != protoreflect.MessageKind {
			continue
		}
		message.Set(f, message.NewField(f))
		wrapper := empty.Elem().Field(field).Elem().Elem().Type()
		g.wrappers[wrapper] = g.shapeOf(wrapper.Field(0).Type.Elem())
	}
}

func isMessage(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer && t.Implements(reflect.TypeFor[proto.Message]())
}

// holds reports whether a message of a name is within one of a shape.
func (g *grammar) holds(s *shape, v reflect.Value, name string) bool {
	if s.name == name {
		return true
	}
	for i := range s.kids {
		k := &s.kids[i]
		switch f := v.Field(k.field); k.form {
		case single:
			if !f.IsNil() && g.holds(k.shape, f.Elem(), name) {
				return true
			}
		case many:
			for j := range f.Len() {
				if e := f.Index(j); !e.IsNil() && g.holds(k.shape, e.Elem(), name) {
					return true
				}
			}
		case choice:
			if !f.IsNil() && g.choiceHolds(f.Elem().Elem(), name) {
				return true
			}
		}
	}
	return false
}

func (g *grammar) choiceHolds(wrapper reflect.Value, name string) bool {
	s, ok := g.wrappers[wrapper.Type()]
	if !ok { // a scalar
		return false
	}
	inner := wrapper.Field(0)
	return !inner.IsNil() && g.holds(s, inner.Elem(), name)
}

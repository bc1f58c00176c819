package sqlclass

import (
	"reflect"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hookpolicy/hookpolicy/internal/plan/stmtclass"
)

func TestEveryStatementNodeOfTheGrammarHasAClass(t *testing.T) {
	messages := pg.File_pg_query_proto.Messages()
	statements := 0
	for i := range messages.Len() {
		name := string(messages.Get(i).Name())
		if !strings.HasSuffix(name, "Stmt") {
			continue
		}
		statements++
		if _, _, ok := stmtclass.Class(name); !ok {
			t.Errorf("%s has no class", name)
		}
	}
	if statements < 100 {
		t.Errorf("the grammar shows %d statement nodes: has the generated code changed its names?", statements)
	}
}

// What the generated descriptors call a message field, the walk must visit.
func TestTheWalkKnowsEveryMessageField(t *testing.T) {
	g := newGrammar()
	byName := make(map[string]*shape)
	for _, s := range g.shapes {
		byName[s.name] = s
	}
	messages := pg.File_pg_query_proto.Messages()
	for i := range messages.Len() {
		d := messages.Get(i)
		s, ok := byName[string(d.Name())]
		if !ok { // the scanner's messages, and ParseResult, whose only child is RawStmt
			if n := string(d.Name()); n != "ScanResult" && n != "ScanToken" && n != "ParseResult" {
				t.Errorf("%s cannot be reached", d.Name())
			}
			continue
		}
		want := 0
		for j := range d.Fields().Len() {
			if f := d.Fields().Get(j); f.Kind() == protoreflect.MessageKind && f.ContainingOneof() == nil {
				want++
			}
		}
		want += d.Oneofs().Len()
		if len(s.kids) != want {
			t.Errorf("%s: %d fields are visited, %d hold messages", s.name, len(s.kids), want)
		}
	}
	node := (*pg.Node)(nil).ProtoReflect().Descriptor()
	if got, want := len(g.wrappers), node.Fields().Len(); got < want {
		t.Errorf("%d kinds of nodes are known, the grammar has %d", got, want)
	}
}

func TestEveryRuleNamesAMessageOfTheGrammar(t *testing.T) {
	messages := pg.File_pg_query_proto.Messages()
	for name := range statementRules() {
		if messages.ByName(protoreflect.Name(name)) == nil || !strings.HasSuffix(name, "Stmt") {
			t.Errorf("%s is no statement of the grammar", name)
		}
	}
	for name := range nodeRules() {
		if messages.ByName(protoreflect.Name(name)) == nil {
			t.Errorf("%s is no message of the grammar", name)
		}
	}
}

// A statement that the table lacks is refused, wherever it stands.
func TestAStatementWithoutAClassIsForbidden(t *testing.T) {
	g := newGrammar()
	s := g.shapes[reflect.TypeFor[pg.SelectStmt]()]
	s.unclassified, s.class = true, Forbidden
	tree, err := pg.Parse("INSERT INTO t SELECT 1")
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCatalog(functionsText)
	if err != nil {
		t.Fatal(err)
	}
	w := walker{grammar: g, catalog: c, report: &Report{Class: Read}}
	w.topLevel(tree.Stmts[0])
	if w.report.Class != Forbidden || w.report.Findings[len(w.report.Findings)-1].Code != CodeUnclassified {
		t.Errorf("report %+v does not refuse an unclassified statement", w.report)
	}
}

// Every message of the grammar, put into a node with an unknown function deep
// within each of its fields in turn, shows that function.
func TestAFunctionIsFoundInEveryFieldOfEveryMessage(t *testing.T) {
	g := newGrammar()
	c, err := newCatalog(functionsText)
	if err != nil {
		t.Fatal(err)
	}
	call := func() *pg.Node {
		return pg.MakeFuncCallNode([]*pg.Node{pg.MakeStrNode("sleuth")}, nil, 0)
	}
	for _, s := range g.wrappers {
		messageType := typeOf(g, s)
		for _, k := range s.kids {
			if k.form == choice || (k.shape != g.node) {
				continue
			}
			v := reflect.New(messageType)
			field := v.Elem().Field(k.field)
			if k.form == single {
				field.Set(reflect.ValueOf(call()))
			} else {
				field.Set(reflect.ValueOf([]*pg.Node{call()}))
			}
			w := walker{grammar: g, catalog: c, report: &Report{Class: Read}}
			w.message(s, withRelation(v).Elem())
			if !w.report.Unknown {
				t.Errorf("a function in field %s of %s was not found", messageType.Field(k.field).Name, s.name)
			}
		}
	}
}

func typeOf(g *grammar, s *shape) reflect.Type {
	for t, o := range g.shapes {
		if o == s {
			return t
		}
	}
	return nil
}

// withRelation fills the single relations of a message, which the parser
// never leaves out where rules read them.
func withRelation(v reflect.Value) reflect.Value {
	for _, f := range v.Elem().Fields() {
		if f.Type() == reflect.TypeFor[*pg.RangeVar]() {
			f.Set(reflect.ValueOf(&pg.RangeVar{Relname: "t"}))
		}
	}
	var _ proto.Message = v.Interface().(proto.Message)
	return v
}

package sqlclass

import (
	"math/rand/v2"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v5"
	"github.com/pganalyze/pg_query_go/v5/parser"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// levels counts the messages within each other, without those that only wrap
// others. A SubLink or ResTarget costs the parser as much as an operator does.
func levels(m protoreflect.Message) int {
	deepest := 0
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Kind() != protoreflect.MessageKind:
		case f.IsList():
			for i := range v.List().Len() {
				deepest = max(deepest, levels(v.List().Get(i).Message()))
			}
		default:
			deepest = max(deepest, levels(v.Message()))
		}
		return true
	})
	switch m.Descriptor().Name() {
	case "Node", "List", "ParseResult", "RawStmt":
		return deepest
	}
	return deepest + 1
}

// leaves are the levels of a text's innermost part, such as the name of a type.
const leaves = 8

func assertBounded(t *testing.T, text string) {
	t.Helper()
	tree, err := pg.Parse(text)
	if err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
	tokens, err := parser.ScanToProtobuf(text)
	if err != nil {
		t.Fatal(err)
	}
	if got, is := depthOf(tokens), levels(tree.ProtoReflect()); got+leaves < is {
		t.Errorf("depthOf says %d, the tree has %d levels: %.300s", got, is, text)
	}
}

func TestDepthOfIsNeverLessThanTheDepthOfTheTree(t *testing.T) {
	const n = 50
	chain := strings.Repeat("-1", n)
	left := func(step string) string { // each step is the left operand of the next
		return "SELECT " + strings.Repeat("(", n) + "1" + strings.Repeat(")"+step, n)
	}
	for name, text := range map[string]string{
		"brackets before operators":    left(chain),
		"brackets before casts":        left("::a"),
		"names that are keywords":      "SELECT 1" + strings.Repeat(chain+"-x.and", n),
		"names that end nothing":       "SELECT " + strings.Repeat("f(x.end,x", n) + strings.Repeat(")"+chain, n),
		"names that begin nothing":     "SELECT 1" + strings.Repeat(chain+"-x.case", n),
		"labels that begin nothing":    "SELECT " + strings.Repeat("(SELECT 1 case, (", 9) + "1" + strings.Repeat(")"+chain+")"+chain, 9),
		"BETWEEN on the left":          "SELECT 1" + strings.Repeat(chain+" BETWEEN 1 AND 2 ISNULL", n),
		"later arguments":              "SELECT " + strings.Repeat("f(1,", n) + "1" + strings.Repeat(")"+chain, n),
		"later branches":               "SELECT " + strings.Repeat("CASE WHEN a THEN b ELSE ", n) + "1" + strings.Repeat(" END"+chain, n),
		"AND and OR in brackets":       "SELECT " + strings.Repeat("(a OR b AND ", n) + "c" + strings.Repeat(")", n),
		"unions of later columns":      strings.Repeat("(", n) + "SELECT 1, 2" + strings.Repeat(" UNION SELECT 1, 2)", n),
		"joins after commas":           "SELECT FROM a, " + strings.Repeat("(", n) + "b" + strings.Repeat(" JOIN c ON d)", n),
		"sub-selects in later columns": "SELECT 1, " + strings.Repeat("(SELECT 1, ", n) + "1" + strings.Repeat(")", n),
		"statements in a body":         "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 1" + chain + "; SELECT 2; END",
	} {
		t.Run(name, func(t *testing.T) { assertBounded(t, text) })
	}
}

func TestDepthOfBoundsWhateverIsPutTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		assertBounded(t, "SELECT "+expression(r, 7))
	}
}

// expression writes an expression of so many steps at most.
func expression(r *rand.Rand, steps int) string {
	if steps == 0 {
		return [...]string{"1", "a", "x.and", "x.end", "x.case", "x.or", "'s'", "$1"}[r.IntN(8)]
	}
	e := func() string { return expression(r, r.IntN(steps)) }
	deep := expression(r, steps-1)
	switch r.IntN(16) {
	case 0:
		return "(" + deep + ")"
	case 1:
		return "(" + deep + ")" + strings.Repeat("-1", r.IntN(20))
	case 2:
		return "(" + deep + ") - (" + e() + ")"
	case 3:
		return "f(" + e() + ", " + deep + ")::int[]"
	case 4:
		return "f(" + deep + ", " + e() + ") IS NULL"
	case 5:
		return "CASE WHEN " + e() + " THEN " + deep + " ELSE " + e() + " END - 1"
	case 6:
		return "CASE " + deep + " WHEN 1 THEN 2 END"
	case 7:
		return deep + " AND " + e()
	case 8:
		return e() + " OR " + deep
	case 9:
		return "(" + deep + ") BETWEEN 1 AND 2 ISNULL"
	case 10:
		return "(SELECT " + deep + " UNION SELECT " + e() + ")"
	case 11:
		return "(SELECT 1 AS and, " + deep + " AS end, 2 case)"
	case 12:
		return "(ARRAY[" + e() + ", " + deep + "])[1]"
	case 13:
		return "EXISTS (SELECT FROM a JOIN b ON (" + deep + ") JOIN c ON true)"
	case 14:
		return "NOT (" + deep + ") COLLATE c"
	default:
		return "(" + deep + ") IN (" + e() + ", 2)"
	}
}

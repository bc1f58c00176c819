package sqlclass

import (
	"reflect"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// truth is what is known of a condition without any row. The zero value is
// that nothing is.
type truth uint8

const (
	depends truth = iota // on the row, or on what is not looked at here
	always               // true for every row
	never                // true for no row
)

func (t truth) not() truth {
	switch t {
	case always:
		return never
	case never:
		return always
	default:
		return depends
	}
}

func truthOf(b bool) truth {
	if b {
		return always
	}
	return never
}

// whereOf says what a condition does to choose rows.
func (w *walker) whereOf(n *pg.Node) Where {
	switch {
	case n == nil:
		return WhereMissing
	case n.GetCurrentOfExpr() != nil:
		return WherePresent
	}
	switch truthOfNode(n) {
	case always:
		return WhereAlwaysTrue
	case never:
		return WherePresent
	default:
		if !w.grammar.holds(w.grammar.node, reflect.ValueOf(n).Elem(), "ColumnRef") {
			return WhereConstant
		}
		return WherePresent
	}
}

// truthOfNode folds what is plainly the same for every row: constants,
// comparisons of these or of a column with itself, and what AND, OR, NOT, IS,
// CASE, coalesce and queries without a table make of them. That a column may
// be null is not looked at: id = id counts as always true.
func truthOfNode(n *pg.Node) truth {
	if n == nil {
		return depends
	}
	switch e := n.Node.(type) {
	case *pg.Node_AConst:
		switch {
		case e.AConst.Isnull:
			return never
		case e.AConst.GetBoolval() != nil:
			return truthOf(e.AConst.GetBoolval().Boolval)
		}
		return truthOfText(e.AConst.GetSval().GetSval())
	case *pg.Node_TypeCast:
		return truthOfCast(e.TypeCast)
	case *pg.Node_BoolExpr:
		return truthOfBool(e.BoolExpr)
	case *pg.Node_AExpr:
		return truthOfComparison(e.AExpr)
	case *pg.Node_BooleanTest:
		return truthOfBooleanTest(e.BooleanTest)
	case *pg.Node_NullTest:
		return truthOfNullTest(e.NullTest)
	case *pg.Node_SubLink:
		return truthOfSubLink(e.SubLink)
	case *pg.Node_CaseExpr:
		return truthOfCase(e.CaseExpr)
	case *pg.Node_CoalesceExpr:
		return truthOfNode(e.CoalesceExpr.Args[0])
	case *pg.Node_CollateClause:
		return truthOfNode(e.CollateClause.Arg)
	default:
		return depends
	}
}

// truthOfText reads a text as the server does where it needs a boolean.
func truthOfText(s string) truth {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "t", "tr", "tru", "true", "y", "ye", "yes", "on", "1":
		return always
	case "f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0":
		return never
	default:
		return depends
	}
}

func truthOfCast(c *pg.TypeCast) truth {
	if i := c.Arg.GetAConst().GetIval(); i != nil {
		return truthOf(i.Ival != 0)
	}
	return truthOfNode(c.Arg)
}

func truthOfBool(b *pg.BoolExpr) truth {
	switch b.Boolop {
	case pg.BoolExprType_AND_EXPR:
		return allOf(b.Args, always)
	case pg.BoolExprType_OR_EXPR:
		if complementary(b.Args) {
			return always
		}
		return allOf(b.Args, never)
	case pg.BoolExprType_NOT_EXPR:
		if b.Args[0].GetAConst().GetIsnull() { // NOT NULL is NULL
			return never
		}
		return truthOfNode(b.Args[0]).not()
	default:
		return depends
	}
}

// allOf is what every part of an AND (neutral always) or an OR (neutral never)
// comes to.
func allOf(args []*pg.Node, neutral truth) truth {
	result := neutral
	for _, a := range args {
		switch truthOfNode(a) {
		case neutral:
		case depends:
			result = depends
		default:
			return neutral.not()
		}
	}
	return result
}

// complementary reports whether two parts of an OR leave nothing out: a IS NULL
// OR a IS NOT NULL, a = 1 OR a <> 1, a OR NOT a.
func complementary(args []*pg.Node) bool {
	for i, a := range args {
		for _, b := range args[i+1:] {
			if opposite(a, b) || opposite(b, a) {
				return true
			}
		}
		if i == maxNames { // of a list that long nobody says that it is trivial
			return false
		}
	}
	return false
}

func opposite(a, b *pg.Node) bool {
	if not := b.GetBoolExpr(); not.GetBoolop() == pg.BoolExprType_NOT_EXPR && sameValue(a, not.Args[0]) {
		return true
	}
	if x, y := a.GetNullTest(), b.GetNullTest(); x != nil && y != nil {
		return x.Nulltesttype != y.Nulltesttype && sameValue(x.Arg, y.Arg)
	}
	x, y := a.GetAExpr(), b.GetAExpr()
	if x == nil || y == nil || x.Kind != pg.A_Expr_Kind_AEXPR_OP || y.Kind != x.Kind || !sameValue(x.Lexpr, y.Lexpr) || !sameValue(x.Rexpr, y.Rexpr) {
		return false
	}
	_, p := qualified(x.Name)
	_, q := qualified(y.Name)
	return slices.Contains(opposites(p), q)
}

// opposites are the comparisons that hold exactly where one does not.
func opposites(op string) []string {
	switch op {
	case "=":
		return []string{"<>", "!="}
	case "<":
		return []string{">="}
	case ">":
		return []string{"<="}
	case "<=":
		return []string{">"}
	case ">=":
		return []string{"<"}
	default:
		return nil
	}
}

func truthOfBooleanTest(t *pg.BooleanTest) truth {
	arg := truthOfNode(t.Arg)
	switch t.Booltesttype {
	case pg.BoolTestType_IS_TRUE, pg.BoolTestType_IS_NOT_FALSE:
		return arg
	case pg.BoolTestType_IS_FALSE, pg.BoolTestType_IS_NOT_TRUE:
		return arg.not()
	default:
		return depends
	}
}

func truthOfNullTest(t *pg.NullTest) truth {
	c := t.Arg.GetAConst()
	if c == nil {
		return depends
	}
	return truthOf(c.Isnull == (t.Nulltesttype == pg.NullTestType_IS_NULL))
}

// truthOfSubLink looks into a query that reads no table.
func truthOfSubLink(l *pg.SubLink) truth {
	s := l.Subselect.GetSelectStmt()
	if s == nil || len(s.FromClause) > 0 || s.WhereClause != nil || s.HavingClause != nil || s.LimitCount != nil || s.LimitOffset != nil ||
		s.Op != pg.SetOperation_SETOP_NONE || len(s.TargetList) != 1 {
		return depends
	}
	switch l.SubLinkType {
	case pg.SubLinkType_EXISTS_SUBLINK:
		return always
	case pg.SubLinkType_EXPR_SUBLINK:
		return truthOfNode(s.TargetList[0].GetResTarget().GetVal())
	default:
		return depends
	}
}

// truthOfCase is what all results of a CASE have in common.
func truthOfCase(c *pg.CaseExpr) truth {
	if c.Defresult == nil {
		return depends
	}
	result := truthOfNode(c.Defresult)
	for _, n := range c.Args {
		if truthOfNode(n.GetCaseWhen().GetResult()) != result {
			return depends
		}
	}
	return result
}

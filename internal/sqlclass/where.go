package sqlclass

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"
)

// alwaysTrue reports whether a condition is plainly true for every row: a true
// constant, a comparison that holds of its own, or a combination of these. It
// reports false when it cannot tell.
func alwaysTrue(n *pg.Node) bool {
	if n == nil {
		return false
	}
	switch e := n.Node.(type) {
	case *pg.Node_AConst:
		return e.AConst.GetBoolval().GetBoolval()
	case *pg.Node_TypeCast: // 'true'::bool
		s := strings.ToLower(e.TypeCast.Arg.GetAConst().GetSval().GetSval())
		return s == "t" || s == "true" || s == "on" || s == "yes" || s == "1"
	case *pg.Node_BoolExpr:
		return boolAlwaysTrue(e.BoolExpr)
	case *pg.Node_AExpr:
		return comparisonAlwaysTrue(e.AExpr)
	case *pg.Node_BooleanTest:
		return e.BooleanTest.Booltesttype == pg.BoolTestType_IS_TRUE && alwaysTrue(e.BooleanTest.Arg)
	case *pg.Node_NullTest:
		null := e.NullTest.Arg.GetAConst()
		return null != nil && null.Isnull == (e.NullTest.Nulltesttype == pg.NullTestType_IS_NULL)
	default:
		return false
	}
}

func boolAlwaysTrue(b *pg.BoolExpr) bool {
	switch b.Boolop {
	case pg.BoolExprType_AND_EXPR:
		for _, a := range b.Args {
			if !alwaysTrue(a) {
				return false
			}
		}
		return true
	case pg.BoolExprType_OR_EXPR:
		return slices.ContainsFunc(b.Args, alwaysTrue)
	case pg.BoolExprType_NOT_EXPR:
		c := b.Args[0].GetAConst()
		return c.GetBoolval() != nil && !c.GetBoolval().Boolval
	default:
		return false
	}
}

func comparisonAlwaysTrue(e *pg.A_Expr) bool {
	_, op := qualified(e.Name)
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP:
		l, r := e.Lexpr.GetAConst(), e.Rexpr.GetAConst()
		if l.GetIval() != nil && r.GetIval() != nil {
			return compare(l.GetIval().Ival, op, r.GetIval().Ival)
		}
		if (op == "<>" || op == "!=") && l.GetSval() != nil && r.GetSval() != nil {
			return l.GetSval().Sval != r.GetSval().Sval
		}
		return (op == "=" || op == ">=" || op == "<=") && sameValue(e.Lexpr, e.Rexpr)
	case pg.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		return sameValue(e.Lexpr, e.Rexpr)
	case pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE:
		return strings.HasSuffix(op, "~~") == !strings.HasPrefix(op, "!") && e.Rexpr.GetAConst().GetSval().GetSval() == "%"
	default:
		return false
	}
}

func compare(l int32, op string, r int32) bool {
	switch op {
	case "=":
		return l == r
	case "<>", "!=":
		return l != r
	case "<":
		return l < r
	case "<=":
		return l <= r
	case ">":
		return l > r
	case ">=":
		return l >= r
	default:
		return false
	}
}

// sameValue reports whether both sides are the same constant or column.
func sameValue(l, r *pg.Node) bool {
	switch {
	case l.GetAConst() != nil && r.GetAConst() != nil:
		a, b := proto.Clone(l.GetAConst()).(*pg.A_Const), proto.Clone(r.GetAConst()).(*pg.A_Const)
		a.Location, b.Location = 0, 0
		return !a.Isnull && proto.Equal(a, b)
	case l.GetColumnRef() != nil && r.GetColumnRef() != nil:
		a, b := dotted(l.GetColumnRef().Fields), dotted(r.GetColumnRef().Fields)
		return a != "" && a == b
	default:
		return false
	}
}

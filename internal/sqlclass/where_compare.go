package sqlclass

import (
	"math/big"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
)

func truthOfComparison(e *pg.A_Expr) truth {
	_, op := qualified(e.Name)
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP:
		return compare(e.Lexpr, op, e.Rexpr)
	case pg.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		return compare(e.Lexpr, "=", e.Rexpr)
	case pg.A_Expr_Kind_AEXPR_DISTINCT:
		return compare(e.Lexpr, "<>", e.Rexpr)
	case pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE:
		if pattern := e.Rexpr.GetAConst().GetSval(); pattern.GetSval() != "" && strings.Trim(pattern.GetSval(), "%") == "" {
			return truthOf(!strings.HasPrefix(op, "!"))
		}
	case pg.A_Expr_Kind_AEXPR_IN:
		if slices.ContainsFunc(e.Rexpr.GetList().GetItems(), func(n *pg.Node) bool { return compare(e.Lexpr, "=", n) == always }) {
			return truthOf(op == "=")
		}
	case pg.A_Expr_Kind_AEXPR_OP_ANY:
		if op == "=" && slices.ContainsFunc(e.Rexpr.GetAArrayExpr().GetElements(), func(n *pg.Node) bool { return compare(e.Lexpr, "=", n) == always }) {
			return always
		}
	case pg.A_Expr_Kind_AEXPR_BETWEEN:
		if ends := e.Rexpr.GetList().GetItems(); len(ends) == 2 && compare(e.Lexpr, ">=", ends[0]) == always && compare(e.Lexpr, "<=", ends[1]) == always {
			return always
		}
	default:
	}
	return depends
}

// compare is what a comparison comes to for every row.
func compare(l *pg.Node, op string, r *pg.Node) truth {
	if l == nil || r == nil || !isComparison(op) {
		return depends
	}
	if l.GetAConst().GetIsnull() || r.GetAConst().GetIsnull() { // is null, whatever the other is
		return never
	}
	order, known := 0, sameValue(l, r)
	if !known {
		if a := numberOf(l); a != nil {
			if b := numberOf(r); b != nil {
				order, known = a.Cmp(b), true
			}
		}
	}
	if a, b := textOf(l), textOf(r); !known && a != nil && b != nil {
		if op != "=" && op != "<>" && op != "!=" { // the order depends on the collation
			return depends
		}
		order, known = strings.Compare(a.Sval, b.Sval), true
	}
	if !known {
		return compareTruths(truthOfNode(l), op, truthOfNode(r))
	}
	return truthOfOrder(order, op)
}

// truthOfOrder is what a comparison comes to for values in an order.
func truthOfOrder(order int, op string) truth {
	switch op {
	case "=":
		return truthOf(order == 0)
	case "<>", "!=":
		return truthOf(order != 0)
	case "<":
		return truthOf(order < 0)
	case "<=":
		return truthOf(order <= 0)
	case ">":
		return truthOf(order > 0)
	case ">=":
		return truthOf(order >= 0)
	default:
		return depends
	}
}

func isComparison(op string) bool {
	switch op {
	case "=", "<>", "!=", "<", "<=", ">", ">=":
		return true
	default:
		return false
	}
}

func compareTruths(l truth, op string, r truth) truth {
	switch {
	case l == depends || r == depends:
		return depends
	case op == "=":
		return truthOf(l == r)
	case op == "<>" || op == "!=":
		return truthOf(l != r)
	default:
		return depends
	}
}

// numberOf folds a constant number, and sums, differences and products of
// such; nil if it is none.
func numberOf(n *pg.Node) *big.Rat {
	c := n.GetAConst()
	switch {
	case c.GetIval() != nil:
		return new(big.Rat).SetInt64(int64(c.GetIval().Ival))
	case c.GetFval() != nil && len(c.GetFval().Fval) <= maxNames && !strings.ContainsAny(c.GetFval().Fval, "eExXoObB_"):
		if r, ok := new(big.Rat).SetString(c.GetFval().Fval); ok {
			return r
		}
		return nil
	}
	e := n.GetAExpr()
	if e == nil || e.Kind != pg.A_Expr_Kind_AEXPR_OP || e.Lexpr == nil {
		return nil
	}
	_, op := qualified(e.Name)
	if op != "+" && op != "-" && op != "*" {
		return nil
	}
	l, r := numberOf(e.Lexpr), numberOf(e.Rexpr)
	switch {
	case l == nil || r == nil || l.Num().BitLen() > 200 || r.Num().BitLen() > 200:
		return nil
	case op == "+":
		return l.Add(l, r)
	case op == "-":
		return l.Sub(l, r)
	default:
		return l.Mul(l, r)
	}
}

// textOf is a constant text, cast to another type or not.
func textOf(n *pg.Node) *pg.String {
	if cast := n.GetTypeCast(); cast != nil {
		n = cast.Arg
	}
	return n.GetAConst().GetSval()
}

// sameValue reports whether both sides are the same column, or the same
// constant.
func sameValue(l, r *pg.Node) bool {
	switch {
	case l.GetColumnRef() != nil && r.GetColumnRef() != nil:
		a, b := l.GetColumnRef().Fields, r.GetColumnRef().Fields
		return len(a) > 0 && sameColumn(a, b)
	case l.GetAConst() != nil && r.GetAConst() != nil:
		a, b := l.GetAConst(), r.GetAConst()
		if a.Isnull || b.Isnull {
			return false
		}
		if x, y := numberOf(l), numberOf(r); x != nil && y != nil {
			return x.Cmp(y) == 0
		}
		return a.GetSval() != nil && b.GetSval() != nil && a.GetSval().Sval == b.GetSval().Sval
	case l.GetParamRef() != nil && r.GetParamRef() != nil:
		return l.GetParamRef().Number == r.GetParamRef().Number
	default:
		return false
	}
}

// sameColumn compares names of columns; one may be qualified and the other not.
func sameColumn(a, b []*pg.Node) bool {
	for i := 1; i <= min(len(a), len(b)); i++ {
		if x := str(a[len(a)-i]); x == "" || x != str(b[len(b)-i]) {
			return false
		}
	}
	return true
}

package sqlclass

import (
	"context"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// limitOf says how many rows a query may give.
func limitOf(s *pg.SelectStmt) string {
	switch n, ok := literalLimit(s); {
	case s == nil:
		return ""
	case s.LimitCount == nil || s.LimitCount.GetAConst().GetIsnull():
		return LimitNone
	case !ok || s.LimitOption == pg.LimitOption_LIMIT_OPTION_WITH_TIES:
		return LimitComputed
	default:
		return strconv.FormatInt(n, 10)
	}
}

// literalLimit is the number of a LIMIT that is one.
func literalLimit(s *pg.SelectStmt) (int64, bool) {
	c := s.GetLimitCount().GetAConst()
	switch {
	case c.GetIval() != nil:
		return int64(c.GetIval().Ival), true
	case c.GetFval() != nil: // more than 32 bits
		n, err := strconv.ParseInt(c.GetFval().Fval, 10, 64)
		return n, err == nil
	default:
		return 0, false
	}
}

// limited is what LimitRows makes of a text.
type limited struct {
	text, code, hint string
}

func (l *limited) size() int { return len(l.text) + len(l.hint) }

// LimitRows returns the text with a LIMIT, so that no query in it gives more
// than maxRows rows to whoever runs it. A text that gives no more than that as
// it is, or no rows at all, comes back unchanged.
//
// Where a LIMIT might change more than the number of rows, the text is
// refused: code and hint say why, and that the writer may put a LIMIT there
// himself. The text that comes back was parsed again and has the tree of the
// one given, the limits apart. The error is not nil only when the context was
// over before there was an answer.
func (c *Classifier) LimitRows(ctx context.Context, text string, maxRows int) (withLimit, code, hint string, err error) {
	key := strconv.Itoa(maxRows) + " " + text
	l := c.limited.get(key)
	if l == nil {
		if l, err = c.limitRows(ctx, text, maxRows); err != nil {
			return "", "", "", err
		}
		c.limited.put(key, l)
	}
	return l.text, l.code, l.hint, nil
}

func (c *Classifier) limitRows(ctx context.Context, text string, maxRows int) (*limited, error) {
	if len(text) > MaxBytes {
		return &limited{code: CodeTooLarge}, nil
	}
	if r := precheck(text); r != nil {
		return refused(r), nil
	}
	if err := c.takeSlot(ctx); err != nil {
		return nil, err
	}
	defer func() { <-c.slots }()
	tree, r := parseBounded(text)
	if r != nil {
		return refused(r), nil
	}
	report := c.walk(tree)
	if report.Code != "" {
		return refused(report), nil
	}
	changed := false
	for _, raw := range tree.Stmts {
		statement, hint := limitStatement(raw.Stmt, int64(maxRows))
		if hint != "" {
			return &limited{code: CodeLimit, hint: hint}, nil
		}
		changed = changed || statement
	}
	switch {
	case !changed:
		return &limited{text: text}, nil
	case actsPerRow(report):
		return &limited{code: CodeLimit, hint: "it calls a function that acts for every row: write the LIMIT into the query, as a number"}, nil
	}
	return writeOut(tree), nil
}

func refused(r *Report) *limited { return &limited{code: r.Code, hint: r.Hint} }

// parseBounded parses a text that is shallow enough and holds a statement.
func parseBounded(text string) (*pg.ParseResult, *Report) {
	if r := checkDepth(text); r != nil {
		return nil, r
	}
	tree, r := parse(text)
	if r == nil && len(tree.Stmts) == 0 {
		r = refusal(CodeEmpty, "")
	}
	return tree, r
}

// actsPerRow reports whether a function is called that does more than read:
// fewer rows would be fewer calls. What data-modifying CTEs do is done in full
// whatever the limit.
func actsPerRow(r *Report) bool {
	return r.MoreNames || slices.ContainsFunc(r.Functions, func(f Function) bool { return f.Class > Read })
}

// writeOut writes the tree as a text, and makes sure that the text means it.
func writeOut(tree *pg.ParseResult) *limited {
	unfaithful := &limited{code: CodeLimit, hint: "no limit can be put into it: write the LIMIT into the query, as a number"}
	if isDeeper(tree.ProtoReflect(), maxWriteDepth) { // the writer would recurse past the end of its stack
		return unfaithful
	}
	text, err := pg.Deparse(tree)
	if err != nil || len(text) > MaxBytes || precheck(text) != nil {
		return unfaithful
	}
	again, r := parseBounded(text)
	if r != nil {
		return unfaithful
	}
	withoutLocations(tree.ProtoReflect())
	withoutLocations(again.ProtoReflect())
	if !proto.Equal(tree, again) {
		return unfaithful
	}
	return &limited{text: text}
}

// isDeeper reports whether messages lie within each other more than so many
// levels.
func isDeeper(m protoreflect.Message, levels int) bool {
	if levels == 0 {
		return true
	}
	deeper := false
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Kind() != protoreflect.MessageKind:
		case fd.IsList():
			for i := 0; i < v.List().Len() && !deeper; i++ {
				deeper = isDeeper(v.List().Get(i).Message(), levels-1)
			}
		default:
			deeper = isDeeper(v.Message(), levels-1)
		}
		return !deeper
	})
	return deeper
}

// withoutLocations takes away where in the text things stand.
func withoutLocations(m protoreflect.Message) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch name := string(fd.Name()); {
		case fd.Kind() == protoreflect.Int32Kind && !fd.IsList() && (strings.HasSuffix(name, "location") || name == "stmt_len"):
			m.Clear(fd)
		case fd.Kind() != protoreflect.MessageKind:
		case fd.IsList():
			for i := range v.List().Len() {
				withoutLocations(v.List().Get(i).Message())
			}
		default:
			withoutLocations(v.Message())
		}
		return true
	})
}

// limitStatement puts a limit into a statement that needs one. A hint says
// that it needs one and cannot have it.
func limitStatement(n *pg.Node, maxRows int64) (changed bool, hint string) {
	const returning = "RETURNING may give any number of rows: leave it out, or write WITH w AS (… RETURNING …) SELECT … FROM w LIMIT and a number"
	switch s := n.Node.(type) {
	case *pg.Node_SelectStmt:
		return limitQuery(s.SelectStmt, maxRows)
	case *pg.Node_InsertStmt:
		if i := s.InsertStmt; len(i.ReturningList) > 0 && !isFewRows(i.SelectStmt.GetSelectStmt(), maxRows) {
			return false, returning
		}
	case *pg.Node_UpdateStmt:
		if len(s.UpdateStmt.ReturningList) > 0 {
			return false, returning
		}
	case *pg.Node_DeleteStmt:
		if len(s.DeleteStmt.ReturningList) > 0 {
			return false, returning
		}
	case *pg.Node_CopyStmt:
		if s.CopyStmt.IsFrom {
			return false, ""
		}
		if q := s.CopyStmt.Query.GetSelectStmt(); q == nil || !isBounded(q, maxRows) {
			return false, "COPY may give any number of rows: use SELECT"
		}
	case *pg.Node_FetchStmt:
		if f := s.FetchStmt; !f.Ismove && (f.HowMany > maxRows || f.HowMany < -maxRows) {
			return false, "fetch at most " + strconv.FormatInt(maxRows, 10) + " rows at a time"
		}
	case *pg.Node_ExecuteStmt:
		return false, "a prepared statement may give any number of rows: send the statement itself"
	}
	return false, ""
}

// isFewRows reports whether the source of an INSERT is a short list of values.
func isFewRows(s *pg.SelectStmt, maxRows int64) bool {
	return s == nil || len(s.ValuesLists) > 0 && int64(len(s.ValuesLists)) <= maxRows
}

// isBounded reports whether a query's own LIMIT is low enough.
func isBounded(s *pg.SelectStmt, maxRows int64) bool {
	n, ok := literalLimit(s)
	return ok && n <= maxRows && s.LimitOption != pg.LimitOption_LIMIT_OPTION_WITH_TIES
}

func limitQuery(s *pg.SelectStmt, maxRows int64) (changed bool, hint string) {
	ask := "write LIMIT " + strconv.FormatInt(maxRows, 10) + " or less, as a number"
	_, literal := literalLimit(s)
	switch {
	case isBounded(s, maxRows) || makesTable(s):
		return false, ""
	case s.LimitOption == pg.LimitOption_LIMIT_OPTION_WITH_TIES:
		return false, "WITH TIES may give any number of rows: " + ask
	case len(s.LockingClause) > 0:
		return false, "a limit would change which rows it locks: " + ask
	case s.LimitCount != nil && !literal && !s.LimitCount.GetAConst().GetIsnull():
		return false, "its LIMIT is computed: " + ask
	}
	s.LimitCount = &pg.Node{Node: &pg.Node_AConst{AConst: &pg.A_Const{Val: &pg.A_Const_Ival{Ival: &pg.Integer{Ival: int32(maxRows)}}}}}
	s.LimitOption = pg.LimitOption_LIMIT_OPTION_COUNT
	return true, ""
}

// makesTable reports whether the rows of a query go into a new table. INTO
// stands in the first of several queries that are put together.
func makesTable(s *pg.SelectStmt) bool {
	for ; s != nil; s = s.Larg {
		if s.IntoClause != nil {
			return true
		}
	}
	return false
}

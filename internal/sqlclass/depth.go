package sqlclass

import (
	pg "github.com/pganalyze/pg_query_go/v5"
	"github.com/pganalyze/pg_query_go/v5/parser"
	"google.golang.org/protobuf/encoding/protowire"
)

// maxDepth bounds the levels of a parse tree. The parser's own packing of the
// tree gives up soon after it, but only after it has recursed; half of the
// smallest stack that checkStack accepts is used at this depth.
const maxDepth = 2900

// checkDepth refuses a text whose tokens could build a tree deeper than
// maxDepth. It returns nil otherwise.
func checkDepth(text string) *Report {
	if mayNest(text) <= maxDepth {
		return nil
	}
	tokens, err := parser.ScanToProtobuf(text) // does not recurse
	if err != nil {
		return refusal(CodeUnparseable, hint(text))
	}
	if depthOf(tokens) > maxDepth {
		return refusal(CodeTooDeep, "")
	}
	return nil
}

// mayNest counts, quickly, more tokens than a text has that could add a level
// to an expression: words, operators and brackets, also those in literals.
func mayNest(text string) int {
	n, inWord := 0, false
	for i := range len(text) {
		c := text[i]
		word := isIdent(c)
		switch {
		case word && !inWord && !isDigit(c):
			n++
		case word, c == ' ', c == ',', c == '\n', c == '\'', c == '"', c == ';':
		default:
			n++
		}
		inWord = word
	}
	return n
}

// frame counts the levels within one pair of brackets.
type frame struct {
	chain int // of operators since the last separator
	sets  int // of set operations and joins, which commas do not end
}

// depthOf bounds the depth of the tree that the tokens could make: the sum
// over all open brackets of the tokens that can each add a level. Elements of
// lists and operands of AND and OR lie beside each other, not within.
func depthOf(scan []byte) int {
	open := make([]frame, 1, 64)
	depth, deepest := 0, 0
	for _, token := range tokensOf(scan) {
		top := &open[len(open)-1]
		switch token {
		case pg.Token_SQL_COMMENT, pg.Token_C_COMMENT, pg.Token_IDENT, pg.Token_UIDENT, pg.Token_SCONST, pg.Token_USCONST,
			pg.Token_ICONST, pg.Token_FCONST, pg.Token_BCONST, pg.Token_XCONST, pg.Token_PARAM:
			continue // no level by themselves
		case pg.Token_ASCII_40, pg.Token_ASCII_91, pg.Token_CASE: // ( [
			open = append(open, frame{chain: 1})
			depth++
		case pg.Token_ASCII_41, pg.Token_ASCII_93, pg.Token_END_P: // ) ]
			if len(open) > 1 {
				depth -= top.chain + top.sets
				open = open[:len(open)-1]
				open[len(open)-1].chain++ // what was in brackets may be an operand
				depth++
			}
		case pg.Token_ASCII_44, pg.Token_AND, pg.Token_OR, pg.Token_WHEN, pg.Token_THEN, pg.Token_ELSE: // ,
			depth -= top.chain
			top.chain = 0
		case pg.Token_ASCII_59: // ;
			depth -= top.chain + top.sets
			*top = frame{}
		case pg.Token_UNION, pg.Token_INTERSECT, pg.Token_EXCEPT, pg.Token_JOIN:
			top.sets++
			depth++
		default:
			top.chain++
			depth++
		}
		deepest = max(deepest, depth)
	}
	return deepest
}

// Field numbers of the scanner's result.
const (
	scanTokens = 2
	tokenKind  = 4
)

// tokensOf returns the kinds of the tokens of a packed scan result.
func tokensOf(scan []byte) []pg.Token {
	var kinds []pg.Token
	eachField(scan, func(num protowire.Number, _ uint64, token []byte) {
		if num != scanTokens {
			return
		}
		eachField(token, func(num protowire.Number, v uint64, _ []byte) {
			if num == tokenKind {
				kinds = append(kinds, pg.Token(v))
			}
		})
	})
	return kinds
}

// eachField calls f for the numbers and byte strings of a packed message.
func eachField(b []byte, f func(num protowire.Number, v uint64, bytes []byte)) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return
		}
		b = b[n:]
		switch typ {
		case protowire.VarintType:
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return
			}
			f(num, v, nil)
			b = b[n:]
		case protowire.BytesType:
			v, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return
			}
			f(num, 0, v)
			b = b[n:]
		default:
			return
		}
	}
}

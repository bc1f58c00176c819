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
		return unparseable(text)
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

// frame bounds the depth of what stands within one pair of brackets, or within
// one CASE: the sum of what can lie within each other, the greatest of what lies
// beside each other.
type frame struct {
	isCase  bool
	isQuery bool
	isLogic bool
	chain   int // of operators in the current element
	inner   int // depth of the deepest brackets in the current element: an operand of its chain
	beside  int // depth of the deepest element before
	sets    int // of set operations and joins, which commas do not end
	earlier int // depth of the deepest statement before
	between int // of the BETWEENs that wait for their AND
}

// Levels that all elements of a frame lie within.
const (
	bracketLevels = 1
	queryLevels   = 4 // the query, its column or relation, what makes it an operand
	logicLevels   = 2 // OR of ANDs, however many there are
)

func (f *frame) depth() int {
	around := bracketLevels
	if f.isQuery {
		around += queryLevels
	}
	if f.isLogic {
		around += logicLevels
	}
	return around + max(f.earlier, f.sets+max(f.beside, f.inner+f.chain))
}

// endElement begins a new element beside the one before.
func (f *frame) endElement() {
	f.beside = max(f.beside, f.inner+f.chain)
	f.inner, f.chain, f.between = 0, 0, 0
}

// endStatement begins a new statement beside the one before.
func (f *frame) endStatement() {
	f.endElement()
	f.earlier = max(f.earlier, f.sets+f.beside)
	f.beside, f.sets = 0, 0
}

// frames are the brackets that are open at a place, outermost first.
type frames []frame

func (o *frames) open(isCase bool) { *o = append(*o, frame{isCase: isCase}) }

// shut takes the innermost brackets for an operand of what is around them.
func (o *frames) shut() {
	last := len(*o) - 1
	shut := (*o)[last].depth()
	*o = (*o)[:last]
	around := &(*o)[last-1]
	around.inner = max(around.inner, shut)
	around.chain++
}

// depthOf bounds the depth of the tree that the tokens could make. Every token
// that can add a level counts. Elements of lists and operands of AND and OR lie
// beside each other; what is in brackets lies within all operators of the
// element that the brackets stand in.
func depthOf(scan []byte) int {
	open := make(frames, 1, 64)
	before := pg.Token_NUL
	for _, token := range tokensOf(scan) {
		if token == pg.Token_SQL_COMMENT || token == pg.Token_C_COMMENT {
			continue
		}
		open.add(token, before == pg.Token_ASCII_46 || before == pg.Token_AS)
		before = token
	}
	for len(open) > 1 {
		open.shut()
	}
	return open[0].depth()
}

// add counts one token. A keyword after a dot, or after AS, is a name.
func (o *frames) add(token pg.Token, isName bool) {
	top := &(*o)[len(*o)-1]
	switch token {
	case pg.Token_IDENT, pg.Token_UIDENT, pg.Token_SCONST, pg.Token_USCONST,
		pg.Token_ICONST, pg.Token_FCONST, pg.Token_BCONST, pg.Token_XCONST, pg.Token_PARAM: // no level by themselves
	case pg.Token_ASCII_40, pg.Token_ASCII_91: // ( [
		o.open(false)
	case pg.Token_ASCII_41, pg.Token_ASCII_93: // ) ]
		for len(*o) > 1 {
			wasCase := (*o)[len(*o)-1].isCase // one that has no END is a name
			if o.shut(); !wasCase {
				break
			}
		}
	case pg.Token_ASCII_44: // ,
		top.endElement()
	case pg.Token_ASCII_59: // ;
		top.endStatement()
	case pg.Token_UNION, pg.Token_INTERSECT, pg.Token_EXCEPT, pg.Token_JOIN:
		top.sets++
	case pg.Token_CASE, pg.Token_END_P, pg.Token_WHEN, pg.Token_THEN, pg.Token_ELSE, pg.Token_AND, pg.Token_OR:
		if !isName {
			o.keyword(token)
		}
	case pg.Token_SELECT, pg.Token_VALUES, pg.Token_WITH, pg.Token_INSERT, pg.Token_UPDATE, pg.Token_DELETE_P, pg.Token_MERGE:
		top.isQuery = true
		top.chain++
	case pg.Token_BETWEEN:
		top.between++
		top.chain++
	default:
		top.chain++
	}
}

// keyword counts a keyword that divides what is beside each other.
func (o *frames) keyword(token pg.Token) {
	top := &(*o)[len(*o)-1]
	switch token {
	case pg.Token_CASE:
		o.open(true)
	case pg.Token_END_P:
		if top.isCase {
			o.shut()
		}
	case pg.Token_AND:
		if top.between > 0 { // the AND of a BETWEEN, which may be an operand
			top.between--
			top.chain++
			return
		}
		top.isLogic = true
		top.endElement()
	case pg.Token_OR:
		top.isLogic = true
		top.endElement()
	default: // WHEN, THEN, ELSE
		top.endElement()
	}
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

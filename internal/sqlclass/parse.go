package sqlclass

import (
	"errors"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
	"github.com/pganalyze/pg_query_go/v5/parser"
)

// parse returns the parse tree, or the report that says why there is none.
func parse(text string) (*pg.ParseResult, *Report) {
	tree, err := pg.Parse(text)
	if err == nil {
		return tree, nil
	}
	// Every error is a refusal; only its code depends on what was said.
	if e, ok := errors.AsType[*parser.Error](err); ok {
		if strings.HasPrefix(e.Message, "memory exhausted") {
			return nil, refusal(CodeTooDeep, "")
		}
	} else if strings.Contains(err.Error(), "recursion depth") {
		return nil, refusal(CodeTooDeep, "")
	}
	return nil, unparseable(text)
}

// unparseable is the refusal of a text that is not of the grammar.
func unparseable(text string) *Report {
	h := hint(text)
	switch h {
	case hintPsql:
		return refusal(CodePsql, h)
	case hintPlaceholder:
		return refusal(CodePlaceholder, h)
	case hintDialect, hintBacktick:
		return refusal(CodeDialect, h)
	default:
		return refusal(CodeUnparseable, h)
	}
}

// What writers of SQL that PostgreSQL does not parse most often have in mind.
const (
	hintPsql        = "it looks like a psql command: send SQL statements only"
	hintPlaceholder = "it looks like a template: send it with the values in place, or with $1, $2 for parameters"
	hintBacktick    = "backquotes are not PostgreSQL: quote identifiers with double quotes"
	hintTransaction = "send the statements without BEGIN, COMMIT and the like: whoever runs them takes care of the transaction"
	hintDialect     = "it looks like another database's SQL: write it for PostgreSQL 16"
	hintInvisible   = "it holds characters outside ASCII where PostgreSQL expects spaces or keywords: write them in ASCII"
	hintVersion     = "the grammar is that of PostgreSQL 16"
)

// hint guesses what is wrong with a text that does not parse. It looks at the
// text with the literals and comments taken out.
func hint(text string) string {
	code := withoutLiterals(text)
	switch {
	case strings.Contains(code, `\`):
		return hintPsql
	case strings.Contains(code, "`"):
		return hintBacktick
	case strings.Contains(code, "{{"), strings.Contains(code, "${"), strings.Contains(code, "%s"), strings.Contains(code, "%("),
		strings.Contains(code, "?"), hasNamedPlaceholder(code):
		return hintPlaceholder
	case strings.ContainsFunc(code, func(r rune) bool { return r >= 0x80 }):
		return hintInvisible
	case isOtherDialect(code):
		return hintDialect
	default:
		return hintVersion
	}
}

// withoutLiterals returns the text without its literals and comments.
func withoutLiterals(text string) string {
	var b strings.Builder
	l := lexer{text: text}
	for from := 0; l.next(); from = l.at {
		if l.at-from == 1 {
			b.WriteByte(text[from])
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// hasNamedPlaceholder reports whether a name stands right after a single colon.
func hasNamedPlaceholder(code string) bool {
	for i := 1; i+1 < len(code); i++ {
		if code[i] == ':' && code[i-1] != ':' && isIdent(code[i+1]) && !isDigit(code[i+1]) {
			return true
		}
	}
	return false
}

// isOtherDialect reports whether the first word is a verb that PostgreSQL
// lacks and others have.
func isOtherDialect(code string) bool {
	words := strings.Fields(strings.ToUpper(code))
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "USE", "DESCRIBE", "DESC", "REPLACE", "PRAGMA", "ATTACH", "DETACH", "UNLOAD", "SHOW", "GO", "EXEC", "OPTIMIZE", "FLUSH", "KILL", "RENAME", "LOAD":
		return true
	}
	for _, w := range words {
		switch w {
		case "TOP", "OUTFILE", "DUMPFILE", "SQL_CALC_FOUND_ROWS", "WAITFOR", "OPENROWSET(BULK", "QUALIFY":
			return true
		}
	}
	return false
}

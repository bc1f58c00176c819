package sqltext

import (
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
)

// rowsFollow reports whether rows with secrets follow the statement.
func (q *sqlScanner) rowsFollow() bool { return q.copied && q.stdin && q.columns != (lex.Columns{}) }

// rows takes out the columns of the rows that follow COPY … FROM STDIN, which
// begin at i. It returns where they end.
func (q *sqlScanner) rows(s string, i, base int) int {
	comma := q.comma
	if comma == 0 {
		comma = '\t'
	}
	for i < len(s) {
		end := lex.LineEnd(s, i)
		if strings.HasPrefix(s[i:end], `\.`) {
			return end
		}
		for column, at := 0, i; at <= end && at < len(s); column++ {
			stop := at
			if comma != '\t' && s[at] == '"' {
				if _, _, after, ok := lex.Literal(s[:end], at); ok {
					stop = after
				}
			}
			for stop < end && s[stop] != comma {
				stop++
			}
			if v := strings.TrimRight(s[at:stop], "\r"); q.columns.Has(column) && v != `\N` {
				q.take(v, lex.Span{Start: base + at, End: base + at + len(v), How: "sql"})
			}
			at = stop + 1
		}
		i = end + 1
	}
	return len(s)
}

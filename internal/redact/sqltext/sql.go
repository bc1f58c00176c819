package sqltext

import (
	"strings"
	"unicode/utf8"

	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
	"github.com/hookpolicy/hookpolicy/internal/redact/names"
	"github.com/hookpolicy/hookpolicy/internal/redact/trigger"
)

// maxSQLDepth bounds statements within literals of statements.
const maxSQLDepth = 6

// verbs are what makes a text worth reading as SQL.
var verbs = trigger.New(strings.Fields(`select insert update delete values create alter identified execute exec copy merge where grant options crypt( declare
	set call returning`))

// rowsFollow finds statements whose literals have no quotes.
var rowsFollow = trigger.New([]string{"stdin", "values"})

// HasVerb reports whether a text has a word that statements begin with.
func HasVerb(s string) bool { return verbs.In(s) }

// LooksLikeSQL reports whether a text may hold literals of SQL.
func LooksLikeSQL(s string) bool {
	return (strings.ContainsAny(s, "'\"$") || rowsFollow.In(s)) && verbs.In(s)
}

// Spans finds literals in SQL that are secrets by where they stand. It reads
// tokens, no grammar: what it is given need not parse.
func Spans(d *names.Dictionary, s string) []lex.Span {
	q := sqlScanner{d: d}
	q.scan(s, 0, 0)
	return q.spans
}

// Parameters returns which of a statement's parameters ($1, ?, %s) are
// secret.
func Parameters(d *names.Dictionary, statement string) (lex.Columns, int) {
	q := sqlScanner{d: d}
	q.scan(statement, 0, 0)
	return q.bound, q.parameter
}

// A sqlScanner knows, at each literal, what came before it in its statement.
type sqlScanner struct {
	d     *names.Dictionary
	spans []lex.Span

	parameter int         // $n, ? and %s so far; the highest n
	bound     lex.Columns // those that are secret, from 0

	statement
}

// A statement is what has been read of one.
type statement struct {
	secret   bool        // a literal here belongs to the name of a secret
	between  bool        // "token BETWEEN '…' AND" goes on
	awaits   bool        // … after the next "=": SET PASSWORD FOR x = '…'
	ident    string      // the last identifier, as sqlWord has it
	named    bool        // the last token is the name of a secret
	keyword  string      // the last word, if only blanks came since
	op       byte        // the last sign, if only blanks came since
	last     lex.Span    // the last literal, if only "=" or AS came since
	columns  lex.Columns // of the list in parentheses that was read last
	values   bool        // VALUES was read
	copied   bool        // COPY was read
	stdin    bool        // rows follow the statement
	execute  bool        // EXECUTE was read
	comma    byte        // between the values of rows that follow; 0 is a tab
	strict   lex.Columns // of those in columns, whose numbers are secrets too
	told     bool        // a literal named a secret, for a column that holds names
	pending  []lex.Span  // literals of columns that hold values
	frames   []frame     // the parentheses that are open, outermost first
	tooDeep  int         // parentheses that are open beyond maxFrames
	bottom   frame       // outside of any parentheses
	lastName bool        // the last identifier is a column that holds names
}

const maxFrames = 64

// A frame is what is known of one pair of parentheses.
type frame struct {
	arg      int         // commas so far
	args     uint8       // arguments that are secret, of a function
	all      bool        // every literal is secret: token IN (…)
	byColumn bool        // literals stand for the columns of the statement
	pairs    bool        // literals may be names and values in turn
	telling  bool        // the last literal names a secret
	format   bool        // the arguments of format()
	names    lex.Columns // arguments that are names of secrets
	strict   lex.Columns // those of names whose numbers are secrets too
}

func (q *sqlScanner) top() *frame {
	if n := len(q.frames); n > 0 {
		return &q.frames[n-1]
	}
	return &q.bottom
}

func (q *sqlScanner) scan(s string, base, depth int) {
	q.statement = statement{}
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case lex.IsSpace(c):
			i++
		case (c == '-' || c == '/') && commentEnd(s, i) > i:
			i = commentEnd(s, i)
		case isPlaceholderOfSQL(s, i):
			i = q.placeholder(s, i)
		case c == '$' && !q.secretHere():
			i = dollarTagEnd(s, i) // the body is read like what surrounds it
		case c == '\'' || c == '$' || isPrefixOfLiteral(s, i):
			i = q.literal(s, i, base, depth)
		case lex.Word.Has(c) || c == '"' || c == '`' || c == '@' || c >= utf8.RuneSelf:
			i = q.word(s, i, base)
		case c == ';' && q.rowsFollow():
			i = q.rows(s, i+1, base)
			q.sign(c)
		default:
			q.sign(c)
			i++
		}
	}
}

// commentEnd returns where the comment at i ends; i, if there is none.
func commentEnd(s string, i int) int {
	switch {
	case strings.HasPrefix(s[i:], "--"):
		return lex.LineEnd(s, i)
	case strings.HasPrefix(s[i:], "/*"):
		return min(len(s), lex.IndexFrom(s, i+2, "*/")+2)
	}
	return i
}

func isPlaceholderOfSQL(s string, i int) bool {
	switch s[i] {
	case '?':
		return true
	case '%':
		return strings.HasPrefix(s[i:], "%s")
	case '$':
		return i+1 < len(s) && lex.IsDigit(s[i+1])
	}
	return false
}

// dollarTagEnd returns where the $tag$ at i ends.
func dollarTagEnd(s string, i int) int {
	if start, _, _, ok := lex.DollarQuoted(s[:min(len(s), i+80)], i); ok {
		return start
	}
	return i + 1
}

// isPrefixOfLiteral reports whether E'…', N'…', X'…', B'…' or U&'…' begins.
func isPrefixOfLiteral(s string, i int) bool {
	if i > 0 && lex.Word.Has(s[i-1]) || strings.IndexByte("eEnNxXbBuU", s[i]) < 0 {
		return false
	}
	return strings.HasPrefix(s[i+1:], "'") || strings.HasPrefix(s[i+1:], "&'")
}

// literal judges the literal at i.
func (q *sqlScanner) literal(s string, i, base, depth int) int {
	start, stop, after, ok := lex.Literal(s, i)
	if !ok {
		return i + 1
	}
	f := q.top()
	content, sp := s[start:stop], lex.Span{Start: base + start, End: base + stop, How: "sql"}
	op := q.op
	if q.keyword == "delimiter" && len(content) == 1 {
		q.comma = content[0]
	}
	q.op, q.keyword = 0, ""
	if q.secretHere() {
		f.telling = false
		q.take(content, sp)
		return after
	}
	f.telling = stop-start <= 64 && q.d.KindOf(content) != names.Plain
	if f.format && f.arg == 0 {
		f.args = formatArgs(q.d, content)
	}
	if q.beside(f, op, sp, content) {
		return after
	}
	q.last = sp
	if verbs.In(content) {
		q.nested(content, base+start, depth)
	}
	return after
}

// beside notes what a literal says of others, and reports whether another one
// has told of it: data->>'password' = '…', name = 'password' and value = '…'.
func (q *sqlScanner) beside(f *frame, op byte, sp lex.Span, content string) bool {
	switch {
	case f.telling && (op == '>' || op == '['):
		q.secret = true
	case f.telling && q.lastName:
		q.told = true
		q.spans = append(q.spans, q.pending...)
		q.pending = nil
	case names.IsValueField(q.ident) && q.told:
		q.take(content, sp)
		return true
	case names.IsValueField(q.ident) && content != "" && content != lex.Mark && len(q.pending) < 16:
		q.pending = append(q.pending, sp)
	}
	return false
}

// secretHere reports whether a literal at this place is a secret.
func (q *sqlScanner) secretHere() bool {
	f := q.top()
	return q.secret || f.all || q.secretArg(f) || f.pairs && f.telling
}

// secretArg reports whether the position in a frame is that of a secret.
func (q *sqlScanner) secretArg(f *frame) bool {
	return f.args&(1<<min(f.arg, 7)) != 0 || f.byColumn && q.columns.Has(f.arg)
}

// formatArgs returns which arguments of format() stand after the name of a
// secret in its template: PASSWORD %L.
func formatArgs(d *names.Dictionary, template string) (args uint8) {
	n := 0
	for i := 0; i+1 < len(template) && n < 7; i++ {
		if template[i] != '%' {
			continue
		}
		if template[i+1] == '%' {
			i++
			continue
		}
		n++
		if before := strings.FieldsFunc(template[max(0, i-64):i], notInName); len(before) > 0 && d.KindOf(before[len(before)-1]) != names.Plain {
			args |= 1 << n
		}
	}
	return args
}

func notInName(r rune) bool { return r < 0x80 && !lex.Word.Has(byte(r)) }

// placeholder notes whether the parameter at i stands where a secret does.
func (q *sqlScanner) placeholder(s string, i int) int {
	n, end := q.parameter, i+1
	if s[i] == '$' {
		n = 0
		for ; end < len(s) && lex.IsDigit(s[end]) && n < 1000; end++ {
			n = n*10 + int(s[end]-'0')
		}
		n--
	}
	f := q.top()
	if n >= 0 && (q.secret || f.all || q.secretArg(f)) {
		q.bound.Add(n)
	}
	q.parameter = max(q.parameter, n+1)
	q.op, q.keyword = 0, ""
	return end
}

// nested reads a literal that may hold statements.
func (q *sqlScanner) nested(content string, base, depth int) {
	if depth == maxSQLDepth {
		q.spans = append(q.spans, lex.Span{Start: base, End: base + len(content), How: "sql"})
		return
	}
	outer := q.statement
	q.scan(content, base, depth+1)
	q.statement = outer
}

func (q *sqlScanner) take(content string, sp lex.Span) {
	if content != "" && content != lex.Mark && (len(content) > len(lex.Mark)*2 || strings.Trim(content, "*") != "") {
		q.spans = append(q.spans, sp)
	}
}

// sign judges a character that is part of no word and no literal.
func (q *sqlScanner) sign(c byte) {
	switch c {
	case ';':
		q.statement = statement{frames: q.frames[:0]}
	case '(':
		q.open()
	case ')':
		q.close()
	case ',':
		f := q.top()
		f.arg++
		q.secret, q.last, q.ident, q.lastName = false, lex.Span{}, "", false
	case '=':
		if q.awaits {
			q.awaits, q.secret = false, true
		}
	}
	q.op, q.keyword, q.named = c, "", false
	if c != '=' {
		q.last = lex.Span{}
	}
}

func (q *sqlScanner) open() {
	if len(q.frames) == maxFrames {
		q.tooDeep++
		return
	}
	var f frame
	outer := q.top()
	switch {
	case q.keyword != "" && functions[q.keyword] != 0:
		f.args = functions[q.keyword]
		q.secret = false
	case q.keyword != "" && builders[q.keyword]:
		f.pairs = true
	case q.execute && q.bound != lex.Columns{}:
		q.columns, f.byColumn = q.bound, true
	case q.values && len(q.frames) == 0:
		f.byColumn, f.pairs = true, true
	case q.columns != lex.Columns{} && (q.op == '=' || q.keyword == "row" || q.keyword == "in"):
		f.byColumn, q.secret = true, false
	}
	if q.named {
		q.secret = false // api_keys (name, …): a table
	}
	f.all = outer.all || q.secret && f.args == 0
	if q.secretArg(outer) && f.args == 0 && q.keyword != "gen_salt" {
		f.all = true
	}
	f.format = q.keyword == "format"
	q.frames = append(q.frames, f)
	q.keyword, q.ident = "", ""
}

func (q *sqlScanner) close() {
	if q.tooDeep > 0 {
		q.tooDeep--
		return
	}
	n := len(q.frames)
	if n == 0 {
		return
	}
	f := q.frames[n-1]
	q.frames = q.frames[:n-1]
	if f.names != (lex.Columns{}) && !f.byColumn {
		q.columns, q.strict = f.names, f.strict
	}
}

package sqlclass

import "sync"

// A Class says how much a statement or a function can do. The zero value is
// no class; the others are ordered from harmless to refused.
type Class uint8

// The classes.
const (
	Read        Class = iota + 1 // changes nothing
	Write                        // adds
	Destructive                  // changes or removes what is there
	Admin                        // acts on the server, on rights or on other sessions
	Forbidden                    // never runs, or cannot be judged
)

// String returns the class's name in policies and records.
func (c Class) String() string {
	switch c {
	case Read:
		return "read"
	case Write:
		return "write"
	case Destructive:
		return "destructive"
	case Admin:
		return "admin"
	default:
		return "forbidden"
	}
}

// ClassOf is the inverse of String. A name that it does not know is Forbidden.
func ClassOf(name string) Class {
	for c := Read; c < Forbidden; c++ {
		if c.String() == name {
			return c
		}
	}
	return Forbidden
}

// Codes of refusals. They are stable.
const (
	CodeEmpty          = "sql.empty"           // no statement
	CodeNUL            = "sql.nul"             // a NUL would hide what follows it
	CodeTooLarge       = "sql.too_large"       // more bytes than allowed
	CodeCommentNesting = "sql.comment_nesting" // comments within comments, too many
	CodeTooDeep        = "sql.too_deep"        // expressions within expressions, too many
	CodeOperators      = "sql.operators"       // comments or operators in a row, too many
	CodeUnparseable    = "sql.unparseable"     // no text of the grammar
	CodePsql           = "sql.psql_command"    // a command of psql, not of SQL
	CodePlaceholder    = "sql.placeholder"     // :name, ?, %s, {{name}}: a template that nobody filled in
	CodeDialect        = "sql.dialect"         // the SQL of another database
	CodeTransaction    = "sql.transaction"     // BEGIN, COMMIT, ROLLBACK and the like
	CodeLimit          = "sql.limit"           // rows that cannot be limited, see LimitRows
	CodeUnclassified   = "sql.unclassified"    // a statement node without a class
	CodeForbidden      = "sql.forbidden"       // a statement that never runs
	CodeFunction       = "sql.forbidden_function"
)

// A Report is what one text would do. It is immutable: do not change it.
type Report struct {
	// Code is set when the text as a whole was refused before it could be
	// read statement by statement; Class is Forbidden then, and only Hint is
	// set besides.
	Code string
	// Hint tells the writer of an unparseable text what may be wrong. It
	// quotes nothing.
	Hint string
	// Class is that of the worst finding. Functions that no catalogue names
	// do not count: see Unknown.
	Class Class
	// Unknown reports whether a function is called that no catalogue names.
	Unknown bool
	// Statements are the top-level statements in their order, at most
	// MaxFacts; Count is the number of all.
	Statements []Statement
	Count      int
	// Findings are what the text holds, each once: at least one of each node
	// and class, in the order of the text.
	Findings []Finding
	// Tables are the relations named, each once for each access, and Functions
	// the functions called, each once; at most MaxNames of either. MoreNames
	// says that there are more.
	Tables    []Table
	Functions []Function
	MoreNames bool
	// Hidden says, for people, what may reach relations that the text does not
	// name. What views, triggers and functions do is never named.
	Hidden []string

	factsOnce sync.Once
	facts     map[string]any // see Facts
}

// Bounds of a report.
const (
	MaxFacts = 64  // of each list in a record, and of sentences
	MaxNames = 256 // of tables, and of functions

	maxSentence = 512 // bytes
)

// A Statement is one top-level statement.
type Statement struct {
	Node  string // the grammar's name of it, such as "SelectStmt"
	Class Class  // of the worst that it holds
	// Limit says how many rows a query may give: a number, "none", or
	// "computed"; empty for other statements.
	Limit string
}

// The limits of a query that are no number.
const (
	LimitNone     = "none"
	LimitComputed = "computed"
)

// A Finding is one thing that a text would do.
type Finding struct {
	// Node is the grammar's name of what was found: of a statement, "FuncCall"
	// for functions, "A_Expr" for operators, "RangeVar" for relations.
	Node  string
	Class Class // 0 if Unknown
	// Unknown: a function of no catalogue. The policy decides.
	Unknown bool
	// Code is set when Class is Forbidden.
	Code string
	// Hint tells the writer how to say it better. It quotes nothing.
	Hint string
	// Text is one sentence for people, of names and keywords only; empty for
	// a statement that only reads.
	Text string
	// Where says what condition an UPDATE or DELETE has; empty for others.
	Where Where
	// AllRows: every row of a table is reached, as far as the text shows.
	AllRows bool
}

// Where says what condition a statement has.
type Where string

// The conditions.
const (
	WhereMissing    Where = "missing"
	WhereAlwaysTrue Where = "always true"
	WhereConstant   Where = "names no column" // all rows or none
	WherePresent    Where = "present"
)

// A Table is a relation that a text names.
type Table struct {
	Schema string // empty if the text has none
	Name   string
	Write  bool // it is changed, not only read
}

// String writes the name for people.
func (t Table) String() string { return ident(t.Schema, t.Name) }

// A Function is one that a text calls.
type Function struct {
	Schema string // empty if the text has none, or the server's own
	Name   string
	Effect string // what it does, in the catalogue's word, "unknown" if it is not there
	Class  Class  // 0 if it is not in the catalogue
}

// String writes the name for people.
func (f Function) String() string { return ident(f.Schema, f.Name) }

func refusal(code, hint string) *Report {
	return &Report{Code: code, Hint: hint, Class: Forbidden}
}

// size is roughly what the report holds in memory, in bytes.
func (r *Report) size() int {
	n := 200 + 40*len(r.Statements) + 48*len(r.Tables) + 64*len(r.Functions) + len(r.Hint)
	for i := range r.Findings {
		n += 100 + len(r.Findings[i].Text)
	}
	return n
}

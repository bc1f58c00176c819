package sqlclass

import (
	"strconv"
	"strings"
	"unicode"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// sentence says for people what a statement does: its verb and what it acts on.
func sentence(node string, rv *pg.RangeVar) string {
	if rv == nil {
		return verb(node)
	}
	switch node {
	case "CreateStmt", "CreateSeqStmt", "AlterSeqStmt", "CreateForeignTableStmt", "RefreshMatViewStmt":
		return verb(node) + " " + relation(rv) // the relation is the object itself
	}
	return verb(node) + " on " + relation(rv)
}

// verb turns the grammar's name of a statement into words: "AlterRoleStmt"
// into "ALTER ROLE".
func verb(node string) string { //nolint:gocyclo // a table
	switch node {
	case "CreateStmt":
		return "CREATE TABLE"
	case "IndexStmt":
		return "CREATE INDEX"
	case "ViewStmt":
		return "CREATE VIEW"
	case "RuleStmt":
		return "CREATE RULE"
	case "DefineStmt":
		return "CREATE of an aggregate, operator, type, collation or text search object"
	case "CreatedbStmt":
		return "CREATE DATABASE"
	case "DropdbStmt":
		return "DROP DATABASE"
	case "CreateTrigStmt":
		return "CREATE TRIGGER"
	case "CreateSeqStmt":
		return "CREATE SEQUENCE"
	case "AlterSeqStmt":
		return "ALTER SEQUENCE"
	case "VariableSetStmt":
		return "SET of a setting"
	case "RefreshMatViewStmt":
		return "REFRESH MATERIALIZED VIEW"
	case "ReassignOwnedStmt":
		return "REASSIGN OWNED"
	case "SecLabelStmt":
		return "SECURITY LABEL"
	case "TransactionStmt":
		return "transaction control"
	case "CheckPointStmt":
		return "CHECKPOINT"
	case "AlterFdwStmt", "CreateFdwStmt":
		return strings.ToUpper(node[:len(node)-len("FdwStmt")]) + " FOREIGN DATA WRAPPER"
	case "AlterOwnerStmt":
		return "change of an owner"
	case "AlterObjectSchemaStmt":
		return "move to another schema"
	case "AlterObjectDependsStmt":
		return "ALTER of a dependency on an extension"
	case "ExecuteStmt":
		return "EXECUTE of a prepared statement, which cannot be seen"
	case "CallStmt":
		return "CALL of a procedure, whose effects cannot be seen"
	case "DoStmt":
		return "DO of a block of code, which cannot be seen"
	}
	return strings.ToUpper(words(strings.TrimSuffix(node, "Stmt")))
}

// words puts spaces before the capitals of a name.
func words(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// relation writes a relation's name for people.
func relation(rv *pg.RangeVar) string { return ident(rv.Schemaname, rv.Relname) }

// ident writes a name for people so that they see what is there: a plain name
// as it is, any other in quotes, and one with letters outside ASCII, which may
// look like others, with their code points besides.
func ident(schema, name string) string {
	if schema == "" {
		return show(name)
	}
	return show(schema) + "." + show(name)
}

func show(name string) string {
	plain, letters := true, true
	for i, r := range name {
		if !(r == '_' || r >= 'a' && r <= 'z' || i > 0 && (r >= '0' && r <= '9' || r == '$')) {
			plain = false
		}
		letters = letters && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == ' ' || r == '-')
	}
	if plain {
		return name
	}
	ascii := strconv.QuoteToASCII(name)
	if letters && ascii != `"`+name+`"` {
		return `"` + name + `" (` + strings.Trim(ascii, `"`) + `)`
	}
	return ascii
}

// names writes a list of names, each a node that holds a string, a list of
// strings, a type or a function.
func names(nodes []*pg.Node) string {
	shown := make([]string, 0, len(nodes))
	for _, n := range nodes {
		if s := nameOf(n); s != "" {
			shown = append(shown, s)
		}
		if len(shown) == maxNames && len(nodes) > maxNames {
			return strings.Join(shown, ", ") + " and " + strconv.Itoa(len(nodes)-maxNames) + " more"
		}
	}
	return strings.Join(shown, ", ")
}

// clip cuts a sentence that is too long for people.
func clip(s string) string {
	if len(s) <= maxSentence {
		return s
	}
	return strings.ToValidUTF8(s[:maxSentence], "") + "…"
}

// maxNames is how many names one sentence lists.
const maxNames = 20

func nameOf(n *pg.Node) string {
	switch {
	case n.GetString_() != nil:
		return show(str(n))
	case n.GetRangeVar() != nil:
		return relation(n.GetRangeVar())
	case n.GetTypeName() != nil:
		return dotted(n.GetTypeName().Names)
	case n.GetObjectWithArgs() != nil:
		return dotted(n.GetObjectWithArgs().Objname)
	case n.GetRoleSpec() != nil:
		return show(n.GetRoleSpec().Rolename)
	case n.GetList() != nil:
		return dotted(n.GetList().Items)
	default:
		return ""
	}
}

func dotted(parts []*pg.Node) string {
	shown := make([]string, 0, len(parts))
	for _, p := range parts {
		if s := nameOf(p); s != "" {
			shown = append(shown, s)
		}
	}
	return strings.Join(shown, ".")
}

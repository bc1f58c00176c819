package sqlclass

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// createFunctionStmt refuses code that runs outside the server's sandbox, with
// its owner's rights, or that names what never runs.
func createFunctionStmt(w *walker, s *pg.CreateFunctionStmt, v *verdict) {
	kind := "FUNCTION "
	if s.IsProcedure {
		kind = "PROCEDURE "
	}
	v.text = "CREATE " + kind + dotted(s.Funcname)
	if s.Replace {
		v.text = "CREATE OR REPLACE " + kind + dotted(s.Funcname)
	}
	if schema, _ := qualified(s.Funcname); schema == "pg_catalog" {
		v.class = Forbidden
		v.text += ", among the server's own"
	}
	for _, n := range s.Options {
		o := n.GetDefElem()
		switch o.GetDefname() {
		case "language":
			if !isSandboxed(str(o.Arg)) {
				v.class = Forbidden
				v.text += ", in a language that is not sandboxed"
			}
		case "security":
			if o.Arg.GetBoolean().GetBoolval() {
				v.class = Forbidden
				v.text += ", with its owner's rights"
			}
		case "as":
			for _, body := range o.Arg.GetList().GetItems() {
				if w.namesForbidden(str(body)) {
					v.class = Forbidden
					v.text += ", whose body names what never runs"
				}
			}
		case "support":
			v.class = Forbidden
			v.text += ", with a support function"
		}
	}
}

// isSandboxed reports whether a language keeps its functions within the
// database.
func isSandboxed(language string) bool {
	switch strings.ToLower(language) {
	case "sql", "plpgsql", "plperl", "pltcl", "plv8", "pllua", "plrust", "pltrusted":
		return true
	default:
		return false
	}
}

func alterFunctionStmt(_ *walker, s *pg.AlterFunctionStmt, v *verdict) {
	v.text = "ALTER FUNCTION " + dotted(s.GetFunc().GetObjname())
	for _, n := range s.Actions {
		o := n.GetDefElem()
		if o.GetDefname() == "support" || o.GetDefname() == "security" && o.Arg.GetBoolean().GetBoolval() {
			v.class = Forbidden
			v.text += ", to run with its owner's rights or a support function"
		}
	}
}

// namesForbidden reports whether the text of a function, in whatever language,
// calls a function that never runs, or says what no statement may.
func (w *walker) namesForbidden(body string) bool {
	last, copies := "", false
	for at := 0; at < len(body); {
		if !isIdent(body[at]) {
			at++
			continue
		}
		from := at
		for at < len(body) && isIdent(body[at]) {
			at++
		}
		word := strings.ToLower(body[from:at])
		called := strings.HasPrefix(strings.TrimLeft(body[at:], " \t\r\n\""), "(")
		switch {
		case called && w.catalog.isForbidden("", word):
			return true
		case word == "program" && copies, word == "system" && last == "alter", word == "superuser", word == "bypassrls",
			(word == "schema" || word == "database") && last == "drop":
			return true
		}
		copies = copies || word == "copy"
		last = word
	}
	return false
}

// createExtensionStmt refuses extensions that reach files, programs or other
// machines.
func createExtensionStmt(_ *walker, s *pg.CreateExtensionStmt, v *verdict) {
	v.text = "CREATE EXTENSION " + show(s.Extname)
	name := strings.ToLower(s.Extname)
	switch name {
	case "dblink", "file_fdw", "adminpack", "pg_background", "pg_net", "http", "pgsql-http", "pgsql_http", "aws_s3", "aws_lambda", "aws_commons",
		"plsh", "plr", "pljava", "pltclu", "plperlu", "plpythonu", "plpython2u", "plpython3u", "pg_execute_server_program", "xml2",
		"multicorn", "oracle_fdw", "mysql_fdw", "tds_fdw", "sqlite_fdw", "log_fdw", "parquet_fdw", "program_fdw", "pg_cron", "pgagent", "lo_export":
		v.class = Forbidden
	}
	if strings.HasPrefix(name, "pl") && strings.HasSuffix(name, "u") {
		v.class = Forbidden
	}
}

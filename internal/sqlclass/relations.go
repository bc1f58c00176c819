package sqlclass

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// rangeVar notes a relation that is read, unless it is a name from a WITH
// clause or what a statement around it acts on.
func (w *walker) rangeVar(rv *pg.RangeVar) {
	if slices.Contains(w.targets, rv) {
		return
	}
	if holdsSecrets(rv.Schemaname, rv.Relname) && w.planned == 0 {
		w.note(Finding{Node: "RangeVar", Class: Admin, Text: "read of " + relation(rv) + ", which holds credentials or access rules"})
	}
	if rv.Schemaname == "" && slices.Contains(w.ctes, rv.Relname) {
		return
	}
	w.noteTable(rv, false)
}

// changes notes a relation that a statement acts on. The server's own
// catalogues and the tables of job schedulers are changed by no statement that
// adds or changes rows or definitions.
func (w *walker) changes(rv *pg.RangeVar, class Class) {
	w.targets = append(w.targets, rv)
	w.noteTable(rv, true)
	if class != Admin && w.planned == 0 && isSystem(rv.Schemaname, rv.Relname) {
		w.note(Finding{Node: "RangeVar", Class: Forbidden, Code: CodeForbidden, Text: "change of " + relation(rv) + ", which belongs to the server or to a scheduler"})
	}
}

func (w *walker) noteTable(rv *pg.RangeVar, write bool) {
	t := Table{Schema: rv.Schemaname, Name: rv.Relname, Write: write && w.planned == 0}
	if t.Schema == "" && rv.Relpersistence == "t" {
		t.Schema = "pg_temp"
	}
	switch {
	case slices.Contains(w.report.Tables, t):
	case len(w.report.Tables) == MaxNames:
		w.report.MoreNames = true
	default:
		w.report.Tables = append(w.report.Tables, t)
	}
}

// intoClause notes the table that SELECT INTO or CREATE TABLE AS makes.
func (w *walker) intoClause(c *pg.IntoClause) {
	if c.Rel == nil {
		return
	}
	w.changes(c.Rel, Write)
	if w.planned == 0 {
		w.note(Finding{Node: "IntoClause", Class: Write, Text: "new table " + relation(c.Rel)})
	}
}

// holdsSecrets reports whether a relation of the server, or of a well-known
// extension, holds passwords, connection strings or rules of access.
func holdsSecrets(schema, name string) bool {
	switch schema {
	case "", "pg_catalog":
		switch name {
		case "pg_authid", "pg_shadow", "pg_user_mapping", "pg_user_mappings", "pg_subscription",
			"pg_hba_file_rules", "pg_ident_file_mappings", "pg_file_settings", "pg_dist_authinfo", "pg_dist_poolinfo":
			return true
		}
	case "information_schema":
		return name == "user_mapping_options" || name == "_pg_user_mappings"
	case "vault", "pgsodium":
		return true
	}
	return false
}

// isSystem reports whether a relation belongs to the server or to a scheduler
// that runs what its tables hold. Unqualified names that start with pg_ are
// found in pg_catalog first.
func isSystem(schema, name string) bool {
	switch schema {
	case "":
		return strings.HasPrefix(name, "pg_")
	case "pg_catalog", "information_schema", "pg_toast", "cron", "pgagent", "vault", "pgsodium", "_timescaledb_config", "_timescaledb_catalog":
		return true
	default:
		return false
	}
}

// isSuperRole reports whether membership in a role gives the rights of a
// superuser, or the server's files, programs or all data.
func isSuperRole(name string) bool {
	switch name {
	case "postgres", "rds_superuser", "rds_replication", "rdsadmin", "rds_iam", "cloudsqlsuperuser", "cloudsqladmin", "alloydbsuperuser",
		"azure_superuser", "azure_pg_admin", "supabase_admin", "service_role", "neon_superuser", "yb_superuser", "enterprisedb", "superuser", "doadmin":
		return true
	default:
		return strings.HasPrefix(name, "pg_")
	}
}

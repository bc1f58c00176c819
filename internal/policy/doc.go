// Package policy turns policies into plans: what a tenant or the platform
// wrote becomes what package chain can run.
//
// Compile and CompileCluster are pure. They fill in every default, the same
// ones as the schema of the custom resources, and report every problem at once
// as field errors, in the words of the person who wrote the policy. A policy
// with a problem has no segment: nothing is ever half applied. They check all
// that the schema checks and that deciding depends on, and what a schema
// cannot: that argument paths and patterns can be read, that roots are clean,
// that nothing is declared twice, that no override loosens a Deny.
//
// Parse and Load read the same policies from YAML files. A file is held to the
// very schema, defaults and rules that the cluster enforces, for they are taken
// from the generated CustomResourceDefinitions. Reading is stricter than a
// cluster in two ways: a field that does not exist is an error, and so is a key
// that stands twice. A HookPolicy without a namespace is in "default".
//
// # Founding defaults
//
// A HookPolicy without spec.hooks has two hooks. "path-allowlist" keeps the
// paths of kb_add_file, kb_add_path and db_import_csv beneath /data/<namespace>;
// "destructive-sql" judges the text of db_query_sql. A hook of these kinds that
// lists no arguments judges those same tools. One that lists arguments of these
// tools and no data for one of them gets that tool's usual data declarations:
//
//	db_query_sql                              params any, read_only boolean, dry_run boolean, table identifier
//	kb_add_file, kb_add_path, db_import_csv   table identifier; paths is judged as path is
//
// Data that the policy gives for a tool replaces all of them for that tool.
package policy

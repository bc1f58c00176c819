package sqlclass

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// settings classes the server's settings by what changing one would do.
type settings struct {
	harmless map[string]bool
}

func newSettings() settings {
	s := settings{harmless: make(map[string]bool)}
	for name := range strings.FieldsSeq(harmlessSettings) {
		s.harmless[name] = true
	}
	return s
}

// harmlessSettings change how results look or how a query is planned, for one
// session.
const harmlessSettings = `
	application_name timezone datestyle intervalstyle bytea_output extra_float_digits xmlbinary xmloption
	lc_time lc_monetary lc_numeric client_min_messages default_text_search_config
	work_mem hash_mem_multiplier maintenance_work_mem temp_buffers effective_cache_size random_page_cost seq_page_cost
	cpu_tuple_cost cpu_index_tuple_cost cpu_operator_cost parallel_setup_cost parallel_tuple_cost
	min_parallel_table_scan_size min_parallel_index_scan_size max_parallel_workers_per_gather max_parallel_workers
	max_parallel_maintenance_workers parallel_leader_participation effective_io_concurrency
	from_collapse_limit join_collapse_limit default_statistics_target plan_cache_mode constraint_exclusion
	cursor_tuple_fraction recursive_worktable_factor jit jit_above_cost jit_inline_above_cost jit_optimize_above_cost
	geqo geqo_threshold geqo_effort geqo_pool_size geqo_generations geqo_selection_bias geqo_seed seed
	hnsw.ef_search hnsw.iterative_scan ivfflat.probes pg_trgm.similarity_threshold pg_trgm.word_similarity_threshold
	pg_trgm.strict_word_similarity_threshold
	enable_async_append enable_bitmapscan enable_gathermerge enable_hashagg enable_hashjoin enable_incremental_sort
	enable_indexonlyscan enable_indexscan enable_material enable_memoize enable_mergejoin enable_nestloop
	enable_parallel_append enable_parallel_hash enable_partition_pruning enable_partitionwise_aggregate
	enable_partitionwise_join enable_presorted_aggregate enable_seqscan enable_sort enable_tidscan enable_group_by_reordering
`

// class says what changing a setting would do: Read when it is harmless,
// Forbidden when it changes who the session is, how texts are read, what is
// protected or what is logged, Admin otherwise.
func (s settings) class(name string) Class {
	name = strings.ToLower(name)
	switch name {
	case "role", "session_authorization", "row_security", "session_replication_role", "standard_conforming_strings", "backslash_quote",
		"client_encoding", "allow_system_table_mods", "zero_damaged_pages", "ignore_checksum_failure", "ignore_system_indexes",
		"ignore_invalid_pages", "dynamic_library_path", "extension_control_path", "jit_provider", "is_superuser",
		"restrict_nonsystem_relation_kind":
		return Forbidden
	}
	switch {
	case s.harmless[name]:
		return Read
	case strings.Contains(name, "read_only"), strings.HasPrefix(name, "log_"), strings.HasPrefix(name, "pgaudit."),
		strings.HasSuffix(name, "_preload_libraries"), strings.HasSuffix(name, "_command"):
		return Forbidden
	default:
		return Admin
	}
}

func variableSetStmt(w *walker, s *pg.VariableSetStmt, v *verdict) {
	switch s.Kind {
	case pg.VariableSetKind_VAR_SET_MULTI:
		transactionModes(s, v)
	case pg.VariableSetKind_VAR_RESET_ALL:
		v.class, v.text = Admin, "RESET of all settings of the session"
	default:
		v.class = w.catalog.settings.class(s.Name)
		v.text = "SET of " + show(s.Name)
	}
}

// transactionModes classes SET TRANSACTION and SET SESSION CHARACTERISTICS.
// The modes of one transaction are harmless unless they lift a read-only one.
func transactionModes(s *pg.VariableSetStmt, v *verdict) {
	v.class, v.text = Admin, "SET of the modes of all later transactions"
	if s.Name == "TRANSACTION" {
		v.class, v.text = Read, "SET TRANSACTION"
	}
	if s.Name == "TRANSACTION SNAPSHOT" {
		v.text = "SET TRANSACTION SNAPSHOT"
	}
	for _, n := range s.Args {
		if o := n.GetDefElem(); o.GetDefname() == "transaction_read_only" && o.Arg.GetAConst().GetIval().GetIval() == 0 {
			v.class, v.text = Forbidden, "SET of transactions to READ WRITE"
		}
	}
}

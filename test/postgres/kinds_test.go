package postgres

import (
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/plan/stmtclass"
	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

// A kind is an example of a kind of statement that does more than read, which
// changes something that a snapshot shows.
type kind struct {
	before string // makes what the example needs, in the same session
	text   string
}

// kinds are the examples, by the grammar's name of the statement. Each works on
// objects of its own.
var kinds = map[string]kind{
	"AlterCollationStmt":           {`CREATE COLLATION k_coll (provider = icu, locale = 'de', version = '0')`, `ALTER COLLATION k_coll REFRESH VERSION`},
	"AlterDatabaseRefreshCollStmt": {`CREATE DATABASE k_refresh TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'de' COLLATION_VERSION '0'`, `ALTER DATABASE k_refresh REFRESH COLLATION VERSION`},
	"AlterDatabaseSetStmt":         {``, `ALTER DATABASE shop SET work_mem = '5MB'`},
	"AlterDatabaseStmt":            {``, `ALTER DATABASE postgres CONNECTION LIMIT 7`},
	"AlterDefaultPrivilegesStmt":   {``, `ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO reporting`},
	"AlterDomainStmt":              {`CREATE DOMAIN k_domain AS int`, `ALTER DOMAIN k_domain SET NOT NULL`},
	"AlterEnumStmt":                {`CREATE TYPE k_enum AS ENUM ('a')`, `ALTER TYPE k_enum ADD VALUE 'b'`},
	"AlterEventTrigStmt":           {`CREATE FUNCTION k_event() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'; CREATE EVENT TRIGGER k_alter_event ON ddl_command_end EXECUTE FUNCTION k_event()`, `ALTER EVENT TRIGGER k_alter_event DISABLE`},
	"AlterExtensionContentsStmt":   {`CREATE FUNCTION k_content() RETURNS int LANGUAGE sql AS 'SELECT 1'`, `ALTER EXTENSION plpgsql ADD FUNCTION k_content()`},
	"AlterExtensionStmt":           {`CREATE EXTENSION pg_stat_statements VERSION '1.4'`, `ALTER EXTENSION pg_stat_statements UPDATE`},
	"AlterFdwStmt":                 {`CREATE FOREIGN DATA WRAPPER k_fdw_alter`, `ALTER FOREIGN DATA WRAPPER k_fdw_alter OPTIONS (ADD debug 'true')`},
	"AlterForeignServerStmt":       {`CREATE FOREIGN DATA WRAPPER k_fdw_server; CREATE SERVER k_server_alter FOREIGN DATA WRAPPER k_fdw_server`, `ALTER SERVER k_server_alter VERSION '2'`},
	"AlterFunctionStmt":            {`CREATE FUNCTION k_alter() RETURNS int LANGUAGE sql AS 'SELECT 1'`, `ALTER FUNCTION k_alter() STRICT`},
	"AlterObjectDependsStmt":       {`CREATE FUNCTION k_depends() RETURNS int LANGUAGE sql AS 'SELECT 1'`, `ALTER FUNCTION k_depends() DEPENDS ON EXTENSION plpgsql`},
	"AlterObjectSchemaStmt":        {`CREATE TABLE k_schema (a int)`, `ALTER TABLE k_schema SET SCHEMA sales`},
	"AlterOpFamilyStmt":            {`CREATE OPERATOR FAMILY k_family USING btree`, `ALTER OPERATOR FAMILY k_family USING btree ADD OPERATOR 1 < (int4, int4), FUNCTION 1 btint4cmp(int4, int4)`},
	"AlterOperatorStmt":            {`CREATE OPERATOR ### (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq, RESTRICT = eqsel)`, `ALTER OPERATOR ### (int, int) SET (RESTRICT = NONE)`},
	"AlterOwnerStmt":               {`CREATE TABLE k_owner (a int); CREATE FUNCTION k_owned() RETURNS int LANGUAGE sql AS 'SELECT 1'`, `ALTER FUNCTION k_owned() OWNER TO app`},
	"AlterPolicyStmt":              {``, `ALTER POLICY by_region ON customers USING (true)`},
	"AlterPublicationStmt":         {`CREATE PUBLICATION k_pub_alter FOR TABLE orders`, `ALTER PUBLICATION k_pub_alter ADD TABLE docs`},
	"AlterRoleSetStmt":             {``, `ALTER ROLE app SET work_mem = '9MB'`},
	"AlterRoleStmt":                {``, `ALTER ROLE app CREATEDB`},
	"AlterSeqStmt":                 {`CREATE SEQUENCE k_seq_alter`, `ALTER SEQUENCE k_seq_alter RESTART WITH 100`},
	"AlterStatsStmt":               {`CREATE STATISTICS k_stats_alter ON a, b FROM t`, `ALTER STATISTICS k_stats_alter SET STATISTICS 7`},
	"AlterSubscriptionStmt":        {`CREATE SUBSCRIPTION k_sub_alter CONNECTION 'dbname=shop' PUBLICATION p WITH (connect = false)`, `ALTER SUBSCRIPTION k_sub_alter SET (binary = true)`},
	"AlterSystemStmt":              {``, `ALTER SYSTEM SET work_mem = '6MB'`},
	"AlterTSConfigurationStmt":     {`CREATE TEXT SEARCH CONFIGURATION k_config_alter (COPY = simple)`, `ALTER TEXT SEARCH CONFIGURATION k_config_alter DROP MAPPING FOR email`},
	"AlterTSDictionaryStmt":        {`CREATE TEXT SEARCH DICTIONARY k_dict (TEMPLATE = simple)`, `ALTER TEXT SEARCH DICTIONARY k_dict (accept = false)`},
	"AlterTableMoveAllStmt":        {`CREATE TABLESPACE k_move LOCATION ''; CREATE TABLESPACE k_move_from LOCATION ''; CREATE TABLE k_moved (a int) TABLESPACE k_move_from`, `ALTER TABLE ALL IN TABLESPACE k_move_from SET TABLESPACE k_move`},
	"AlterTableSpaceOptionsStmt":   {`CREATE TABLESPACE k_space_options LOCATION ''`, `ALTER TABLESPACE k_space_options SET (seq_page_cost = 2)`},
	"AlterTableStmt":               {`CREATE TABLE k_table_alter (a int)`, `ALTER TABLE k_table_alter ADD COLUMN b int`},
	"AlterTypeStmt":                {`CREATE TYPE k_base; CREATE FUNCTION k_in(cstring) RETURNS k_base IMMUTABLE STRICT LANGUAGE internal AS 'textin'; CREATE FUNCTION k_out(k_base) RETURNS cstring IMMUTABLE STRICT LANGUAGE internal AS 'textout'; CREATE TYPE k_base (INPUT = k_in, OUTPUT = k_out, LIKE = text)`, `ALTER TYPE k_base SET (STORAGE = external)`},
	"AlterUserMappingStmt":         {`CREATE FOREIGN DATA WRAPPER k_fdw_map; CREATE SERVER k_server_map FOREIGN DATA WRAPPER k_fdw_map; CREATE USER MAPPING FOR app SERVER k_server_map`, `ALTER USER MAPPING FOR app SERVER k_server_map OPTIONS (ADD a 'b')`},
	"CallStmt":                     {`CREATE PROCEDURE k_procedure() LANGUAGE sql AS 'INSERT INTO log VALUES (3)'`, `CALL k_procedure()`},
	"CheckPointStmt":               {`INSERT INTO log VALUES (4)`, `CHECKPOINT`},
	"ClusterStmt":                  {`CREATE TABLE k_cluster (a int PRIMARY KEY); INSERT INTO k_cluster VALUES (2), (1)`, `CLUSTER k_cluster USING k_cluster_pkey`},
	"CommentStmt":                  {``, `COMMENT ON TABLE orders IS 'what customers ordered'`},
	"CompositeTypeStmt":            {``, `CREATE TYPE k_pair AS (a int, b int)`},
	"CopyStmt":                     {``, `COPY (SELECT 1) TO PROGRAM 'cat > ../outside/copied'`},
	"CreateAmStmt":                 {``, `CREATE ACCESS METHOD k_am TYPE INDEX HANDLER bthandler`},
	"CreateCastStmt":               {`CREATE TYPE k_cast AS (a int)`, `CREATE CAST (k_cast AS text) WITH INOUT`},
	"CreateConversionStmt":         {``, `CREATE CONVERSION k_conversion FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8`},
	"CreateDomainStmt":             {``, `CREATE DOMAIN k_domain_new AS text`},
	"CreateEnumStmt":               {``, `CREATE TYPE k_enum_new AS ENUM ('a')`},
	"CreateEventTrigStmt":          {`CREATE FUNCTION k_event_new() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'`, `CREATE EVENT TRIGGER k_event_trigger ON ddl_command_end EXECUTE FUNCTION k_event_new()`},
	"CreateExtensionStmt":          {``, `CREATE EXTENSION dblink`},
	"CreateFdwStmt":                {``, `CREATE FOREIGN DATA WRAPPER k_fdw`},
	"CreateForeignServerStmt":      {`CREATE FOREIGN DATA WRAPPER k_fdw_for_server`, `CREATE SERVER k_server FOREIGN DATA WRAPPER k_fdw_for_server`},
	"CreateForeignTableStmt":       {`CREATE FOREIGN DATA WRAPPER k_fdw_for_table; CREATE SERVER k_server_for_table FOREIGN DATA WRAPPER k_fdw_for_table`, `CREATE FOREIGN TABLE k_foreign (a int) SERVER k_server_for_table`},
	"CreateFunctionStmt":           {``, `CREATE FUNCTION k_function() RETURNS int LANGUAGE sql AS 'SELECT 1'`},
	"CreateOpClassStmt":            {``, `CREATE OPERATOR CLASS k_class FOR TYPE int4 USING btree AS OPERATOR 1 <, FUNCTION 1 btint4cmp(int4, int4)`},
	"CreateOpFamilyStmt":           {``, `CREATE OPERATOR FAMILY k_family_new USING btree`},
	"CreatePLangStmt":              {``, `CREATE LANGUAGE k_language HANDLER plpgsql_call_handler`},
	"CreatePolicyStmt":             {``, `CREATE POLICY k_policy ON orders USING (true)`},
	"CreatePublicationStmt":        {``, `CREATE PUBLICATION k_publication FOR TABLE orders`},
	"CreateRangeStmt":              {``, `CREATE TYPE k_range AS RANGE (subtype = float8)`},
	"CreateRoleStmt":               {``, `CREATE ROLE k_role`},
	"CreateSchemaStmt":             {``, `CREATE SCHEMA k_schema_new`},
	"CreateSeqStmt":                {``, `CREATE SEQUENCE k_sequence`},
	"CreateStatsStmt":              {``, `CREATE STATISTICS k_statistics ON a, b FROM t`},
	"CreateStmt":                   {``, `CREATE TABLE k_table (a int)`},
	"CreateSubscriptionStmt":       {``, `CREATE SUBSCRIPTION k_subscription CONNECTION 'dbname=shop' PUBLICATION p WITH (connect = false)`},
	"CreateTableAsStmt":            {``, `CREATE TABLE k_table_as AS SELECT * FROM orders`},
	"CreateTableSpaceStmt":         {`SET allow_in_place_tablespaces = on`, `CREATE TABLESPACE k_space LOCATION ''`},
	"CreateTransformStmt":          {`CREATE TYPE k_transformed AS (a int)`, `CREATE TRANSFORM FOR int LANGUAGE sql (FROM SQL WITH FUNCTION prsd_lextype(internal))`},
	"CreateTrigStmt":               {``, `CREATE TRIGGER k_trigger AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION touch()`},
	"CreateUserMappingStmt":        {`CREATE FOREIGN DATA WRAPPER k_fdw_mapping; CREATE SERVER k_server_mapping FOREIGN DATA WRAPPER k_fdw_mapping`, `CREATE USER MAPPING FOR app SERVER k_server_mapping`},
	"CreatedbStmt":                 {``, `CREATE DATABASE k_database TEMPLATE template0`},
	"DefineStmt":                   {``, `CREATE AGGREGATE k_sum (int) (SFUNC = int4pl, STYPE = int)`},
	"DeleteStmt":                   {``, `DELETE FROM victim`},
	"DiscardStmt":                  {`PREPARE k_discarded AS SELECT 1`, `DISCARD ALL`},
	"DoStmt":                       {``, `DO $$ BEGIN INSERT INTO log VALUES (5); END $$`},
	"DropOwnedStmt":                {`CREATE ROLE k_drop_owned; CREATE TABLE k_to_drop (a int); ALTER TABLE k_to_drop OWNER TO k_drop_owned`, `DROP OWNED BY k_drop_owned`},
	"DropRoleStmt":                 {`CREATE ROLE k_drop_role`, `DROP ROLE k_drop_role`},
	"DropStmt":                     {`CREATE TABLE k_drop (a int)`, `DROP TABLE k_drop`},
	"DropSubscriptionStmt":         {`CREATE SUBSCRIPTION k_sub_drop CONNECTION 'dbname=shop' PUBLICATION p WITH (connect = false); ALTER SUBSCRIPTION k_sub_drop SET (slot_name = NONE)`, `DROP SUBSCRIPTION k_sub_drop`},
	"DropTableSpaceStmt":           {`CREATE TABLESPACE k_space_drop LOCATION ''`, `DROP TABLESPACE k_space_drop`},
	"DropUserMappingStmt":          {`CREATE FOREIGN DATA WRAPPER k_fdw_unmap; CREATE SERVER k_server_unmap FOREIGN DATA WRAPPER k_fdw_unmap; CREATE USER MAPPING FOR app SERVER k_server_unmap`, `DROP USER MAPPING FOR app SERVER k_server_unmap`},
	"DropdbStmt":                   {`CREATE DATABASE k_database_drop TEMPLATE template0`, `DROP DATABASE k_database_drop`},
	"ExecuteStmt":                  {`PREPARE k_execute AS INSERT INTO log VALUES (6)`, `EXECUTE k_execute`},
	"GrantRoleStmt":                {`CREATE ROLE k_grant_role`, `GRANT reporting TO k_grant_role`},
	"GrantStmt":                    {``, `GRANT DELETE ON orders TO reporting`},
	"ImportForeignSchemaStmt":      {`CREATE SCHEMA k_imported; CREATE EXTENSION postgres_fdw; CREATE SERVER k_loop FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$DIR', dbname 'shop'); CREATE USER MAPPING FOR super SERVER k_loop OPTIONS (user 'super')`, `IMPORT FOREIGN SCHEMA sales LIMIT TO (invoices) FROM SERVER k_loop INTO k_imported`},
	"IndexStmt":                    {``, `CREATE INDEX k_index ON orders (total)`},
	"InsertStmt":                   {``, `INSERT INTO log VALUES (7)`},
	"ListenStmt":                   {``, `LISTEN k_channel`},
	"LoadStmt":                     {``, `LOAD 'auto_explain'`},
	"LockStmt":                     {`BEGIN`, `LOCK TABLE orders IN EXCLUSIVE MODE`},
	"MergeStmt":                    {``, `MERGE INTO users u USING (VALUES (1)) v (id) ON u.id = v.id WHEN MATCHED THEN UPDATE SET age = 99`},
	"NotifyStmt":                   {``, `NOTIFY orders, 'look'`},
	"ReassignOwnedStmt":            {`CREATE ROLE k_reassign; CREATE TABLE k_reassigned (a int); ALTER TABLE k_reassigned OWNER TO k_reassign`, `REASSIGN OWNED BY k_reassign TO app`},
	"RefreshMatViewStmt":           {`UPDATE orders SET total = total + 1`, `REFRESH MATERIALIZED VIEW order_totals`},
	"ReindexStmt":                  {``, `REINDEX INDEX orders_status`},
	"RenameStmt":                   {`CREATE TABLE k_rename (a int)`, `ALTER TABLE k_rename RENAME TO k_renamed`},
	"RuleStmt":                     {`CREATE TABLE k_rule (a int)`, `CREATE RULE k_no_delete AS ON DELETE TO k_rule DO INSTEAD NOTHING`},
	"SelectStmt":                   {``, `SELECT * INTO k_into FROM orders`},
	"TransactionStmt":              {``, `BEGIN`},
	"TruncateStmt":                 {`CREATE TABLE k_truncate AS SELECT 1`, `TRUNCATE k_truncate`},
	"UnlistenStmt":                 {`LISTEN k_unlisten`, `UNLISTEN k_unlisten`},
	"UpdateStmt":                   {``, `UPDATE users SET age = 31`},
	"VacuumStmt":                   {`CREATE TABLE k_vacuum AS SELECT generate_series(1, 1000)`, `VACUUM k_vacuum`},
	"VariableSetStmt":              {``, `SET search_path = evil`},
	"ViewStmt":                     {``, `CREATE VIEW k_view AS SELECT 1`},
	"ExplainStmt":                  {``, `EXPLAIN ANALYZE INSERT INTO log VALUES (8)`},
}

// readers are the kinds that only read whatever they hold; a statement within
// them has its own class.
var readers = map[string]string{
	"ClosePortalStmt":   "ends a cursor of the session",
	"DeallocateStmt":    "forgets a prepared statement of the session",
	"DeclareCursorStmt": "the query within decides",
	"FetchStmt":         "reads",
	"PrepareStmt":       "runs nothing; the statement within decides",
	"VariableShowStmt":  "reads",
}

// unseen are the kinds for which no example can show a change.
var unseen = map[string]string{
	"ConstraintsSetStmt":  "only moves when a transaction's constraints are checked",
	"PLAssignStmt":        "stands in no text of SQL",
	"RawStmt":             "wraps every statement",
	"ReplicaIdentityStmt": "stands only within ALTER TABLE",
	"ReturnStmt":          "stands only within a function's body",
	"SecLabelStmt":        "needs a provider of labels, which no package of the server brings",
	"SetOperationStmt":    "is made after the parse",
}

func TestEveryKindOfStatementThatIsNotClassedReadChangesSomething(t *testing.T) {
	classifier, o := newClassifier(t), newObserver(t)
	for _, node := range stmtclass.Nodes() {
		k, ok := kinds[node]
		if !ok {
			if readers[node] == "" && unseen[node] == "" {
				t.Errorf("%s has no example", node)
			}
			continue
		}
		t.Run(node, func(t *testing.T) {
			report := classify(t, classifier, k.text)
			if len(report.Statements) != 1 || report.Statements[0].Node != node || report.Class <= sqlclass.Read {
				t.Fatalf("classed %s: %+v", report.Class, report.Statements)
			}
			session := connect(t)
			for before := range strings.SplitSeq(strings.ReplaceAll(k.before, "$DIR", cluster.dir), "; ") {
				if err := execute(t.Context(), session, before); err != nil {
					t.Fatalf("prepare: %v", err)
				}
			}
			var err error
			changed := o.observe(t, session, func() { err = execute(t.Context(), session, k.text) })
			if err != nil {
				t.Fatalf("the server refuses it: %v", err)
			}
			t.Logf("%s; it changes %s", report.Class, show(changed))
			if len(changed) == 0 || len(changed) == 1 && changed[0] == "next transaction" {
				t.Errorf("classed %s, but nothing changes", report.Class)
			}
		})
	}
}

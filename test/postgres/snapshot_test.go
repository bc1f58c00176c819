package postgres

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A snapshot is all that a statement could change and somebody else could see,
// by name: of each table (the system's catalogs among them, and so roles,
// grants, large objects and settings of roles) a digest of its rows with their
// places and transactions, of each sequence its state; the server's settings;
// sessions, advisory locks, replication; files in the data directory, and a
// directory beside it. Left out is what a server writes by itself: the log of
// transactions, its counters, and the contents of files that hold tables, which
// are compared as tables.
type snapshot map[string]string

// diff returns the names of what differs, sorted.
func (s snapshot) diff(later snapshot) []string {
	changed := make(map[string]bool)
	for name, value := range s {
		if got, ok := later[name]; !ok || got != value {
			changed[name] = true
		}
	}
	for name := range later {
		if _, ok := s[name]; !ok {
			changed[name] = true
		}
	}
	return slices.Sorted(maps.Keys(changed))
}

// An observer takes snapshots from a session of its own. Beside it stands
// another session, in a long statement: nobody may end either.
type observer struct {
	conn      *pgx.Conn
	bystander *pgx.Conn
	heard     int // notifications
}

func newObserver(t testing.TB) *observer {
	t.Helper()
	o := &observer{bystander: connect(t)}
	cfg := o.bystander.Config().Copy()
	cfg.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) { o.heard++ }
	var err error
	if o.conn, err = pgx.ConnectConfig(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeConn(o.conn) })
	if _, err := o.conn.Exec(t.Context(), "LISTEN orders; SET application_name = 'observer'; SET jit = off; SET statement_timeout = '30s'"); err != nil {
		t.Fatal(err)
	}
	if _, err := o.bystander.Exec(t.Context(), "SET application_name = 'bystander'"); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = o.bystander.Exec(t.Context(), "SELECT pg_sleep(36000)") }() // ends with the test
	return o
}

// observe compares what is there before and after. session is where the change
// would come from; what it shows to itself is part of the snapshots.
func (o *observer) observe(t testing.TB, session *pgx.Conn, change func()) []string {
	t.Helper()
	before := o.snapshot(t, session)
	change()
	return before.diff(o.snapshot(t, session))
}

func (o *observer) snapshot(t testing.TB, session *pgx.Conn) snapshot {
	t.Helper()
	s := make(snapshot)
	err := errors.Join(
		o.tables(t.Context(), s),
		o.facts(t.Context(), s),
		s.files(cluster.data),
		s.outside(cluster.sentinel),
	)
	if err != nil {
		t.Fatalf("take a snapshot: %v", err)
	}
	if session != nil {
		s.session(t.Context(), session)
	}
	s["notifications"] = fmt.Sprint(o.heard)
	return s
}

// relations are all tables, sequences and materialized views. Values that lie
// aside for their size are read with their rows. Statistics of the planner count.

const relations = `
SELECT c.oid::regclass::text, c.relkind::text
FROM pg_class c
WHERE c.relkind IN ('r', 'm', 'S') AND c.relpersistence <> 't'
ORDER BY c.oid`

// tables adds a digest of each relation. A changed row is a new row, in another
// place and of another transaction: for the catalogs, which are large, that is
// enough, but for the two that the server also writes in place.
func (o *observer) tables(ctx context.Context, s snapshot) error {
	rows, err := o.conn.Query(ctx, relations)
	if err != nil {
		return err
	}
	var parts []string
	var name, kind string
	_, err = pgx.ForEachRow(rows, []any{&name, &kind}, func() error {
		row := "ctid::text || xmin::text || t::text"
		switch {
		case kind == "S":
			row = "ROW(last_value, log_cnt, is_called)::text"
		case strings.HasPrefix(name, "pg_") && name != "pg_class" && name != "pg_database":
			row = "ctid::text || xmin::text"
		}
		parts = append(parts, fmt.Sprintf("SELECT '%s', count(*) || ':' || md5(coalesce(string_agg(%s, '|' ORDER BY ctid), '')) FROM %s t",
			strings.ReplaceAll(name, "'", "''"), row, name))
		return nil
	})
	if err != nil {
		return fmt.Errorf("list the relations: %w", err)
	}
	return s.query(ctx, o.conn, "table ", strings.Join(parts, "\nUNION ALL "))
}

// sharedFacts are what is seen on a server beside its tables.
const sharedFacts = `
SELECT 'setting ' || name, setting FROM pg_settings
UNION ALL SELECT 'settings file', md5(coalesce(string_agg(f::text, '|'), '')) FROM pg_file_settings f
UNION ALL SELECT 'backend ' || pid, backend_type || ' ' || coalesce(application_name, '') || coalesce(CASE application_name WHEN 'bystander' THEN state END, '')
	FROM pg_stat_activity WHERE backend_type NOT IN ('client backend', 'parallel worker') OR application_name IN ('observer', 'bystander')
UNION ALL SELECT 'advisory lock ' || pid || ' ' || objid, mode FROM pg_locks WHERE locktype = 'advisory'
UNION ALL SELECT 'replication slot ' || slot_name, coalesce(restart_lsn::text, '') FROM pg_replication_slots
UNION ALL SELECT 'origin ' || local_id, external_id || remote_lsn FROM pg_replication_origin_status
UNION ALL SELECT 'prepared transaction ' || gid, transaction::text FROM pg_prepared_xacts
UNION ALL SELECT 'statistics reset of ' || coalesce(datname, ''), coalesce(stats_reset::text, '') FROM pg_stat_database
UNION ALL SELECT 'statistics reset', (SELECT coalesce(stats_reset::text, '') FROM pg_stat_bgwriter) || (SELECT coalesce(stats_reset::text, '') FROM pg_stat_archiver)
UNION ALL SELECT 'checkpoint', checkpoint_lsn::text FROM pg_control_checkpoint()
UNION ALL SELECT 'segment of the log', pg_walfile_name(pg_current_wal_lsn())
UNION ALL SELECT 'next transaction', pg_snapshot_xmax(pg_current_snapshot())::text
UNION ALL SELECT 'sessions of others', count(*)::text FROM pg_stat_activity WHERE state = 'idle in transaction' AND application_name IN ('observer', 'bystander')`

func (o *observer) facts(ctx context.Context, s snapshot) error {
	return s.query(ctx, o.conn, "", sharedFacts)
}

// sessionFacts are what a session sees of itself. Its locks are those that last
// beyond a statement.
const sessionFacts = `
SELECT 'prepared statement ' || name, statement FROM pg_prepared_statements WHERE NOT from_sql IS FALSE
UNION ALL SELECT 'cursor ' || name, statement FROM pg_cursors WHERE name <> ''
UNION ALL SELECT 'listening to ' || c, '' FROM pg_listening_channels() c
UNION ALL SELECT 'own setting ' || name, setting FROM pg_settings
UNION ALL SELECT 'lock on ' || relation::regclass, mode FROM pg_locks
	WHERE pid = pg_backend_pid() AND relation >= 16384 AND locktype = 'relation'
UNION ALL SELECT 'temporary ' || relname, relkind::text FROM pg_class WHERE relpersistence = 't'
UNION ALL SELECT 'user', session_user || ' ' || current_user`

func (s snapshot) session(ctx context.Context, conn *pgx.Conn) {
	s["state of the transaction"] = string(conn.PgConn().TxStatus())
	if err := s.query(ctx, conn, "session: ", sessionFacts); err != nil {
		s["session: cannot answer"] = err.Error()
	}
}

// query adds rows of a name and a value, by a protocol that leaves no prepared
// statement behind.
func (s snapshot) query(ctx context.Context, conn *pgx.Conn, prefix, text string) error {
	rows, err := conn.Query(ctx, text, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return err
	}
	var name, value string
	_, err = pgx.ForEachRow(rows, []any{&name, &value}, func() error {
		s[prefix+name] = value
		return nil
	})
	return err
}

// ordinary are the files that a server writes by itself: logs of transactions,
// counters, caches of the catalogs, and files of temporary tables and sorts.
var ordinary = regexp.MustCompile(`^(pg_wal|pg_stat|pg_stat_tmp|pg_xact|pg_subtrans|pg_commit_ts|pg_multixact|pg_notify|pg_logical|pg_serial)(/|$)` +
	`|/pg_internal\.init|^global/pg_control$|^postmaster\.|/pgsql_tmp|/t\d+_\d+|^pg_dynshmem`)

// files adds the names and sizes of the files in the data directory, and what
// stands in those that hold settings.
func (s snapshot) files(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		rel, _ := filepath.Rel(dir, name)
		if err != nil || ordinary.MatchString(rel) {
			return err
		}
		info, err := d.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir():
			s["file "+rel] = "directory"
		case strings.HasPrefix(rel, "base/"), strings.HasPrefix(rel, "global/"), strings.HasPrefix(rel, "pg_tblspc/"):
			// A map of free space is made when somebody first looks for space.
			if !strings.HasSuffix(rel, "_fsm") && !strings.HasSuffix(rel, "_vm") {
				s["file "+rel] = fmt.Sprint(info.Size())
			}
		default:
			return s.contents("file "+rel, name)
		}
		return nil
	})
}

func (s snapshot) outside(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return s.contents("outside "+filepath.Base(name), name)
	})
}

func (s snapshot) contents(key, name string) error {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s[key] = fmt.Sprintf("%x", sha256.Sum256(b))
	return err
}

// show writes a list for a test's output.
func show(changed []string) string {
	const most = 6
	if len(changed) > most {
		return strings.Join(changed[:most], ", ") + fmt.Sprintf(" and %d more", len(changed)-most)
	}
	return cmp.Or(strings.Join(changed, ", "), "nothing")
}

package postgres

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// fixture makes roles, tables with rows, and what else a statement could
// change. extensions are created before it if the server has them.
//
//go:embed testdata/fixture.sql
var fixture string

// settings keep the server from changing anything by itself, and let
// statements do all that they could do on some server.
const settings = `
listen_addresses = ''
autovacuum = off
checkpoint_timeout = 1d
max_wal_size = 4GB
fsync = off
wal_level = logical
max_prepared_transactions = 10
max_connections = 30
allow_in_place_tablespaces = on
track_functions = all
track_commit_timestamp = on
logging_collector = off
session_preload_libraries = 'plpgsql, pg_trgm' # their settings are there from the start
log_min_messages = fatal
timezone = 'UTC'
`

// A server is a PostgreSQL cluster that was made for this run.
type server struct {
	dir      string // holds all that follows
	data     string
	sentinel string // a directory beside the data, with a file that must stay
	bin      string
	version  string
	owner    *syscall.Credential // nil: who runs the tests
	process  *exec.Cmd
	log      bytes.Buffer
}

func startServer(ctx context.Context) (*server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	s := &server{bin: bin}
	if err := s.makeDir(); err != nil {
		return nil, err
	}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.stop(), errors.New(s.log.String()))
	}
	return s, nil
}

// binaries returns the directory of initdb and postgres.
func binaries() (string, error) {
	if dir := os.Getenv("HOOKPOLICY_POSTGRES"); dir != "" {
		return dir, nil
	}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		return "", fmt.Errorf("HOOKPOLICY_POSTGRES does not say where the server's programs are: %w", err)
	}
	real, err := filepath.EvalSymlinks(initdb)
	if err != nil {
		return "", fmt.Errorf("find initdb: %w", err)
	}
	return filepath.Dir(real), nil
}

// makeDir makes the directories, and gives them to another user where the tests
// run as root, as whom the server does not start.
func (s *server) makeDir() error {
	var err error
	if s.dir, err = os.MkdirTemp("", "hp-pg"); err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	s.data, s.sentinel = filepath.Join(s.dir, "data"), filepath.Join(s.dir, "outside")
	if err := os.Mkdir(s.sentinel, 0o700); err != nil {
		return fmt.Errorf("make the directory outside: %w", err)
	}
	note := filepath.Join(s.sentinel, "note.txt")
	if err := os.WriteFile(note, []byte("nobody changes me\n"), 0o600); err != nil {
		return fmt.Errorf("write the file outside: %w", err)
	}
	if os.Geteuid() != 0 {
		return nil
	}
	if s.owner, err = unprivileged(); err != nil {
		return err
	}
	for _, name := range []string{s.dir, s.sentinel, note} {
		if err := os.Chown(name, int(s.owner.Uid), int(s.owner.Gid)); err != nil {
			return fmt.Errorf("hand over a directory: %w", err)
		}
	}
	return nil
}

// unprivileged is the user that Debian's packages make, or nobody.
func unprivileged() (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, fmt.Errorf("find a user for the server: %w", err)
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read the user's number: %w", err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read the group's number: %w", err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

func (s *server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	cmd.Dir, cmd.Stderr = s.dir, &s.log
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner, Pdeathsig: syscall.SIGQUIT} // it outlives no tests that crash
	return cmd
}

func (s *server) start(ctx context.Context) error {
	init := s.command(ctx, "initdb", "-D", s.data, "-U", "super", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if err := init.Run(); err != nil {
		return fmt.Errorf("run initdb: %w", err)
	}
	conf, err := os.OpenFile(filepath.Join(s.data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open the settings: %w", err)
	}
	_, err = conf.WriteString(settings)
	if err := errors.Join(err, conf.Close()); err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	s.process = s.command(context.WithoutCancel(ctx), "postgres", "-D", s.data, "-k", s.dir)
	if err := s.process.Start(); err != nil {
		return fmt.Errorf("run postgres: %w", err)
	}
	for {
		conn, err := s.connect(ctx, "postgres")
		if err == nil {
			defer closeConn(conn)
			return conn.QueryRow(ctx, "SELECT current_setting('server_version')").Scan(&s.version)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the server: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stop ends the server at once and removes all that it wrote.
func (s *server) stop() error {
	var errs []error
	if s.process != nil && s.process.Process != nil {
		errs = append(errs, s.process.Process.Signal(syscall.SIGQUIT))
		if err := s.process.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

func (s *server) connect(ctx context.Context, database string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig("")
	if err != nil {
		return nil, fmt.Errorf("configure a connection: %w", err)
	}
	cfg.Host, cfg.Port, cfg.User, cfg.Database, cfg.TLSConfig, cfg.Fallbacks = s.dir, 5432, "super", database, nil, nil
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return conn, nil
}

func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = conn.Close(ctx) // the server may have ended the session already
}

// makeFixture makes the database that the tests work on.
func (s *server) makeFixture(ctx context.Context) error {
	conn, err := s.connect(ctx, "postgres")
	if err != nil {
		return err
	}
	defer closeConn(conn)
	if _, err := conn.Exec(ctx, "CREATE DATABASE shop TEMPLATE template0"); err != nil {
		return fmt.Errorf("create the database: %w", err)
	}
	shop, err := s.connect(ctx, "shop")
	if err != nil {
		return err
	}
	defer closeConn(shop)
	if err := s.createExtensions(ctx, shop); err != nil {
		return err
	}
	if _, err := shop.PgConn().Exec(ctx, fixture).ReadAll(); err != nil {
		return fmt.Errorf("run fixture.sql: %w", err)
	}
	for _, text := range []string{"VACUUM (FREEZE, ANALYZE)", "CHECKPOINT"} {
		if _, err := shop.Exec(ctx, text); err != nil {
			return fmt.Errorf("settle the database: %w", err)
		}
	}
	return nil
}

// createExtensions makes the extensions whose functions the catalogue knows,
// as far as the server has them, each in the public schema.
func (s *server) createExtensions(ctx context.Context, conn *pgx.Conn) error {
	trusted, err := trustedExtensions()
	if err != nil {
		return err
	}
	rows, err := conn.Query(ctx, "SELECT name FROM pg_available_extensions WHERE name = ANY($1) AND installed_version IS NULL ORDER BY name", trusted)
	if err != nil {
		return fmt.Errorf("list the extensions: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("list the extensions: %w", err)
	}
	for _, name := range names {
		if _, err := conn.Exec(ctx, "CREATE EXTENSION "+pgx.Identifier{name}.Sanitize()+" CASCADE"); err != nil {
			return fmt.Errorf("create extension %s: %w", name, err)
		}
	}
	return nil
}

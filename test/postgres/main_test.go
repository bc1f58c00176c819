// Package postgres holds the classes of package sqlclass against a real
// PostgreSQL server: what counts as read changes nothing, even as a superuser,
// and every other kind of statement does change something.
//
// "make test-postgres" runs it. The server is made for one run, in a temporary
// directory, listens on a Unix socket there, and is gone afterwards. Any
// version of PostgreSQL will do; which one it was is in the test's output.
//
// Changes are found by comparing two snapshots of all that a statement can
// change (see snapshot). What only the session itself can see is allowed to
// those who read, and nothing more: prepared statements, cursors, and settings
// that change how results look or how queries are planned.
package postgres

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

// cluster is the server that all tests share; TestMain starts it.
var cluster *server

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	runtime.LockOSThread() // the server ends with the thread that started it
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s, err := startServer(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "start PostgreSQL:", err)
		return 1
	}
	cluster = s
	defer func() {
		if err := s.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop PostgreSQL:", err)
		}
	}()
	if err := s.makeFixture(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "make the database:", err)
		return 1
	}
	return m.Run()
}

// connect opens a session of the superuser.
func connect(t testing.TB) *pgx.Conn {
	t.Helper()
	conn, err := cluster.connect(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeConn(conn) })
	return conn
}

func newClassifier(t testing.TB) *sqlclass.Classifier {
	t.Helper()
	c, err := sqlclass.New(sqlclass.Options{CacheBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func classify(t testing.TB, c *sqlclass.Classifier, text string) *sqlclass.Report {
	t.Helper()
	r, err := c.Classify(t.Context(), text, sqlclass.MaxBytes)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

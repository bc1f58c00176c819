// Package sqlclass says what a text of SQL would do, without running it.
//
// The text is parsed by PostgreSQL's own parser (the grammar of version 16),
// and every message of the parse tree is visited, so that nothing can hide:
// data-modifying CTEs at any depth, EXPLAIN ANALYZE, PREPARE, rules, schema
// elements, bodies, functions wherever they may stand. Each statement and each
// function gets a class: read, write, destructive, admin or forbidden. A text
// is as bad as the worst that it holds.
//
// The rules that a caller must know:
//
//   - A text that cannot be judged (empty, too large, not parseable, a node that
//     has no class) is forbidden, with a code that says why. Classify returns an
//     error only when the context was over before there was an answer.
//   - Reports are shared between callers and never changed.
//   - Reports hold names of objects and kinds of statements. They hold no
//     literals and no text of the caller's.
//   - What the text does not show cannot be classed: what views, triggers and
//     casts to domains do, functions of the user's own in attribute notation
//     (value.name), and what a search_path puts in place of a built-in
//     function. That needs a database role without rights.
//
// The parser is C code that recurses. A stack overflow there would end the
// process, so the size of a text, the nesting of its comments and the depth
// that its tokens could build are bounded before it sees the text.
package sqlclass

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	pg "github.com/pganalyze/pg_query_go/v5"

	"github.com/hookpolicy/hookpolicy/internal/plan/stmtclass"
)

// Limits and defaults.
const (
	DefaultMaxBytes   = 16 << 10 // of one text, in bytes
	MaxBytes          = 32 << 10 // the ceiling of any maxBytes
	DefaultCacheBytes = 8 << 20  // of all cached reports and their texts
)

// Options are the settings of a Classifier. The zero value is the default.
type Options struct {
	// CacheBytes bounds the cache of reports; a quarter of it is for limited
	// texts besides. 0 means DefaultCacheBytes, a negative number no cache.
	CacheBytes int
	// MaxParallel bounds the parses that run at once; others wait. 0 means
	// twice the number of processors that Go uses.
	MaxParallel int
}

// A Classifier classes texts of SQL. It is safe for concurrent use.
type Classifier struct {
	grammar *grammar
	catalog *catalog
	cache   *cache[*Report]
	limited *cache[*limited]
	slots   chan struct{}
}

// New returns a Classifier. It fails when the process's stacks are too small
// for the parser, and when the parser does not know a DROP for what it is:
// then it is not the parser that this package was written for.
func New(o Options) (*Classifier, error) {
	if err := checkStack(); err != nil {
		return nil, err
	}
	catalog, err := newCatalog(functionsText)
	if err != nil {
		return nil, fmt.Errorf("read the catalogue of functions: %w", err)
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	if o.MaxParallel <= 0 {
		o.MaxParallel = 2 * runtime.GOMAXPROCS(0)
	}
	c := &Classifier{
		grammar: newGrammar(),
		catalog: catalog,
		cache:   newCache[*Report](o.CacheBytes),
		limited: newCache[*limited](o.CacheBytes / 4),
		slots:   make(chan struct{}, o.MaxParallel),
	}
	return c, c.selfTest()
}

// selfTest asserts that the parser's node names are the ones in the table.
func (c *Classifier) selfTest() error {
	for text, want := range map[string]Class{
		"SELECT 1":                              Read,
		"DROP TABLE t":                          Destructive,
		"WITH d AS (DELETE FROM t) SELECT 1":    Destructive,
		"DROP SCHEMA s":                         Forbidden,
		"SELECT pg_read_file('x')":              Forbidden,
		"SELECT 1; ALTER SYSTEM SET a = 1":      Forbidden,
		"INSERT INTO t SELECT 1":                Write,
		"EXPLAIN ANALYZE UPDATE t SET a = 1":    Destructive,
		"GRANT SELECT ON t TO r":                Admin,
		"CREATE VIEW v AS SELECT lo_import('')": Forbidden,
	} {
		if r := c.judge(text); r.Code != "" || r.Class != want {
			return errors.New("the SQL parser does not give the parse trees that this program knows")
		}
	}
	return nil
}

// Classify says what a text would do. maxBytes bounds the text; 0 means
// DefaultMaxBytes, and it counts as MaxBytes when it is more. The error is not
// nil only when the context was over before the text could be judged.
func (c *Classifier) Classify(ctx context.Context, text string, maxBytes int) (*Report, error) {
	if maxBytes <= 0 {
		maxBytes = DefaultMaxBytes
	}
	if len(text) > min(maxBytes, MaxBytes) {
		return refusal(CodeTooLarge, ""), nil
	}
	if r := c.cache.get(text); r != nil {
		return r, nil
	}
	if r := precheck(text); r != nil {
		return r, nil
	}
	if err := c.takeSlot(ctx); err != nil {
		return nil, err
	}
	defer func() { <-c.slots }()
	r := c.judge(text)
	c.cache.put(text, r)
	return r, nil
}

// takeSlot waits until a parse may begin. The caller's context may tell a
// deadline that it does not enforce.
func (c *Classifier) takeSlot(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("parse SQL: %w", context.Cause(ctx))
	}
	select {
	case c.slots <- struct{}{}:
		return nil
	default:
	}
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the SQL parser: %w", context.Cause(ctx))
	}
}

// judge parses and walks a text that passed precheck.
func (c *Classifier) judge(text string) *Report {
	tree, refused := parseBounded(text)
	if refused != nil {
		return refused
	}
	return c.walk(tree)
}

// walk visits a tree that has a statement.
func (c *Classifier) walk(tree *pg.ParseResult) *Report {
	w := walker{grammar: c.grammar, catalog: c.catalog, report: &Report{Class: Read}}
	for _, raw := range tree.Stmts {
		w.topLevel(raw)
	}
	if w.template {
		return refusal(CodePlaceholder, hintPlaceholder)
	}
	return w.report
}

// Nodes returns the names of the statement nodes that can stand in a policy's
// overrides, sorted.
func Nodes() []string { return stmtclass.Nodes() }

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"strconv"
	"testing"
	"time"

	pg "github.com/pganalyze/pg_query_go/v5"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/hooks/paths"
	"github.com/hookpolicy/hookpolicy/internal/hooks/rewrite"
	"github.com/hookpolicy/hookpolicy/internal/hooks/sql"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/policy"
	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

// hookSpan is how long one benchmark of a hook runs in a round.
const hookSpan = 120 * time.Millisecond

// A hookCase is one benchmark of a hook or a yardstick.
type hookCase struct {
	name string
	run  func(b *testing.B)
}

const (
	caseEmpty  = "chain with one hook that does nothing"
	caseCached = "chain, destructiveSQL, a text seen before"
	caseNew    = "chain, destructiveSQL, a new text each"
	caseParse  = "pg_query's Parse alone, a new text each"
)

// hooks measures each hook in its chain, without a service around it.
func (b *bench) hooks(ctx context.Context) error {
	cases, err := b.hookCases(ctx)
	if err != nil {
		return err
	}
	testing.Init()
	if err := setBenchTime(hookSpan); err != nil {
		return err
	}
	results := make(map[string][]testing.BenchmarkResult)
	for range b.rounds {
		for _, c := range cases {
			r := testing.Benchmark(c.run)
			if r.N == 0 {
				return fmt.Errorf("%s: it failed", c.name)
			}
			results[c.name] = append(results[c.name], r)
		}
	}
	b.report.hooks(cases, results)
	return nil
}

func (r *report) hooks(cases []hookCase, results map[string][]testing.BenchmarkResult) {
	perOp := func(name string) time.Duration {
		return median(each(results[name], func(x testing.BenchmarkResult) time.Duration { return x.T / time.Duration(x.N) }))
	}
	for _, c := range cases {
		one := results[c.name][0]
		r.add(&r.hookTable, c.name, micros(perOp(c.name)), strconv.FormatInt(one.AllocedBytesPerOp(), 10), strconv.FormatInt(one.AllocsPerOp(), 10))
	}
	cached := perOp(caseCached)
	r.row(row{what: "chain alone on a cached SQL text", budget: "≤ 10 µs", measured: micros(cached), met: cached <= 10*time.Microsecond})
	var against []float64
	for i := range results[caseNew] {
		against = append(against, float64(results[caseNew][i].NsPerOp())/float64(results[caseParse][i].NsPerOp()))
	}
	r.row(row{
		what: "chain alone on a new SQL text, against pg_query's own `Parse` of it", budget: "≤ 1.3 ×",
		measured: ratio(median(against)) + " ×", met: median(against) <= 1.3,
	})
}

// query is the text of the query under load, with a number in it.
func query(n int) string {
	return "SELECT id, name FROM customers WHERE region = 'north' AND id > '" + strconv.Itoa(1_000_000_000_000+n) + "' ORDER BY name LIMIT 50"
}

// hookCases builds the chains. Paths are those of a real tree, two levels
// below its root.
func (b *bench) hookCases(ctx context.Context) ([]hookCase, error) {
	root := b.dir + "/data"
	if err := os.MkdirAll(root+"/a/b", 0o755); err != nil {
		return nil, fmt.Errorf("make a tree: %w", err)
	}
	if err := os.WriteFile(root+"/a/b/c.txt", nil, 0o600); err != nil {
		return nil, fmt.Errorf("make a tree: %w", err)
	}
	classifier, err := sqlclass.New(sqlclass.Options{})
	if err != nil {
		return nil, fmt.Errorf("set up the SQL parser: %w", err)
	}
	whole := constructors(classifier)
	empty := maps.Clone(whole)
	empty[plan.KindRewrite] = func(*plan.Segment, *plan.Hook) (chain.Hook, error) {
		return chain.HookFunc(func(context.Context, *chain.Call) (chain.Decision, error) { return chain.Allow{}, nil }), nil
	}
	file := root + "/a/b/c.txt"
	pathCall := &chain.Call{ToolAsCalled: "kb_add_file", Args: map[string]any{"path": file}, Resolved: map[string]string{file: file}}
	search := &chain.Call{ToolAsCalled: "crm_search", Args: map[string]any{"query": "north"}}
	sqlHook := "destructiveSQL: {}"
	rewriteHook := "rewrite: {tools: [crm_search], set: {tenant: customer-a}}"
	pathHook := func(mode string) string { return "pathAllowlist: {roots: [" + root + "], resolve: " + mode + "}" }

	var errs []error
	one := func(name, hook string, c chain.Constructors, call func(n int) *chain.Call) hookCase {
		built, err := chainOf(ctx, hook, c)
		errs = append(errs, err)
		return hookCase{name, func(b *testing.B) { benchmarkChain(ctx, b, built, call) }}
	}
	always := func(call *chain.Call) func(int) *chain.Call { return func(int) *chain.Call { return call } }
	n := 0
	cases := []hookCase{
		one(caseEmpty, rewriteHook, empty, always(search)),
		one(caseCached, sqlHook, whole, always(sqlCall(query(0)))),
		one(caseNew, sqlHook, whole, func(int) *chain.Call { n++; return sqlCall(query(n)) }),
		{caseParse, benchmarkParse},
		one("chain, pathAllowlist, resolve: Service", pathHook("Service"), whole, always(pathCall)),
		one("chain, pathAllowlist, resolve: Agent", pathHook("Agent"), whole, always(pathCall)),
		one("chain, pathAllowlist, resolve: Lexical", pathHook("Lexical"), whole, always(pathCall)),
		one("chain, rewrite (two passes)", rewriteHook, whole, always(search)),
	}
	return cases, errors.Join(errs...)
}

func sqlCall(text string) *chain.Call {
	return &chain.Call{ToolAsCalled: "db_query_sql", Args: map[string]any{"sql": text, "params": []any{"a"}}}
}

// constructors are those of the program under test.
func constructors(c *sqlclass.Classifier) chain.Constructors {
	return chain.Constructors{
		plan.KindPathAllowlist: paths.New, plan.KindDestructiveSQL: sql.New(sql.Classifiers{plan.DialectPostgres: c}), plan.KindRewrite: rewrite.New(c),
	}
}

// chainOf builds the chain of a policy with one hook.
func chainOf(ctx context.Context, hook string, c chain.Constructors) (*chain.Chain, error) {
	text := "apiVersion: hookpolicy.dev/v1alpha1\nkind: HookPolicy\nmetadata: {name: one-hook, namespace: customer-a}\nspec: {hooks: [{name: h, " + hook + "}]}\n"
	set, _, err := policy.Load(ctx, map[string][]byte{"policy": []byte(text)})
	if err != nil {
		return nil, fmt.Errorf("compile a policy: %w", err)
	}
	return chain.Build(&plan.Plan{Tenant: set.Tenants()[0]}, c)
}

func benchmarkChain(ctx context.Context, b *testing.B, c *chain.Chain, call func(n int) *chain.Call) {
	b.ReportAllocs()
	for i := range b.N {
		if e := c.Decide(ctx, call(i)).Effect(); e != chain.EffectAllow && e != chain.EffectRewrite {
			b.Fatal(e)
		}
	}
}

func benchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for i := range b.N {
		if _, err := pg.Parse(query(i)); err != nil {
			b.Fatal(err)
		}
	}
}

// setBenchTime says how long a benchmark runs. The testing package takes it
// from a flag only.
func setBenchTime(d time.Duration) error { return flag.Set("test.benchtime", d.String()) }

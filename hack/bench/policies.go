package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/policy"
	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

// Sizes of the comparison of many policies with one.
const (
	manyPolicies = 10_000
	manyTenants  = 16 // connections, and in one measurement a tenant each
)

// policies compares a service that has many policies with one that has one,
// and weighs a policy.
func (b *bench) policies(ctx context.Context) error {
	text, err := policyText(manyPolicies)
	if err != nil {
		return err
	}
	file := filepath.Join(b.dir, "many.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write policies: %w", err)
	}
	if err := b.comparePolicies(ctx, file); err != nil {
		return err
	}
	return b.weighPolicy(ctx, text)
}

// policyText is a policy file of so many tenants, each with the policy of the
// quick start, the first in its namespace.
func policyText(n int) (string, error) {
	sample, err := os.ReadFile(quickstart)
	if err != nil {
		return "", fmt.Errorf("read the policy: %w", err)
	}
	texts := []string{string(sample)}
	for i := range n - 1 {
		texts = append(texts, strings.ReplaceAll(string(sample), "customer-a", "tenant-"+strconv.Itoa(i)))
	}
	return strings.Join(texts, "\n---\n"), nil
}

func (b *bench) comparePolicies(ctx context.Context, file string) (err error) {
	tokens := filepath.Join(b.dir, "tokens")
	if err := os.WriteFile(tokens, tokenFile(), 0o600); err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	one, err := b.serve(ctx, quickstart, "--token-file", tokens)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, one.stop()) }()
	many, err := b.serve(ctx, file, "--token-file", tokens)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, many.stop()) }()

	first := func(int) request { return tenantRequest(0) }
	var alone, among, spread []load
	for range b.rounds + 2 {
		for _, t := range []struct {
			results *[]load
			process *process
			request func(int) request
		}{
			{&alone, one, first}, {&among, many, first}, {&spread, many, tenantRequest},
		} {
			to := target{addr: t.process.addr, pid: t.process.cmd.Process.Pid, request: t.request, want: allowed}
			result, err := b.generator.run(ctx, to, manyTenants, b.span)
			if err != nil {
				return err
			}
			*t.results = append(*t.results, result)
		}
	}
	b.report.policies(alone, among, spread)
	return nil
}

func (r *report) policies(alone, among, spread []load) {
	p99 := func(results []load) float64 {
		var ratios []float64
		for i := range results {
			ratios = append(ratios, float64(results[i].p99)/float64(alone[i].p99))
		}
		return median(ratios)
	}
	r.row(row{
		what:     "p99 with 10,000 policies against 1 policy (over HTTP, 16 connections of one tenant)",
		budget:   "≤ 1.2 ×",
		measured: ratio(p99(among)) + " ×",
		met:      p99(among) <= 1.2,
	})
	r.add(&r.moreTable, "the same, but 16 tenants at once, each with an audit chain of its own", fmt.Sprintf(
		"p99 %s ×, %.0f against %.0f decisions/s", ratio(p99(spread)),
		median(each(spread, func(l load) float64 { return l.perSecond })), median(each(alone, func(l load) float64 { return l.perSecond }))))
}

// tokenFile has a token for each of the tenants under load.
func tokenFile() []byte {
	var text []byte
	for i := range manyTenants {
		text = fmt.Appendf(text, "%s,%s,agent\n", token(i), tenantName(i))
	}
	return text
}

func token(i int) string { return fmt.Sprintf("benchmark-token-%04d", i) }

func tenantName(i int) string {
	if i == 0 {
		return "customer-a"
	}
	return fmt.Sprintf("tenant-%d", i-1)
}

func tenantRequest(i int) request {
	return post("/v1/decide", "Authorization: Bearer "+token(i)+"\r\n", sameText)
}

// weighPolicy is what one more policy adds to the heap, compiled and built.
func (b *bench) weighPolicy(ctx context.Context, many string) error {
	single, err := policyText(1)
	if err != nil {
		return err
	}
	small, err := heapOf(ctx, single)
	if err != nil {
		return err
	}
	large, err := heapOf(ctx, many)
	if err != nil {
		return err
	}
	each := (large - small) / (manyPolicies - 1)
	b.report.row(row{
		what: "memory per policy (heap after collection, 10,000 policies of three hooks against 1)", budget: "≤ 20 KiB",
		measured: fmt.Sprintf("%.1f KiB", float64(each)/1024), met: each <= 20<<10,
	})
	return nil
}

// heapOf is the heap that an engine with these policies keeps.
func heapOf(ctx context.Context, text string) (int64, error) {
	before := heap()
	classifier, err := sqlclass.New(sqlclass.Options{})
	if err != nil {
		return 0, fmt.Errorf("set up the SQL parser: %w", err)
	}
	e, err := engine.New(engine.Options{
		Constructors: constructors(classifier), Recorder: nowhere{}, Approvals: approval.NewMemoryStore(approval.MemoryOptions{}),
	})
	if err != nil {
		return 0, fmt.Errorf("set up the engine: %w", err)
	}
	if err := setPolicies(ctx, e, text); err != nil {
		return 0, err
	}
	used := heap() - before
	runtime.KeepAlive(e)
	return used, nil
}

func setPolicies(ctx context.Context, e *engine.Engine, text string) error {
	set, _, err := policy.Load(ctx, map[string][]byte{"policies": []byte(text)})
	if err != nil {
		return fmt.Errorf("compile the policies: %w", err)
	}
	return e.SetPolicies(ctx, set)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what had a finalizer is gone only now
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// nowhere is a recorder for an engine that decides nothing.
type nowhere struct{}

func (nowhere) Append(context.Context, string, *audit.Record) (audit.Receipt, error) {
	return audit.Receipt{}, errors.New("nothing is recorded")
}
func (nowhere) Commitment(string, []byte) string { return "" }
func (nowhere) Ready() error                     { return nil }

// settle lets a process come to rest.
func settle(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

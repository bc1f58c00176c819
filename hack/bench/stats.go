package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// median returns the middle one of values, of which there is at least one.
func median[T cmp.Ordered](values []T) T { return quantile(values, 0.5) }

// quantile returns the value below which the share q of values lie.
func quantile[T cmp.Ordered](values []T, q float64) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// each takes one figure out of several results.
func each[R any, T any](results []R, figure func(R) T) []T {
	values := make([]T, len(results))
	for i, r := range results {
		values[i] = figure(r)
	}
	return values
}

// millis and micros write a time as a table shows it.
func millis(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1e3) }
func micros(d time.Duration) string { return fmt.Sprintf("%.1f µs", d.Seconds()*1e6) }
func ratio(r float64) string        { return fmt.Sprintf("%.2f", r) }
func mebi(bytes int64) string       { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// Package promcheck holds the chart's alerts and its dashboard to the metrics
// that exist: every expression parses, and every metric and label in it stands
// in docs/reference/metrics.md. It is a module of its own for its parser.
package promcheck

package sql_test

import (
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// BenchmarkDecide shows the hook alone, on texts that were seen before.
func BenchmarkDecide(b *testing.B) {
	h := newHook(b, plan.DestructiveSQL{})
	for name, text := range map[string]string{
		"select": "SELECT id, email FROM customers WHERE created_at > now() - interval '7 days' LIMIT 50",
		"delete": "DELETE FROM orders WHERE customer_id = 42",
		"drop":   "DROP SCHEMA public CASCADE",
	} {
		call := &chain.Call{Tool: "db_query_sql", Args: map[string]any{"sql": text}}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h.Decide(b.Context(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package sqlclass_test

import (
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v5"

	"github.com/hookpolicy/hookpolicy/internal/sqlclass"
)

// benchTexts are an ordinary query, an ordinary change, and a 2 KB report.
func benchTexts() map[string]string {
	return map[string]string{
		"select": "SELECT id, email FROM customers WHERE created_at > now() - interval '7 days' LIMIT 50",
		"delete": "DELETE FROM orders WHERE customer_id = 42 AND created_at < '2024-01-01' RETURNING id",
		"report": "WITH m AS (SELECT date_trunc('month', o.ts) AS month, sum(o.total) AS total FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.state = 'paid' GROUP BY 1)\n" +
			"SELECT month, total" + strings.Repeat(", round(avg(total) OVER (ORDER BY month ROWS BETWEEN 2 PRECEDING AND CURRENT ROW), 2) AS a", 20) + " FROM m ORDER BY month",
	}
}

// BenchmarkClassify shows what a text costs that was seen before, and one that
// was not. Compare the misses with BenchmarkParse, the parser alone.
func BenchmarkClassify(b *testing.B) {
	for name, text := range benchTexts() {
		b.Run("hit/"+name, func(b *testing.B) { benchmarkClassify(b, sqlclass.Options{}, text) })
		b.Run("miss/"+name, func(b *testing.B) { benchmarkClassify(b, sqlclass.Options{CacheBytes: -1}, text) })
	}
}

func benchmarkClassify(b *testing.B, o sqlclass.Options, text string) {
	c, err := sqlclass.New(o)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if r, err := c.Classify(b.Context(), text, 0); err != nil || r.Code != "" {
			b.Fatal(r, err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for name, text := range benchTexts() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := pg.Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

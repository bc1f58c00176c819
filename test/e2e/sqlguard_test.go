package e2e

import (
	"fmt"
	"strings"
	"testing"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
)

// sqlGuard has an agent send SQL that is not what it looks like at first, and
// some that is as harmless as it looks.
func (p *platform) sqlGuard(t *testing.T, a *agent) {
	for _, c := range []struct {
		sql  string
		want decisionv1.Decision
		code string
	}{
		{"WITH gone AS (DELETE FROM orders RETURNING *) SELECT count(*) FROM gone", decisionv1.AskUser, ""},
		{"EXPLAIN ANALYZE DELETE FROM orders WHERE id = 7", decisionv1.AskUser, ""},
		{"SELECT 1; DROP SCHEMA public CASCADE", decisionv1.Deny, ""},
		{"SELECT pg_read_file('/etc/passwd')", decisionv1.Deny, ""},
		{"SELECT day, sum(total) OVER (ORDER BY day) AS running, percentile_cont(0.5) WITHIN GROUP (ORDER BY total) FROM orders GROUP BY day, total", decisionv1.Rewrite, ""},
	} {
		if err := a.gets(t, call("db_query_sql", fmt.Sprintf(`{"sql":%q}`, c.sql)), c.want, c.code); err != nil {
			t.Error(err)
		}
	}
	pods, err := p.replicas(t.Context(), tenant, tenantService)
	if err != nil || len(pods) == 0 {
		t.Fatalf("%d replicas: %v", len(pods), err)
	}
	shown := p.kubectl(t, "-n", tenant, "exec", pods[0].Name, "--", "/hookpolicy", "audit", "show", contract.AuditDir, "-o", "json")
	for _, fact := range []string{`"orders"`, "DeleteStmt", "DropStmt", "pg_read_file"} {
		if !strings.Contains(shown, fact) {
			t.Errorf("the record does not say %s", fact)
		}
	}
}

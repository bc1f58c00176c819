package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
)

// What testdata/tenant.yaml has: a namespace with a policy of the same name, the
// ServiceAccount that it governs, its decision service and its claim.
const (
	tenant        = "customer-a"
	account       = "etl-agent"
	tenantService = "files"
	tenantClaim   = "data"
)

// TestTheMainJob is a tenant's day: a service and a policy are applied, an agent
// asks, and all of it is on record.
func TestTheMainJob(t *testing.T) {
	p := install(t, "")
	p.namespace(t, tenant)
	p.kubectl(t, "apply", "-f", filepath.Join("testdata", "tenant.yaml"))
	p.kubectl(t, "-n", tenant, "wait", "hookpolicy/"+tenant, "--for=condition=Programmed", "--timeout", patience.String())
	p.kubectl(t, "-n", tenant, "wait", "decisionservice/"+tenantService, "--for=condition=Ready", "--timeout", patience.String())
	a := p.agentOf(t, tenant, account, tenant, tenantService)

	t.Run("an agent gets the four decisions over TLS with its own token", func(t *testing.T) {
		for _, c := range []struct {
			tool, args string
			want       decisionv1.Decision
		}{
			{"kb_search", `{"query":"late orders"}`, decisionv1.Allow},
			{"db_query_sql", `{"sql":"SELECT 1"}`, decisionv1.Rewrite},
			{"db_query_sql", `{"sql":"DELETE FROM orders"}`, decisionv1.AskUser},
			{"db_query_sql", `{"sql":"DROP DATABASE customers"}`, decisionv1.Deny},
		} {
			if err := a.gets(t, call(c.tool, c.args), c.want, ""); err != nil {
				t.Error(err)
			}
		}
	})

	t.Run("links are followed in the tenant's own volume", func(t *testing.T) {
		data := p.volume(t, tenant, tenantClaim)
		for link, target := range map[string]string{"inside": "2026/orders.csv", "outside": "../../audit"} {
			if err := os.Symlink(target, filepath.Join(data, link)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll(filepath.Join(data, "2026"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, "2026", "orders.csv"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			path string
			want decisionv1.Decision
			code string
		}{
			{"/data/customer-a/2026/orders.csv", decisionv1.Allow, ""},
			{"/data/customer-a/inside", decisionv1.Rewrite, ""}, // to where the link leads
			{"/data/customer-a/outside", decisionv1.Deny, "path.outside"},
			{"/data/customer-b/orders.csv", decisionv1.Deny, "path.outside"},
		} {
			if err := a.gets(t, call("kb_add_file", `{"path":"`+c.path+`"}`), c.want, c.code); err != nil {
				t.Error(err)
			}
		}
	})

	t.Run("SQL is judged by what it would do", func(t *testing.T) { p.sqlGuard(t, a) })

	t.Run("another ServiceAccount of the namespace is governed by no policy", func(t *testing.T) {
		other := p.agentOf(t, tenant, "other", tenant, tenantService)
		if err := other.gets(t, call("kb_search", `{}`), decisionv1.Deny, "policy.none"); err != nil {
			t.Error(err)
		}
	})

	t.Run("what was decided is on the claim, in a chain that verifies", func(t *testing.T) {
		if out := p.verifyAudit(t, tenant, tenantService); !strings.Contains(out, tenant+"/"+tenant) {
			t.Errorf("no chain of the tenant's policy:\n%s", out)
		}
	})
}

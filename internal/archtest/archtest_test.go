// Package archtest holds the packages to the import rules: who may know whom.
package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/hookpolicy/hookpolicy"

// Why something may not be imported, for the reader of a failure.
const (
	noKubernetes = "the data plane reaches Kubernetes through one adapter package"
	noHooks      = "only cmd/hookpolicy binds hooks to their constructors"
	leaf         = "a leaf: anybody may import it, so it imports nobody"
	pure         = "the policy compiler says what is meant, it decides nothing"
	noHTTP       = "hooks know nothing of HTTP"
	noAudit      = "hooks know nothing of the audit, the audit nothing of hooks"
	noDeciding   = "the operator says what is to decide, it decides nothing"
	publicAPI    = "clients import this package: it must stay light"
)

// rules maps a package to the import prefixes that nothing it needs may have.
// Prefixes that start with "/" are within the module.
var rules = map[string]map[string]string{
	"/api/v1alpha1":           {"sigs.k8s.io/controller-runtime": publicAPI, "k8s.io/client-go": publicAPI, "/internal": publicAPI},
	"/api/decision/v1":        {"k8s.io/": publicAPI, "sigs.k8s.io/": publicAPI, "/internal": publicAPI, "github.com/": "it needs the standard library only"},
	"/internal/plan":          {"k8s.io/": noKubernetes, "/api": leaf, "/internal": leaf},
	"/internal/argpath":       {"k8s.io/": noKubernetes, "/api": leaf, "/internal": leaf},
	"/internal/strictjson":    {"k8s.io/": noKubernetes, "/api": leaf, "/internal": leaf},
	"/internal/toolname":      {"k8s.io/": noKubernetes, "/api": leaf, "/internal": leaf},
	"/internal/toolpattern":   {"k8s.io/": noKubernetes, "/api": leaf, "/internal": leaf},
	"/internal/redact":        {"k8s.io/": noKubernetes, "/api": leaf, "/internal/chain": leaf, "/internal/audit": leaf},
	"/internal/redact/names":  {"k8s.io/": noKubernetes, "/api": leaf, "/internal/redact/find": leaf, "/internal/redact/sqltext": leaf, "/internal/strictjson": leaf},
	"/internal/redact/find":   {"k8s.io/": noKubernetes, "/api": leaf, "/internal/strictjson": "a text is read for what it is, arguments are read by redact"},
	"/internal/sqlclass":      {"k8s.io/": noKubernetes, "/api": leaf, "/internal/chain": leaf, "/internal/hooks": leaf},
	"/internal/policy":        {"/internal/hooks": pure, "/internal/chain": pure, "/internal/sqlclass": pure, "/internal/server": pure},
	"/internal/policyfile":    {"/internal/hooks": pure, "/internal/chain": pure, "/internal/server": pure, "k8s.io/client-go": noKubernetes},
	"/internal/chain":         {"k8s.io/": noKubernetes, "/api": "a chain knows plans, not resources", "/internal/hooks": noHooks, "/internal/audit": noAudit},
	"/internal/hooks/paths":   {"k8s.io/": noKubernetes, "/internal/server": noHTTP, "net/http": noHTTP, "/internal/audit": noAudit, "/internal/engine": noHTTP},
	"/internal/sqlname":       {"k8s.io/": leaf, "/api": leaf, "/internal": leaf},
	"/internal/hooks/sql":     {"k8s.io/": noKubernetes, "/internal/server": noHTTP, "net/http": noHTTP, "/internal/audit": noAudit, "/internal/engine": noHTTP},
	"/internal/hooks/rewrite": {"k8s.io/": noKubernetes, "/internal/server": noHTTP, "net/http": noHTTP, "/internal/audit": noAudit, "/internal/engine": noHTTP},
	"/internal/hooks/risk":    {"k8s.io/": noKubernetes, "/internal/server": noHTTP, "net/http": noHTTP, "/internal/audit": noAudit, "/internal/engine": noHTTP},
	"/internal/approval":      {"k8s.io/": noKubernetes, "/internal/hooks": noHooks, "/internal/server": noHTTP, "net/http": noHTTP, "/internal/audit": noAudit},
	"/internal/card":          {"k8s.io/": noKubernetes, "/internal/hooks": noHooks, "/internal/server": noHTTP, "net/http": noHTTP, "/internal/audit": noAudit},
	"/internal/audit":         {"k8s.io/": noKubernetes, "/internal/hooks": noAudit, "/internal/server": noAudit, "net/http": noAudit, "/internal/chain": noAudit},
	"/internal/audit/store":   {"k8s.io/": noKubernetes, "/internal/hooks": noAudit, "/internal/server": noAudit, "net/http": noAudit, "/internal/chain": noAudit},
	"/internal/engine":        {"k8s.io/": noKubernetes, "/internal/hooks": noHooks, "/internal/server": "the engine is put on a socket, it has none", "/internal/audit/store": "the engine appends through an interface"},
	"/internal/kube":          {"/internal/hooks": noHooks, "/internal/audit/store": "the adapter brings policies and callers, the engine records", "sigs.k8s.io/controller-runtime": "a replica's memory is for policies"},
	"/internal/server":        {"k8s.io/": noKubernetes, "/internal/hooks": noHooks, "/internal/audit/store": "the server answers, the engine records"},
	"/internal/contract":      {"k8s.io/": leaf, "/api": leaf, "/internal": leaf},
	"/internal/render":        controller,
	"/internal/certs":         {"k8s.io/": "certificates are made and read; others store them", "/api": leaf, "/internal": leaf},
	"/controllers":            controller,
	"/cmd/manager":            controller,
	"/internal/testkit":       {"/internal": "tests of every reconciler may use it"},
	"/internal/kubetest":      {"/internal": "tests of every package may use it"},

	"/internal/audit/checkpoint": {"k8s.io/": noKubernetes, "/api": leaf, "/internal": leaf},
	"/internal/audit/layout":     {"k8s.io/": noKubernetes, "/api": leaf, "/internal": leaf},
}

// controller is what the operator's side of the program must never reach: it
// says what is to decide, and decides nothing.
var controller = map[string]string{
	"/internal/chain": noDeciding, "/internal/hooks": noDeciding, "/internal/sqlclass": noDeciding,
	"/internal/server": noDeciding, "/internal/audit": noDeciding, "/internal/engine": noDeciding,
}

// cgo is what must stay in one leaf: the parser in C.
const cgo = "github.com/pganalyze/"

// mayParse are the packages that may reach the parser.
var mayParse = []string{"/internal/sqlclass", "/internal/hooks/sql", "/cmd/hookpolicy", "/hack/bench"}

type listed struct {
	ImportPath string
	Deps       []string
}

func TestImportsRunOneWay(t *testing.T) {
	packages := list(t)
	for name, bad := range rules {
		deps, ok := packages[module+name]
		if !ok {
			t.Errorf("rule for %s, which does not exist", name)
			continue
		}
		for prefix, why := range bad {
			if strings.HasPrefix(prefix, "/") {
				prefix = module + prefix
			}
			for _, d := range deps {
				if strings.HasPrefix(d, prefix) && d != module+name && !strings.HasPrefix(d, module+name+"/") {
					t.Errorf("%s needs %s: %s", name, d, why)
				}
			}
		}
	}
}

func TestTheParserInCStaysInOneLeaf(t *testing.T) {
	for name, deps := range list(t) {
		short := strings.TrimPrefix(name, module)
		if slices.ContainsFunc(mayParse, func(p string) bool { return short == p || strings.HasPrefix(short, p+"/") }) {
			continue
		}
		for _, d := range deps {
			if strings.HasPrefix(d, cgo) {
				t.Errorf("%s needs %s: the manager and the clients are built without cgo", short, d)
			}
		}
	}
}

func TestEveryInternalPackageHasARule(t *testing.T) {
	for name := range list(t) {
		short := strings.TrimPrefix(name, module)
		if !strings.HasPrefix(short, "/internal/") || short == "/internal/archtest" {
			continue
		}
		owner := func(rule string) bool { return short == rule || strings.HasPrefix(short, rule+"/") }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(rules)), owner) {
			t.Errorf("%s has no import rule: say here what it must never reach", short)
		}
	}
}

// list returns the module's packages and everything that each of them needs.
func list(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps=false", "-json=ImportPath,Deps", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := make(map[string][]string)
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("read what go list printed: %v", err)
		}
		packages[p.ImportPath] = p.Deps
	}
}

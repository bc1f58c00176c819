package kube

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/kubetest"
)

var scale = flag.String("scale", "", "measure with these numbers of policies, such as 1000,10000, and write docs/scale.md")

const (
	scaleNamespaces = 100
	scaleEdits      = 100
	scaleWorkers    = 16
	scalePatience   = 20 * time.Minute
)

// A measurement is what was seen with a number of policies.
type measurement struct {
	policies   int
	inForce    time.Duration // from the first apply until every replica has the last policy in force
	programmed time.Duration // from the first apply until every policy says so
	edits      []time.Duration
	replicaMiB float64
	managerMiB float64
}

// TestScale measures. It is no part of the tests: it takes minutes and has no
// right answer.
func TestScale(t *testing.T) {
	if *scale == "" {
		t.Skip("-scale is not set")
	}
	var sizes []int
	for text := range strings.SplitSeq(*scale, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, n)
	}
	p := install(t, "decisionService: {replicas: 2}")
	var namespaces []string
	for range scaleNamespaces {
		namespaces = append(namespaces, p.s.Namespace(t, "tenant"))
	}
	a := p.newAgent(t, namespaces[0], scaleAccount(0), contract.Audience(platformNamespace, serviceName))
	load := loadAverage(t)
	var all []measurement
	have := 0
	for _, n := range sizes {
		m := measurement{policies: n}
		p.grow(t, namespaces, have, n, &m)
		have = n
		m.managerMiB, m.replicaMiB = p.manager.residentMiB(t), p.replicas[0].residentMiB(t)
		for i := range scaleEdits {
			m.edits = append(m.edits, p.edit(t, a, namespaces[0], i))
		}
		all = append(all, m)
		t.Logf("%+v", m)
	}
	writeScale(t, load, all)
}

func scaleAccount(i int) string { return fmt.Sprintf("agent-%d", i) }

// grow creates policies up to a number and waits until all are in force.
func (p *platform) grow(t *testing.T, namespaces []string, from, to int, m *measurement) {
	t.Helper()
	begun := time.Now()
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(scaleWorkers)
	for i := from; i < to; i++ {
		g.Go(func() error {
			return p.s.Client().Create(ctx, scalePolicy(namespaces[i%len(namespaces)], i))
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, scalePatience, "every replica has every policy in force", func(ctx context.Context) error {
		return p.everyReplica(ctx, func(s v1alpha1.DecisionReplicaStatus) bool { return int(s.Policies) == to })
	})
	m.inForce = time.Since(begun)
	for {
		var list v1alpha1.HookPolicyList
		if err := p.s.Client().List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(list.Items, func(hp v1alpha1.HookPolicy) bool {
			return !meta.IsStatusConditionTrue(hp.Status.Conditions, v1alpha1.ConditionProgrammed)
		}) {
			break
		}
		if time.Since(begun) > scalePatience {
			t.Fatal("some policies are not programmed")
		}
		time.Sleep(200 * time.Millisecond) // a list of all costs what is measured
	}
	m.programmed = time.Since(begun)
}

// scalePolicy has three hooks, as the one of the README.
func scalePolicy(namespace string, i int) *v1alpha1.HookPolicy {
	return &v1alpha1.HookPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("policy-%d", i)},
		Spec: v1alpha1.HookPolicySpec{
			Agents: v1alpha1.Agents{ServiceAccounts: []string{scaleAccount(i)}},
			Hooks: []v1alpha1.Hook{
				{Name: "stay-in-the-data", PathAllowlist: &v1alpha1.PathAllowlist{Resolve: v1alpha1.ResolveAgent}},
				{Name: "no-accidents", DestructiveSQL: &v1alpha1.DestructiveSQL{}},
				{Name: "own-customers", Rewrite: &v1alpha1.Rewrite{Tools: []string{"crm_search"}, Remove: []string{"tenant"}}},
			},
		},
	}
}

// edit changes the agent's policy and returns how long it took until every
// replica decides by it.
func (p *platform) edit(t *testing.T, a *agent, namespace string, i int) time.Duration {
	t.Helper()
	answers := []v1alpha1.UnlistedTools{v1alpha1.UnlistedToolsDeny, v1alpha1.UnlistedToolsAllow}
	decisions := []decisionv1.Decision{decisionv1.Deny, decisionv1.Allow}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"unlistedTools":%q}}`, answers[i%2]))
	begun := time.Now()
	if err := p.s.Client().Patch(t.Context(), scalePolicy(namespace, 0), patch); err != nil {
		t.Fatal(err)
	}
	call := decisionv1.Request{Tool: "kb_search", Args: json.RawMessage(`{}`)}
	for a.gets(t.Context(), call, decisions[i%2], "") != nil {
		if time.Since(begun) > patience {
			t.Fatal("the edit is not in force")
		}
	}
	return time.Since(begun)
}

// residentMiB is the memory that a process holds, as the kernel counts it.
func (p *process) residentMiB(t *testing.T) float64 {
	t.Helper()
	doc, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(doc)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kib); err == nil {
			return kib / 1024
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

// loadAverage is how many processes wanted a processor in the last minute.
func loadAverage(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	one, _, _ := strings.Cut(string(doc), " ")
	return one
}

func writeScale(t *testing.T, load string, all []measurement) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `# Scale

Written by `+"`make scale`"+`: %s, %s/%s, %d processors, which the API server, etcd, the
manager, two replicas, and the agent that asks share; the load was %s before the
run began. The chart is installed on a real API server; the policies have three
hooks each, in %d namespaces.

- *first apply to in force*: from the first of the creations, %d at a time, until
  both replicas report every policy;
- *to Programmed*: from the same moment until the status of every policy says so;
- *edit to in force*: from the patch of one policy until both replicas answer an
  agent by it, over TLS, with a ServiceAccount token, %d edits;
- *memory*: resident, as the kernel counts it, once all are in force. Part of it
  is what the garbage collector has not given back.

| policies | first apply to in force | to Programmed | edit to in force, p50 | p99 | replica | manager |
| --- | --- | --- | --- | --- | --- | --- |
`, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), load, scaleNamespaces, scaleWorkers, scaleEdits)
	for _, m := range all {
		slices.Sort(m.edits)
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %.0f MiB | %.0f MiB |\n", m.policies,
			m.inForce.Round(100*time.Millisecond), m.programmed.Round(100*time.Millisecond),
			m.edits[len(m.edits)/2].Round(time.Millisecond), m.edits[len(m.edits)*99/100].Round(time.Millisecond),
			m.replicaMiB, m.managerMiB)
	}
	b.WriteString(`
What a policy costs the API server does not grow with the number of replicas: a
replica writes its own DecisionReplica, once a second at most, and the manager
writes each policy's status once per generation.
`)
	if err := os.WriteFile(filepath.Join(root, "docs", "scale.md"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/hookpolicy/hookpolicy/controllers"
	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/kube"
	"github.com/hookpolicy/hookpolicy/internal/server"
)

// TestMetricsPage holds docs/reference/metrics.md to what the programs register.
func TestMetricsPage(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reference", "metrics.md")
	want := metricsPage(serviceMetrics(t), managerMetrics(t))
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, string(got)); diff != "" {
		t.Errorf("the page is not what make docs writes (-program +page):\n%s", diff)
	}
}

// allowedLabels are the names of all labels: each has values from a fixed list,
// or that the program made itself. None holds what a caller or a tenant wrote.
var allowedLabels = []string{
	"cause", "code", "condition", "decision", "digest", "go_version", "ignored", "kind", "result", "route", "state", "status", "version",
}

func TestMetricsHaveNamesLikeTheOthersAndNoLabelsThatCallersFill(t *testing.T) {
	name := regexp.MustCompile(`^hookpolicy(_[a-z]+)+$`)
	for _, m := range slices.Concat(serviceMetrics(t), managerMetrics(t)) {
		if !name.MatchString(m.name) || m.help == "" || !strings.HasSuffix(m.help, ".") {
			t.Errorf("%s: a name is hookpolicy_<subsystem>_<what>_<unit>, and its help a sentence: %q", m.name, m.help)
		}
		if total := strings.HasSuffix(m.name, "_total"); total != (m.kind == "counter") {
			t.Errorf("%s is a %s: counters and nothing else end in _total", m.name, m.kind)
		}
		for _, l := range m.labels {
			if !slices.Contains(allowedLabels, l) {
				t.Errorf("%s: label %q is not among those that are known to be bounded", m.name, l)
			}
		}
	}
}

// A metric is what is known of one before anything has happened.
type metric struct {
	name, kind, help string
	labels           []string
}

func (m metric) unit() string {
	for _, unit := range []string{"timestamp_seconds", "seconds", "bytes", "records"} {
		if strings.HasSuffix(strings.TrimSuffix(m.name, "_total"), "_"+unit) {
			return strings.ReplaceAll(unit, "_", " ")
		}
	}
	return ""
}

// registrations notes what is registered.
type registrations struct {
	*prometheus.Registry
	all map[string]metric
}

func newRegistrations() *registrations {
	return &registrations{prometheus.NewRegistry(), make(map[string]metric)}
}

func (r *registrations) Register(c prometheus.Collector) error {
	r.note(c)
	return r.Registry.Register(c)
}

func (r *registrations) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		r.note(c)
	}
	r.Registry.MustRegister(all...)
}

// desc reads how a prometheus.Desc prints itself: it has no other accessors.
var desc = regexp.MustCompile(`^Desc\{fqName: "([^"]*)", help: "(.*?)"(?:, unit: "[^"]*")?, constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

func (r *registrations) note(c prometheus.Collector) {
	ch := make(chan *prometheus.Desc, 16)
	c.Describe(ch)
	close(ch)
	for d := range ch {
		m := desc.FindStringSubmatch(d.String())
		if m == nil || m[3] != "" {
			panic("cannot read " + d.String())
		}
		found := metric{name: m[1], kind: kindOf(c), help: m[2]}
		if m[4] != "" {
			found.labels = strings.Split(m[4], ",")
		}
		r.all[found.name] = found
	}
}

func (r *registrations) sorted() []metric {
	return slices.SortedFunc(maps.Values(r.all), func(a, b metric) int { return cmp.Compare(a.name, b.name) })
}

func kindOf(c prometheus.Collector) string {
	switch c.(type) {
	case prometheus.Histogram, *prometheus.HistogramVec:
		return "histogram"
	case *prometheus.CounterVec:
		return "counter"
	case *prometheus.GaugeVec, *controllers.Collector:
		return "gauge"
	}
	if _, ok := c.(prometheus.Gauge); ok { // every Gauge is a Counter too
		return "gauge"
	}
	if _, ok := c.(prometheus.Counter); ok {
		return "counter"
	}
	return "gauge" // a GaugeFunc
}

// serviceMetrics sets up every part of a decision service, from files and in a
// cluster.
func serviceMetrics(t *testing.T) []metric {
	t.Helper()
	r := newRegistrations()
	dir := t.TempDir()
	registerProcess(r, dir)
	log, err := openAudit(t.Context(), config{auditDir: filepath.Join(dir, "audit")}, slog.New(slog.DiscardHandler), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	constructors, err := newConstructors()
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Options{
		Constructors: constructors, Recorder: log, Approvals: approval.NewMemoryStore(approval.MemoryOptions{}), Metrics: r,
	})
	if err != nil {
		t.Fatal(err)
	}
	files := config{policies: []string{filepath.Join("..", "..", "test", "policies", "quickstart.yaml")}}
	o, err := newFileOrigin(t.Context(), files, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.open(t.Context(), e, r); err != nil {
		t.Fatal(err)
	}
	client, err := kube.NewClient(&rest.Config{Host: "https://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	binding := kube.Binding{Service: types.NamespacedName{Namespace: "n", Name: "s"}}
	if _, err := kube.NewSource(kube.SourceOptions{Client: client, Binding: binding, Metrics: r}); err != nil {
		t.Fatal(err)
	}
	kube.NewTokenReviewer(client, "audience", r)
	_, err = server.New(server.Config{
		Engine: e, Authenticator: server.Loopback{Caller: chain.Caller{}}, Certificate: new(server.Certificate), Registerer: r,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.sorted()
}

func managerMetrics(t *testing.T) []metric {
	t.Helper()
	r := newRegistrations()
	r.note(controllers.NewCollector(t.Context(), nil, version))
	return r.sorted()
}

func metricsPage(service, manager []metric) string {
	var b strings.Builder
	b.WriteString("# Metrics\n\nWritten by `make docs` from what the programs register. No label holds anything that a caller or a tenant wrote.\n" +
		"What to do about them: [operations](../operations.md).\n")
	for _, program := range []struct {
		title, more string
		metrics     []metric
	}{
		{"Decision service", "`GET /metrics` on the port of the decision API. Beside these there are the usual ones of Go and the process, `go_…` and\n`process_…`. Those of `hookpolicy_kube_…` are there with `serve --kube`, those of `hookpolicy_policy_files_…` without.", service},
		{"Manager", "Beside this there are those of controller-runtime, such as `controller_runtime_reconcile_errors_total`, and of Go and the process.", manager},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| metric | type | labels | unit | meaning |\n| --- | --- | --- | --- | --- |\n", program.title, program.more)
		for _, m := range program.metrics {
			var labels []string
			for _, l := range m.labels {
				labels = append(labels, "`"+l+"`")
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.name, m.kind, strings.Join(labels, ", "), m.unit(), m.help)
		}
	}
	return b.String()
}

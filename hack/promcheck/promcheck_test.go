package promcheck

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	"sigs.k8s.io/yaml"
)

const (
	root       = "../.."
	monitoring = root + "/charts/hookpolicy/files/monitoring/"
)

// foreign are the metrics of others that we read, with the labels that we use.
var foreign = map[string][]string{
	"controller_runtime_reconcile_errors_total": {"controller"},
	"process_resident_memory_bytes":             {},
}

// scraped are the labels that Prometheus adds, and that of a histogram's bound.
var scraped = []string{"namespace", "pod", "job", "instance"}

type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func TestEveryAlertReadsMetricsThatExist(t *testing.T) {
	known := catalogue(t)
	for _, r := range alerts(t) {
		check(t, "alert "+r.Alert, r.Expr, known)
	}
}

func TestEveryAlertTellsPeopleWhatToDo(t *testing.T) {
	page := string(read(t, root+"/docs/operations.md"))
	headings := regexp.MustCompile(`(?m)^#+ (HookPolicy\w+)$`).FindAllStringSubmatch(page, -1)
	var names []string
	for _, r := range alerts(t) {
		names = append(names, r.Alert)
		if !slices.Contains([]string{"critical", "warning"}, r.Labels["severity"]) {
			t.Errorf("%s: severity is %q", r.Alert, r.Labels["severity"])
		}
		for _, a := range []string{"summary", "description"} {
			if !strings.HasSuffix(r.Annotations[a], ".") {
				t.Errorf("%s: its %s is no sentence: %q", r.Alert, a, r.Annotations[a])
			}
		}
	}
	var described []string
	for _, h := range headings {
		described = append(described, h[1])
	}
	slices.Sort(names)
	slices.Sort(described)
	if !slices.Equal(names, described) {
		t.Errorf("docs/operations.md has runbooks for\n%q\nthe alerts are\n%q", described, names)
	}
}

func TestEveryPanelReadsMetricsThatExist(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(read(t, monitoring+"dashboard.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	known := catalogue(t)
	variables := strings.NewReplacer("$__rate_interval", "5m", "$namespace", ".*")
	for _, p := range dashboard.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("panel %s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			check(t, "panel "+p.Title, variables.Replace(target.Expr), known)
		}
	}
}

func TestWhatIsWrongIsFound(t *testing.T) {
	known := catalogue(t)
	for name, expr := range map[string]string{
		"no expression":                "sum(",
		"a metric that does not exist": "sum(hookpolicy_decision_total)",
		"a label that does not exist":  `hookpolicy_decisions_total{tenant="a"}`,
		"a group that does not exist":  "sum by (tenant) (hookpolicy_decisions_total)",
		"a gauge taken for a counter":  "rate(hookpolicy_approvals_pending[5m])",
		"a counter without a rate":     "sum(hookpolicy_audit_failures_total)",
		"a histogram's name alone":     "hookpolicy_decision_duration_seconds",
		"a function of another tongue": "rollup_rate(hookpolicy_decisions_total[5m])",
	} {
		if len(problems(expr, known)) == 0 {
			t.Errorf("%s passes: %s", name, expr)
		}
	}
}

func alerts(t *testing.T) []rule {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(read(t, monitoring+"alerts.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("there are no alerts")
	}
	return all
}

// A series is what one name stands for.
type series struct {
	kind   string
	labels []string
}

var row = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\| ([^|]*) \\|")

// catalogue reads the page of metrics.
func catalogue(t *testing.T) map[string]series {
	t.Helper()
	known := make(map[string]series)
	for _, m := range row.FindAllStringSubmatch(string(read(t, root+"/docs/reference/metrics.md")), -1) {
		var labels []string
		for _, l := range strings.Split(m[3], ",") {
			labels = append(labels, strings.Trim(l, " `"))
		}
		if m[2] != "histogram" {
			known[m[1]] = series{m[2], labels}
			continue
		}
		for _, suffix := range []string{"_sum", "_count", "_bucket"} {
			known[m[1]+suffix] = series{"counter", append(slices.Clone(labels), "le")}
		}
	}
	if len(known) == 0 {
		t.Fatal("the page of metrics has none")
	}
	for name, labels := range foreign {
		kind := "gauge"
		if strings.HasSuffix(name, "_total") {
			kind = "counter"
		}
		known[name] = series{kind, labels}
	}
	return known
}

func check(t *testing.T, what, expr string, known map[string]series) {
	t.Helper()
	for _, p := range problems(expr, known) {
		t.Errorf("%s: %s, in %s", what, p, expr)
	}
}

// functions are those that we use and that PromQL has; the parser knows others.
var functions = []string{"rate", "increase", "predict_linear", "histogram_quantile", "absent", "time"}

var aggregations = []string{"sum", "count", "min", "max", "topk"}

// problems says what is wrong with an expression.
func problems(expr string, known map[string]series) []string {
	parsed, err := metricsql.Parse(expr)
	if err != nil {
		return []string{err.Error()}
	}
	var found, labels []string
	counted := make(map[*metricsql.MetricExpr]bool) // those below rate or increase
	groups := []string{}
	visit := func(e metricsql.Expr) {
		switch e := e.(type) {
		case *metricsql.FuncExpr:
			if !slices.Contains(functions, e.Name) {
				found = append(found, "function "+e.Name+" is not among those we use")
			}
			if e.Name == "rate" || e.Name == "increase" {
				metricsql.VisitAll(e, func(below metricsql.Expr) {
					if m, ok := below.(*metricsql.MetricExpr); ok {
						counted[m] = true
					}
				})
			}
		case *metricsql.AggrFuncExpr:
			if !slices.Contains(aggregations, e.Name) {
				found = append(found, "aggregation "+e.Name+" is not among those we use")
			}
			groups = append(groups, e.Modifier.Args...)
		}
	}
	metricsql.VisitAll(parsed, visit)
	metricsql.VisitAll(parsed, func(e metricsql.Expr) {
		m, ok := e.(*metricsql.MetricExpr)
		if !ok {
			return
		}
		for _, filters := range m.LabelFilterss {
			s, name := series{}, ""
			for _, f := range filters {
				if f.Label == "__name__" {
					name = f.Value
					var ok bool
					if s, ok = known[name]; !ok {
						found = append(found, "there is no metric "+name)
						return
					}
					labels = append(labels, s.labels...)
				}
			}
			if (s.kind == "counter") != counted[m] {
				found = append(found, name+" is a "+s.kind+", and is read as if it were not")
			}
			for _, f := range filters {
				if f.Label != "__name__" && !slices.Contains(s.labels, f.Label) && !slices.Contains(scraped, f.Label) {
					found = append(found, name+" has no label "+f.Label)
				}
			}
		}
	})
	for _, g := range groups {
		if !slices.Contains(labels, g) && !slices.Contains(scraped, g) {
			found = append(found, "no metric has a label "+g)
		}
	}
	return found
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	doc, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

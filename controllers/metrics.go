package controllers

import (
	"context"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
)

// collectTimeout bounds how long a scrape waits for the cache.
const collectTimeout = 5 * time.Second

// A Collector counts the objects of each kind by their conditions when it is
// asked, so that nothing is left of an object that is gone. It names none.
type Collector struct {
	ctx     context.Context //nolint:containedctx // prometheus.Collector has no parameter for it
	reader  client.Reader
	objects *prometheus.Desc
	build   prometheus.Metric
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a collector that reads from a cache until ctx is done.
func NewCollector(ctx context.Context, cache client.Reader, version string) *Collector {
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "hookpolicy_build_info", Help: "1, with the version of the program and of the Go that built it.",
	}, []string{"version", "go_version"}).WithLabelValues(version, runtime.Version())
	build.Set(1)
	return &Collector{
		ctx: ctx, reader: cache, build: build,
		objects: prometheus.NewDesc("hookpolicy_manager_objects",
			"HookPolicies, ClusterHookPolicies and DecisionServices by each of their conditions and its status; Unknown if they have none yet.",
			[]string{"kind", "condition", "status"}, nil),
	}
}

// Describe tells which series there may be.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.objects
	ch <- c.build.Desc()
}

// Collect counts. What the cache does not answer has no series in this scrape.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	ch <- c.build
	ctx, cancel := context.WithTimeout(c.ctx, collectTimeout)
	defer cancel()
	policy := []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionProgrammed, v1alpha1.ConditionConflicted}
	services := &v1alpha1.DecisionServiceList{}
	if c.list(ctx, services) {
		t := newTally([]string{v1alpha1.ConditionServiceAccepted, v1alpha1.ConditionServiceProgrammed, v1alpha1.ConditionServiceReady})
		for i := range services.Items {
			t.add(services.Items[i].Status.Conditions)
		}
		c.send(ch, "DecisionService", t)
	}
	tenants := &v1alpha1.HookPolicyList{}
	if c.list(ctx, tenants) {
		t := newTally(policy)
		for i := range tenants.Items {
			t.add(tenants.Items[i].Status.Conditions)
		}
		c.send(ch, "HookPolicy", t)
	}
	baseline := &v1alpha1.ClusterHookPolicyList{}
	if c.list(ctx, baseline) {
		t := newTally(policy[:2])
		for i := range baseline.Items {
			t.add(baseline.Items[i].Status.Conditions)
		}
		c.send(ch, "ClusterHookPolicy", t)
	}
}

// list reads a kind without copying it: nothing here writes to it.
func (c *Collector) list(ctx context.Context, l client.ObjectList) bool {
	return c.reader.List(ctx, l, client.UnsafeDisableDeepCopy) == nil
}

func (c *Collector) send(ch chan<- prometheus.Metric, kind string, t *tally) {
	for _, condition := range t.conditions {
		for _, status := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown} {
			ch <- prometheus.MustNewConstMetric(c.objects, prometheus.GaugeValue,
				float64(t.counts[condition][status]), kind, condition, string(status))
		}
	}
}

// A tally counts objects by the status of each of some conditions.
type tally struct {
	conditions []string
	counts     map[string]map[metav1.ConditionStatus]int
}

func newTally(conditions []string) *tally {
	t := &tally{conditions: conditions, counts: make(map[string]map[metav1.ConditionStatus]int)}
	for _, c := range conditions {
		t.counts[c] = make(map[metav1.ConditionStatus]int)
	}
	return t
}

func (t *tally) add(conditions []metav1.Condition) {
	for _, c := range t.conditions {
		status := metav1.ConditionUnknown
		if found := meta.FindStatusCondition(conditions, c); found != nil {
			status = found.Status
		}
		t.counts[c][status]++
	}
}

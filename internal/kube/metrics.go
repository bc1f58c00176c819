package kube

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Results of token reviews, as a metric counts them.
const (
	reviewAccepted    = "accepted"
	reviewRefused     = "refused"
	reviewUnavailable = "unavailable"
)

type sourceMetrics struct {
	lastGood   prometheus.Gauge
	inForce    prometheus.Gauge
	rejected   prometheus.Gauge
	reconnects *prometheus.CounterVec
	set        *prometheus.GaugeVec
}

func newSourceMetrics(r prometheus.Registerer, synced, lastSync func() float64) *sourceMetrics {
	f := promauto.With(r)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hookpolicy_kube_synced",
		Help: "1 while the policies in force are those of the API server and its changes come in, 0 before that and while it cannot be reached.",
	}, synced)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hookpolicy_kube_last_sync_timestamp_seconds",
		Help: "Unix time at which the policies in force were last known to be those of the API server; 0 before the first time.",
	}, lastSync)
	policies := f.NewGaugeVec(prometheus.GaugeOpts{
		Name: "hookpolicy_kube_policies", Help: "Policies, by what became of their latest version: in_force or rejected.",
	}, []string{"state"})
	return &sourceMetrics{
		lastGood: f.NewGauge(prometheus.GaugeOpts{
			Name: "hookpolicy_kube_last_good", Help: "1 while the policies in force are those that an earlier process left behind.",
		}),
		inForce:  policies.WithLabelValues("in_force"),
		rejected: policies.WithLabelValues("rejected"),
		reconnects: f.NewCounterVec(prometheus.CounterOpts{
			Name: "hookpolicy_kube_reconnects_total", Help: "Times that a watch was begun anew, by kind of policy.",
		}, []string{"kind"}),
		set: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "hookpolicy_kube_policy_set_info", Help: "1 for the digest of the policies in force. Replicas with other digests decide by other policies.",
		}, []string{"digest"}),
	}
}

// setDigest shows one digest and no earlier one.
func (m *sourceMetrics) setDigest(digest string) {
	m.set.Reset()
	m.set.WithLabelValues(digest).Set(1)
}

// Results of a look into the cache of token reviews.
const (
	cacheAccepted = "accepted"
	cacheRefused  = "refused"
	cacheMiss     = "miss"
)

type reviewMetrics struct {
	results *prometheus.CounterVec
	seconds prometheus.Histogram
	// Of the cache, looked up once: every call asks it.
	cacheAccepted, cacheRefused, cacheMiss prometheus.Counter
}

func newReviewMetrics(r prometheus.Registerer) *reviewMetrics {
	f := promauto.With(r)
	lookups := f.NewCounterVec(prometheus.CounterOpts{
		Name: "hookpolicy_kube_token_cache_lookups_total", Help: "Looks into the cache of token reviews, by result: accepted, refused or miss.",
	}, []string{"result"})
	return &reviewMetrics{
		results: f.NewCounterVec(prometheus.CounterOpts{
			Name: "hookpolicy_kube_token_reviews_total",
			Help: "Tokens that the API server was asked about, by result: accepted, refused or unavailable.",
		}, []string{"result"}),
		seconds: f.NewHistogram(prometheus.HistogramOpts{
			Name: "hookpolicy_kube_token_review_duration_seconds", Help: "Time that the API server took to review a token, failures included.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}),
		cacheAccepted: lookups.WithLabelValues(cacheAccepted),
		cacheRefused:  lookups.WithLabelValues(cacheRefused),
		cacheMiss:     lookups.WithLabelValues(cacheMiss),
	}
}

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
}

func newSourceMetrics(r prometheus.Registerer, synced func() float64) *sourceMetrics {
	f := promauto.With(r)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hookpolicy_kube_synced",
		Help: "1 while the policies in force are those of the API server and its changes come in, 0 before that and while it cannot be reached.",
	}, synced)
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
	}
}

func newReviewCounter(r prometheus.Registerer) *prometheus.CounterVec {
	return promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "hookpolicy_kube_token_reviews_total",
		Help: "Tokens that the API server was asked about, by result: accepted, refused or unavailable.",
	}, []string{"result"})
}

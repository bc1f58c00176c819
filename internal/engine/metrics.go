package engine

import "github.com/prometheus/client_golang/prometheus"

// metrics are the engine's series. Labels hold decisions and codes only, all
// of them from fixed lists: never a tool, a path or anything that a caller sent.
type metrics struct {
	decisions     *prometheus.CounterVec
	seconds       prometheus.Histogram
	hookFailures  *prometheus.CounterVec
	refusals      *prometheus.CounterVec
	outcomes      *prometheus.CounterVec
	approvals     *prometheus.CounterVec
	auditFailures prometheus.Counter
	appends       prometheus.Histogram
	held          prometheus.Gauge
	policies      prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hookpolicy_decisions_total", Help: "Decisions by what was answered and the code of the reason.",
		}, []string{"decision", "code"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "hookpolicy_decision_duration_seconds", Help: "Time from a parsed call to its recorded answer, without waits for people.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1},
		}),
		hookFailures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hookpolicy_hook_failures_total", Help: "Hooks that could not judge, by cause and whether the policy ignores it.",
		}, []string{"cause", "ignored"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hookpolicy_refusals_total", Help: "Requests that never became a call, by code.",
		}, []string{"code"}),
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hookpolicy_outcomes_total", Help: "Reported outcomes by status.",
		}, []string{"status"}),
		approvals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hookpolicy_approval_steps_total", Help: "Steps of held calls by the state they led to.",
		}, []string{"state"}),
		auditFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hookpolicy_audit_failures_total", Help: "Records that could not be made durable.",
		}),
		appends: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "hookpolicy_audit_append_duration_seconds", Help: "Time until a record is durable, or known not to be: the part of a decision that waits for the disk.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5, 10},
		}),
		held: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "hookpolicy_approvals_pending", Help: "Calls that are held until a person decides, counted every ten seconds.",
		}),
		policies: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "hookpolicy_policies", Help: "Policies in force, the baseline's included.",
		}),
	}
	if r != nil {
		r.MustRegister(m.decisions, m.seconds, m.hookFailures, m.refusals, m.outcomes, m.approvals, m.auditFailures,
			m.appends, m.held, m.policies)
	}
	return m
}

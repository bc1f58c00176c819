package server

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the server's own. No label holds anything that a client wrote:
// routes and codes are constants.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight *prometheus.GaugeVec
	refused  *prometheus.CounterVec
}

func newMetrics() *metrics {
	return &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hookpolicy_http_requests_total",
			Help: "Requests answered, by route and status code.",
		}, []string{"route", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "hookpolicy_http_request_duration_seconds",
			Help:    "Time from the request's header to the end of its answer, by route. It holds waits for people.",
			Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30, 300},
		}, []string{"route"}),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "hookpolicy_http_requests_in_flight",
			Help: "Requests in work, by route.",
		}, []string{"route"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hookpolicy_http_requests_refused_total",
			Help: "Requests refused before they became a call, by the refusal's code.",
		}, []string{"code"}),
	}
}

// expiryOf shows when the serving certificate ends.
func expiryOf(c *Certificate) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hookpolicy_tls_certificate_expiry_timestamp_seconds",
		Help: "Unix time at which the serving certificate in use expires.",
	}, func() float64 { return float64(c.NotAfter().Unix()) })
}

func (m *metrics) register(r prometheus.Registerer, more ...prometheus.Collector) error {
	for _, c := range append(more, m.requests, m.duration, m.inFlight, m.refused) {
		if err := r.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// routeMetrics are those of one route, looked up once.
type routeMetrics struct {
	duration prometheus.Observer
	inFlight prometheus.Gauge
	ok       prometheus.Counter
	requests *prometheus.CounterVec
}

func (m *metrics) route(path string) *routeMetrics {
	requests := m.requests.MustCurryWith(prometheus.Labels{"route": path})
	return &routeMetrics{
		duration: m.duration.WithLabelValues(path),
		inFlight: m.inFlight.WithLabelValues(path),
		ok:       requests.WithLabelValues(codeText(http.StatusOK)),
		requests: requests,
	}
}

func (m *routeMetrics) count(status int) {
	if status == http.StatusOK {
		m.ok.Inc()
		return
	}
	m.requests.WithLabelValues(codeText(status)).Inc()
}

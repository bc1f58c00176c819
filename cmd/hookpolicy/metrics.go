package main

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// newRegistry returns a registry with what is not of any one part: the process,
// the build and the disk that holds the audit.
func newRegistry(auditDir string) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registerProcess(registry, auditDir)
	return registry
}

func registerProcess(r prometheus.Registerer, auditDir string) {
	f := promauto.With(r)
	f.NewGaugeVec(prometheus.GaugeOpts{
		Name: "hookpolicy_build_info", Help: "1, with the version of the program and of the Go that built it.",
	}, []string{"version", "go_version"}).WithLabelValues(version, runtime.Version()).Set(1)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hookpolicy_audit_volume_free_bytes", Help: "Space that the audit log can still take; NaN if the volume cannot be asked.",
	}, func() float64 { return spaceOn(auditDir).free })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hookpolicy_audit_volume_size_bytes", Help: "Size of the volume that holds the audit log; NaN if it cannot be asked.",
	}, func() float64 { return spaceOn(auditDir).size })
}

// space is a volume's, in bytes.
type space struct{ free, size float64 }

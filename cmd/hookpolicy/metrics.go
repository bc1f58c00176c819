package main

import (
	"context"
	"log/slog"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/hookpolicy/hookpolicy/internal/audit/store"
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

// auditMetrics are the audit log's series. They name no tenant: a log has
// thousands.
type auditMetrics struct {
	batchRecords  prometheus.Histogram
	poisonedFiles prometheus.Counter
}

var _ store.Observer = (*auditMetrics)(nil)

func newAuditMetrics(r prometheus.Registerer) *auditMetrics {
	f := promauto.With(r)
	return &auditMetrics{
		batchRecords: f.NewHistogram(prometheus.HistogramOpts{
			Name: "hookpolicy_audit_batch_records", Help: "Records that were written together, of all chains.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024},
		}),
		poisonedFiles: f.NewCounter(prometheus.CounterOpts{
			Name: "hookpolicy_audit_poisoned_files_total",
			Help: "Files that were given up because the disk did not confirm a write. Their chains went on in new ones.",
		}),
	}
}

// Batch measures a batch.
func (m *auditMetrics) Batch(records int) { m.batchRecords.Observe(float64(records)) }

// FileGivenUp counts a file.
func (m *auditMetrics) FileGivenUp() { m.poisonedFiles.Inc() }

// openAudit opens the audit log, measured.
func openAudit(ctx context.Context, c config, logger *slog.Logger, r prometheus.Registerer) (*store.Log, error) {
	o := store.Options{Replica: c.replica, Logger: logger, Observer: newAuditMetrics(r)}
	log, err := store.OpenSigned(ctx, c.auditDir, o, signing(ctx, c, logger))
	if err != nil {
		return nil, err
	}
	promauto.With(r).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hookpolicy_audit_corrupt_chains",
		Help: "Chains that were found damaged and take no more records. Every call of their tenants is denied; others go on.",
	}, func() float64 { return float64(log.CorruptChains()) })
	return log, nil
}

package store

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are the log's series. They name no tenant: a log has thousands.
type metrics struct {
	batchRecords  prometheus.Histogram
	poisonedFiles prometheus.Counter
}

func (l *Log) newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hookpolicy_audit_corrupt_chains",
		Help: "Chains that were found damaged and take no more records. Every call of their tenants is denied; others go on.",
	}, func() float64 { return float64(l.CorruptChains()) })
	return &metrics{
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

// CorruptChains is how many chains take no more records until a person has
// looked at them. A chain is looked at when it is first used.
func (l *Log) CorruptChains() int {
	l.chainsMu.RLock()
	defer l.chainsMu.RUnlock()
	n := 0
	for _, c := range l.chains {
		if c.refused.Load() != nil {
			n++
		}
	}
	return n
}

package store

import (
	"context"

	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
)

// Round signs and publishes at once what a signed log would in a while.
func (l *Log) Round(ctx context.Context) error { return l.watcher.(*signer).round(ctx) }

// Mark returns how far a tenant's chain has come.
func (l *Log) Mark(tenant string) checkpoint.Watermark {
	p, _ := l.prefixOf(tenant)
	return p.mark
}

// Overtake makes a log believe that more is signed of a chain than is durable.
func (l *Log) Overtake(tenant string) {
	l.chainsMu.Lock()
	defer l.chainsMu.Unlock()
	l.durableMu.Lock()
	defer l.durableMu.Unlock()
	l.chains[tenant].mark.Durable--
}

// ForgetSigned is what a repair does.
func ForgetSigned(dir, tenant string) error {
	fsys, err := openOS(dir)
	if err != nil {
		return err
	}
	return forgetSigned(fsys, TenantID(tenant))
}

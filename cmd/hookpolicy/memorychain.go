package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/engine"
)

// A memoryChain is an audit log that ends with the process: an offline check
// shows what the audit would hold, and leaves nothing behind.
type memoryChain struct {
	mu     sync.Mutex
	places map[string]*audit.Place
	last   []byte // the line of the last decision
}

var _ engine.Recorder = (*memoryChain)(nil)

func (m *memoryChain) Append(_ context.Context, tenant string, rec *audit.Record) (audit.Receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.places == nil {
		m.places = make(map[string]*audit.Place)
	}
	p := m.places[tenant]
	if p == nil {
		p = &audit.Place{Tenant: tenant, Replica: "check"}
		m.places[tenant] = p
	}
	p.Time = time.Now()
	line, hash, err := audit.AppendLine(nil, rec, *p)
	if err != nil {
		return audit.Receipt{}, fmt.Errorf("encode the record: %w", err)
	}
	receipt := audit.Receipt{Chain: "check/" + tenant, Seq: p.Seq, Hash: hash.String()}
	p.Seq, p.Prev = p.Seq+1, hash
	if rec.Kind == audit.KindDecision {
		m.last = line
	}
	return receipt, nil
}

// Commitment is keyed with a constant, so that two runs print the same: an
// offline check is no place for secrets that the key would have to protect.
func (m *memoryChain) Commitment(tenant string, data []byte) string {
	mac := hmac.New(sha256.New, []byte("hookpolicy check "+tenant))
	mac.Write(data)
	return hex.EncodeToString(mac.Sum(nil))
}

func (m *memoryChain) Ready() error { return nil }

// take returns the line of the last decision, once.
func (m *memoryChain) take() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	line := m.last
	m.last = nil
	return line
}

// forgetful is an approval store that remembers the one call that is being
// decided, and lists none, so that each case is judged as if it were the first.
// It is for one caller at a time.
type forgetful struct{ held approval.Approval }

var _ approval.Store = (*forgetful)(nil)

func (f *forgetful) Create(_ context.Context, a approval.Approval) (approval.Approval, error) {
	f.held = a
	return a, nil
}

func (f *forgetful) Get(_ context.Context, id string) (approval.Approval, error) {
	if id != f.held.ID {
		return approval.Approval{}, approval.ErrNotFound
	}
	return f.held, nil
}

func (f *forgetful) Update(_ context.Context, a approval.Approval) (approval.Approval, error) {
	if a.ID != f.held.ID {
		return approval.Approval{}, approval.ErrNotFound
	}
	f.held = a
	return a, nil
}

func (*forgetful) List(context.Context, approval.Filter) ([]approval.Approval, error) {
	return nil, nil
}

func (*forgetful) Watch(ctx context.Context, _ string) <-chan approval.Approval {
	ch := make(chan approval.Approval)
	context.AfterFunc(ctx, func() { close(ch) })
	return ch
}

package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// When changes come into force.
const (
	quietFor     = 40 * time.Millisecond  // without a change ends a burst
	burstAtMost  = 250 * time.Millisecond // however long the burst
	retryApply   = time.Second            // after a set that could not be put in force
	connectIn    = 4 * time.Second        // or start from the last good policies
	lookAgainFor = time.Second            // whether the API server was reached after all
)

// SourceOptions are a Source's parts and settings.
type SourceOptions struct {
	Client  *Client // required
	Binding Binding // Service is required
	// StateFile is where the last good policies are kept. Empty: nowhere.
	StateFile string
	// Check reports why a segment that compiles cannot be put in force. Default:
	// every one can.
	Check func(*plan.Segment) error
	// Report is told what is in force, each time that it changes. It must not
	// block. Default: nobody is told.
	Report  func(InForce)
	Logger  *slog.Logger          // default: discards
	Metrics prometheus.Registerer // default: unregistered
}

// InForce is what one replica has in force.
type InForce struct {
	SetDigest string
	Policies  int // those that decide here
	// Reached are the resource versions up to which everything is in force.
	Reached v1alpha1.ReachedVersions
	// RejectedPolicies is how many policies have a latest version that could not
	// be taken over. Rejected are the first hundred of them, by name.
	RejectedPolicies int
	Rejected         []v1alpha1.RejectedPolicy
}

// A Source is the policies of a cluster, as one decision service sees them.
type Source struct {
	options SourceOptions
	log     *slog.Logger
	metrics *sourceMetrics
	feeds   [kinds]*feed
	table   *table
	saver   *saver
	live    atomic.Bool  // what is in force is the API server's
	current atomic.Int64 // Unix milliseconds at which it was last known to be so

	applied uint64 // version of the table that is in force
}

// NewSource returns a source. It reads the last good policies, and connects to
// nothing yet.
func NewSource(o SourceOptions) (*Source, error) {
	if o.Client == nil || o.Binding.Service.Namespace == "" || o.Binding.Service.Name == "" {
		return nil, errors.New("a source of policies needs a client and the name of its decision service")
	}
	s := &Source{options: o, log: o.Logger}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.metrics = newSourceMetrics(o.Metrics, func() float64 {
		if s.synced() {
			return 1
		}
		return 0
	}, s.lastSync)
	for k, namespace := range [kinds]string{hookPolicies: o.Binding.scope()} {
		reconnects := s.metrics.reconnects.WithLabelValues(kind(k).String())
		s.feeds[k] = newFeed(o.Client, kind(k), namespace, s.log, reconnects.Inc)
	}
	s.table = newTable(&compiler{binding: o.Binding, check: o.Check}, s.remember(), s.logTaken)
	s.saver = newSaver(o.StateFile, s.log, s.connected)
	return s, nil
}

// remember reads what an earlier process left behind, nil if that is nothing
// that can be used. A damaged file is set aside for people to look at.
func (s *Source) remember() *memory {
	path := s.options.StateFile
	if path == "" {
		return nil
	}
	st, err := readState(path)
	if err == nil && st == nil {
		return nil
	}
	if err == nil {
		err = st.usable(time.Now())
	}
	if errors.Is(err, errStateDamaged) {
		err = errors.Join(err, os.Rename(path, path+".damaged"))
	}
	if err != nil {
		s.log.Warn("Last good policies of an earlier process cannot be used", slog.Any("error", err))
		return nil
	}
	return newMemory(st)
}

// connected reports whether changes of every kind come in.
func (s *Source) connected() bool {
	return !slices.ContainsFunc(s.feeds[:], func(f *feed) bool { return !f.connected.Load() })
}

// synced reports whether what is in force is the API server's.
func (s *Source) synced() bool { return s.live.Load() && s.connected() }

// lastSync is the Unix time at which synced last held, as far as anybody has
// looked: whoever reads the metric looks, and so does every change.
func (s *Source) lastSync() float64 {
	if s.synced() {
		s.current.Store(time.Now().UnixMilli())
	}
	return float64(s.current.Load()) / 1000
}

// Run puts policies in force by calling apply, from one goroutine, until ctx
// is done. A set that cannot be applied leaves the earlier one in force and is
// tried again.
func (s *Source) Run(ctx context.Context, apply func(context.Context, *plan.Set) error) {
	var wg sync.WaitGroup
	for _, f := range s.feeds {
		wg.Go(func() { f.run(ctx, s.table) })
	}
	if s.options.StateFile != "" {
		wg.Go(func() { s.saver.run(ctx) })
	}
	s.follow(ctx, apply)
	wg.Wait()
}

func (s *Source) follow(ctx context.Context, apply func(context.Context, *plan.Set) error) {
	waiting := time.NewTimer(connectIn)
	defer waiting.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-waiting.C:
			if !s.startFromLastGood(ctx, apply) {
				waiting.Reset(lookAgainFor)
			}
			continue
		case <-s.table.changed:
		}
		s.settle(ctx)
		snap := s.table.snapshot()
		if snap == nil {
			continue // a list is missing still
		}
		waiting.Stop()
		if err := s.put(ctx, snap, apply); err != nil {
			s.log.LogAttrs(ctx, slog.LevelError, "Policies cannot be put in force; the earlier ones stay", slog.Any("error", err))
			if !sleep(ctx, retryApply) {
				return
			}
			s.table.signal()
		}
	}
}

// settle waits until a burst of changes is over.
func (s *Source) settle(ctx context.Context) {
	end := time.NewTimer(burstAtMost)
	defer end.Stop()
	for {
		quiet := time.NewTimer(quietFor)
		select {
		case <-s.table.changed:
			quiet.Stop()
			continue
		case <-quiet.C:
		case <-end.C:
		case <-ctx.Done():
		}
		quiet.Stop()
		return
	}
}

// put puts a snapshot of the table in force and tells of it.
func (s *Source) put(ctx context.Context, snap *snapshot, apply func(context.Context, *plan.Set) error) error {
	if !s.live.Load() || s.applied != snap.version {
		if err := apply(ctx, snap.set); err != nil {
			return err
		}
		s.applied = snap.version
		level := slog.LevelDebug
		if !s.live.Swap(true) {
			level = slog.LevelInfo
		}
		s.metrics.lastGood.Set(0)
		s.count(snap)
		s.saver.offer(snap.lists)
		s.log.LogAttrs(ctx, level, "Policies are in force", slog.Int("policies", snap.inForce.Policies), slog.String("digest", snap.inForce.SetDigest))
	}
	if s.options.Report != nil {
		s.options.Report(snap.inForce)
	}
	return nil
}

func (s *Source) count(snap *snapshot) {
	s.metrics.inForce.Set(float64(snap.inForce.Policies))
	s.metrics.rejected.Set(float64(snap.inForce.RejectedPolicies))
	s.metrics.setDigest(snap.inForce.SetDigest)
	s.lastSync()
}

// startFromLastGood puts in force what an earlier process left behind, as long
// as the API server cannot be reached. It reports whether there is nothing
// more to wait for.
func (s *Source) startFromLastGood(ctx context.Context, apply func(context.Context, *plan.Set) error) (done bool) {
	if s.live.Load() {
		return true
	}
	if s.connected() {
		return false // a long list is coming in
	}
	snap := s.table.remembered()
	if snap == nil {
		s.log.LogAttrs(ctx, slog.LevelError, "API server cannot be reached and there are no last good policies; every call is denied")
		return true
	}
	if err := apply(ctx, snap.set); err != nil {
		s.log.LogAttrs(ctx, slog.LevelError, "Last good policies cannot be put in force", slog.Any("error", err))
		return true
	}
	s.metrics.lastGood.Set(1)
	s.count(snap)
	s.log.LogAttrs(ctx, slog.LevelWarn, "API server cannot be reached; the last good policies are in force",
		slog.Int("policies", snap.inForce.Policies), slog.String("digest", snap.inForce.SetDigest))
	return true
}

// logTaken says, once a version, why a policy is not taken over, or what is unwise
// about it.
func (s *Source) logTaken(k kind, e *entry) {
	for _, w := range e.warnings {
		s.log.Warn("Policy is allowed but unwise", slog.String("kind", k.String()), slog.String("policy", e.segment.Source.Tenant()),
			slog.Int64("generation", e.latest.generation), slog.String("warning", w))
	}
	if e.rejected == nil {
		return
	}
	outcome := "its last good version stays in force"
	if e.segment.Refusal != "" {
		outcome = "its callers are denied"
	}
	s.log.Warn("Policy cannot be taken over", slog.String("kind", k.String()), slog.String("policy", e.segment.Source.Tenant()),
		slog.Int64("generation", e.latest.generation), slog.String("outcome", outcome), slog.String("error", fmt.Sprint(e.rejected)))
}

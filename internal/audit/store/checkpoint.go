package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

// AnchorTenant is the tenant of the log's own chain: its records hold the
// tenants' checkpoints, so that its checkpoint anchors them all. It is no name
// of a namespace.
const AnchorTenant = layout.AnchorTenant

// Signing says what is signed and where it is published. The zero value signs
// and publishes nowhere.
type Signing struct {
	Interval  time.Duration // between checkpoints of chains that grow; default 5 s
	Heartbeat time.Duration // after which an idle chain says that it is alive; default 10 min
	Publisher Publisher     // nil: anchors stay in the log's directory
	// Alarm is told what must wake a person: contradictions, after which
	// nothing more is signed, and each round that failed. It must not block.
	Alarm func(error)
}

// A Publisher keeps anchors where whoever can write to the log's directory
// cannot.
type Publisher interface {
	// Last returns the anchor that was published last, nil if there is none.
	Last(ctx context.Context) (*checkpoint.Anchor, error)
	// Publish returns once the anchors are kept. They are of one moment: all
	// have the same checkpoint, and each some of the tenants'.
	Publish(ctx context.Context, anchors []*checkpoint.Anchor) error
}

// A signer signs what is durable of each chain, and publishes.
type signer struct {
	log       *Log
	key       *checkpoint.Key
	verifiers checkpoint.Verifiers
	id        string
	heads     *heads
	o         Signing

	fresh bool // log.json was not there
	began bool
	once  sync.Once
	stop  chan struct{} // closed: one more round, while records are still taken
	ready chan struct{} // closed: that was it
	end   chan struct{} // closed: sign the last records
	done  chan error

	mu      sync.Mutex // one round at a time; guards what follows
	due     map[string]prefix
	seen    map[string]time.Time // when a chain last grew
	leaves  []statement          // signed, and not yet in the anchor's chain
	unsent  map[string][]byte    // signed, and not yet published, by tenant
	sent    uint64               // size of the anchor's chain that was published
	stopped error                // a contradiction: nothing more is signed
}

// A statement is a signed checkpoint of a tenant's chain.
type statement struct {
	tenant string
	note   []byte
}

// OpenSigned is Open for a log that signs what becomes durable. It returns
// ErrCorrupt too if the log is older, or another one, than what was signed or
// published of it. ctx bounds the start only.
func OpenSigned(ctx context.Context, dir string, o Options, signing Signing) (*Log, error) {
	var s *signer
	l, err := open(dir, o, func(l *Log) (watcher, error) {
		var err error
		if s, err = newSigner(l, signing); err != nil {
			return nil, err
		}
		return s, nil
	})
	if err == nil {
		if err = s.begin(ctx); err != nil {
			err = errors.Join(err, l.Close(context.WithoutCancel(ctx)))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open audit log: %w", err)
	}
	return l, nil
}

// newSigner reads or makes what the log signs with. It must be there before any
// chain is opened.
func newSigner(l *Log, o Signing) (*signer, error) {
	o.Interval, o.Heartbeat = cmp.Or(o.Interval, 5*time.Second), cmp.Or(o.Heartbeat, 10*time.Minute)
	s := &signer{
		log: l, o: o, stop: make(chan struct{}), ready: make(chan struct{}), end: make(chan struct{}), done: make(chan error, 1),
		due: make(map[string]prefix), seen: make(map[string]time.Time), unsent: make(map[string][]byte),
	}
	key, fresh, err := loadLogKey(l.fs)
	if err != nil {
		return nil, err
	}
	s.key, s.id = key, path.Base(key.Name())
	if s.verifiers, err = checkpoint.NewVerifiers(key.Verifier()); err != nil {
		return nil, err
	}
	if s.heads, err = openHeads(l.fs, fresh); err != nil {
		return nil, err
	}
	if s.fresh = fresh; fresh {
		if err := writeInfo(l.fs, key); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// begin checks what was published against what was signed, and starts signing.
// Chains can be opened and records appended by then.
func (s *signer) begin(ctx context.Context) error {
	if err := s.checkPublished(ctx); err != nil {
		return err
	}
	if _, err := s.log.chainOf(AnchorTenant); err != nil {
		return fmt.Errorf("open the anchor's chain: %w", err)
	}
	p, ok := s.log.prefixOf(AnchorTenant)
	switch {
	case !ok:
		return fmt.Errorf("open the anchor's chain: %w", ErrUnavailable)
	case s.fresh && p.tree.Size() > 0:
		return fmt.Errorf("%w: %s is missing of a log that was signed", ErrCorrupt, layout.Info)
	case p.tree.Size() == 0:
		if _, err := s.log.Append(ctx, AnchorTenant, &audit.Record{Kind: audit.KindKey, Extra: map[string]any{
			"log": s.id, "vkeys": []any{s.key.Verifier()},
		}}); err != nil {
			return fmt.Errorf("record the key: %w", err)
		}
	}
	waiting, err := s.heads.waiting()
	if err != nil {
		return err
	}
	for _, h := range waiting {
		s.leaves = append(s.leaves, statement{note: []byte(h.Note)})
	}
	s.began = true
	go s.run(context.WithoutCancel(ctx))
	return nil
}

func (s *signer) run(ctx context.Context) {
	tick := time.NewTicker(s.o.Interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := s.round(ctx); err != nil {
				s.warn(err)
			}
		case <-s.stop:
			err := s.round(ctx)
			close(s.ready)
			<-s.end
			s.done <- errors.Join(err, s.last(ctx))
			return
		}
	}
}

func (s *signer) warn(err error) {
	if s.o.Alarm != nil {
		s.o.Alarm(err)
	}
}

// round signs what has grown, has it in the anchor's chain, and publishes.
func (s *signer) round(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped != nil {
		return s.stopped
	}
	beatErr := s.beat(ctx)
	s.collect()
	err := s.signDue()
	if err == nil {
		err = s.append(ctx)
	}
	if err == nil {
		s.collect() // the anchor's own chain has grown by that
		err = s.signAnchor()
	}
	if err == nil {
		err = s.publish(ctx)
	}
	return s.fault(errors.Join(beatErr, err))
}

// fault stops all signing after a contradiction.
func (s *signer) fault(err error) error {
	if errors.Is(err, checkpoint.ErrOrder) {
		s.stopped = fmt.Errorf("sign nothing more: %w", err)
		return s.stopped
	}
	return err
}

// stopping implements watcher: what is signed now is in the anchor's chain too.
func (s *signer) stopping() {
	if s.began {
		s.once.Do(func() { close(s.stop) })
		<-s.ready
	}
}

// closing implements watcher: the last records are signed too, and published.
func (s *signer) closing() error {
	if s.began {
		close(s.end)
		return errors.Join(<-s.done, s.heads.close())
	}
	return s.heads.close()
}

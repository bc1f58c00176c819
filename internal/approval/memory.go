package approval

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// MemoryOptions are the bounds of a MemoryStore. Zero means the default.
type MemoryOptions struct {
	MaxApprovals int           // 10,000
	MaxBytes     int           // of arguments and texts; 64 MiB
	Keep         time.Duration // how long an ended approval is kept; one hour
	Now          func() time.Time
}

// A MemoryStore keeps approvals in the process, and forgets them with it.
//
// When it is full the approvals that ended first make room. One that is still
// open, or is a rejection that stands, never does: then nothing more is held.
type MemoryStore struct {
	opts MemoryOptions
	feed Feed

	mu      sync.Mutex
	version uint64
	byID    map[string]*kept
	ended   []*kept // in the order of ending
	bytes   int
	// Indices of those that still decide something: see decides.
	byDigest map[string][]*kept
	byCaller map[chain.Caller][]*kept
}

type kept struct {
	a     Approval
	bytes int
}

// decides reports whether an approval in the state can still decide about a
// call. The others may be many: a call that is repeated all day.
func decides(s State) bool { return s == Pending || s == Approved || s == Rejected }

var _ Store = (*MemoryStore)(nil)

// NewMemoryStore returns an empty store.
func NewMemoryStore(opts MemoryOptions) *MemoryStore {
	if opts.MaxApprovals <= 0 {
		opts.MaxApprovals = 10_000
	}
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = 64 << 20
	}
	if opts.Keep <= 0 {
		opts.Keep = time.Hour
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &MemoryStore{
		opts:     opts,
		byID:     make(map[string]*kept),
		byDigest: make(map[string][]*kept),
		byCaller: make(map[chain.Caller][]*kept),
	}
}

// Create implements Store.
func (m *MemoryStore) Create(ctx context.Context, a Approval) (Approval, error) {
	if err := ctx.Err(); err != nil {
		return Approval{}, err
	}
	size, err := sizeOf(a)
	if err != nil {
		return Approval{}, fmt.Errorf("measure approval: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byID[a.ID] != nil {
		return Approval{}, ErrConflict
	}
	if !m.makeRoom(size) {
		return Approval{}, fmt.Errorf("keep approval: store is full: %w", ErrUnavailable)
	}
	k := &kept{bytes: size}
	m.byID[a.ID] = k
	m.byDigest[a.Digest] = append(m.byDigest[a.Digest], k)
	m.byCaller[a.Requester] = append(m.byCaller[a.Requester], k)
	m.bytes += size
	return m.write(k, a), nil
}

// Get implements Store.
func (m *MemoryStore) Get(ctx context.Context, id string) (Approval, error) {
	if err := ctx.Err(); err != nil {
		return Approval{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.byID[id]
	if k == nil {
		return Approval{}, ErrNotFound
	}
	return k.a, nil
}

// Update implements Store.
func (m *MemoryStore) Update(ctx context.Context, a Approval) (Approval, error) {
	if err := ctx.Err(); err != nil {
		return Approval{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.byID[a.ID]
	switch {
	case k == nil:
		return Approval{}, ErrNotFound
	case k.a.Version != a.Version:
		return Approval{}, ErrConflict
	}
	if a.State.IsEnd() && !k.a.State.IsEnd() {
		m.ended = append(m.ended, k)
		if !decides(a.State) {
			m.unindex(k)
		}
	}
	return m.write(k, a), nil
}

// List implements Store.
func (m *MemoryStore) List(ctx context.Context, f Filter) ([]Approval, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Approval
	add := func(k *kept) {
		if f.Match(k.a) {
			found = append(found, k.a)
		}
	}
	indexed := len(f.States) > 0 && !slices.ContainsFunc(f.States, func(s State) bool { return !decides(s) })
	switch {
	case indexed && f.Digest != "":
		for _, k := range m.byDigest[f.Digest] {
			add(k)
		}
	case indexed && f.Requester != chain.Caller{}:
		for _, k := range m.byCaller[f.Requester] {
			add(k)
		}
	default:
		for _, k := range m.byID {
			add(k)
		}
	}
	slices.SortFunc(found, OldestFirst)
	return found, nil
}

// Watch implements Store.
func (m *MemoryStore) Watch(ctx context.Context, id string) <-chan Approval {
	return m.feed.Subscribe(ctx, id)
}

// write stores an approval under a new version and publishes it, under the
// lock, so that changes are published in their order.
func (m *MemoryStore) write(k *kept, a Approval) Approval {
	m.version++
	a.Version = strconv.FormatUint(m.version, 10)
	k.a = a
	m.feed.Publish(a)
	return a
}

// makeRoom forgets what has ended long enough ago, and more of it, first ended
// first, while the store is too full for size more bytes.
func (m *MemoryStore) makeRoom(size int) bool {
	now := m.opts.Now()
	full := func() bool { return len(m.byID) >= m.opts.MaxApprovals || m.bytes+size > m.opts.MaxBytes }
	for i := 0; i < len(m.ended); {
		k := m.ended[i]
		if old := !now.Before(k.a.EndedAt.Add(m.opts.Keep)); !old && !full() {
			break
		}
		if k.a.rejectionStandsAt(now) {
			i++
			continue
		}
		m.ended = slices.Delete(m.ended, i, i+1)
		m.forget(k)
	}
	return !full()
}

func (m *MemoryStore) forget(k *kept) {
	delete(m.byID, k.a.ID)
	m.unindex(k)
	m.bytes -= k.bytes
}

func (m *MemoryStore) unindex(k *kept) {
	drop(m.byDigest, k.a.Digest, k)
	drop(m.byCaller, k.a.Requester, k)
}

func drop[K comparable](index map[K][]*kept, key K, k *kept) {
	rest := slices.DeleteFunc(index[key], func(o *kept) bool { return o == k })
	if len(rest) == 0 {
		delete(index, key)
		return
	}
	index[key] = rest
}

// approvalBytes is what an approval weighs without its arguments and texts.
const approvalBytes = 1024

func sizeOf(a Approval) (int, error) {
	args, err := strictjson.Append(nil, a.Args)
	if err != nil {
		return 0, err
	}
	n := approvalBytes + len(args) + len(a.Prompt) + len(a.Session) + len(a.Tool)
	for _, d := range a.Details {
		n += len(d)
	}
	return n, nil
}

package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

// Options of a Log. The zero value is usable.
type Options struct {
	Replica      string           // written into every record; at most audit.MaxWord bytes
	Clock        func() time.Time // default: time.Now
	MaxQueue     int              // records that wait for the committer; default 4096
	MaxOpenFiles int              // of tenants; default a quarter of the process's limit, at most 4096
	SegmentBytes int64            // when a file goes on in the next one; default 64 MiB
	ReserveBytes int64            // kept for the last records; default 8 MiB, negative: none
	Logger       *slog.Logger     // told of each change of the log's own state; default: none
	// AppendTimeout is how long Append waits for its record to become durable;
	// default 10 s. The record may become so later.
	AppendTimeout time.Duration
	FS            FS       // default: the directory, in the operating system
	Observer      Observer // default: nobody
}

// A Log keeps the chains of one directory. It is safe for concurrent use.
type Log struct {
	fs   FS
	lock io.Closer
	key  secret
	// tenantKeys are derived from key: *secret by tenant.
	tenantKeys sync.Map
	replica    string
	clock      func() time.Time
	logger     *slog.Logger
	reserved   int64
	timeout    time.Duration

	chainsMu sync.RWMutex
	chains   map[string]*chain // by tenant

	closeMu sync.RWMutex // held for reading while something is put on the queue
	closed  bool

	queue    chan *request
	toWrite  chan *batch
	written  chan *batch
	toSpill  chan *batch
	finished chan struct{} // closed when all is written and all files are closed
	closeErr error         // set before finished

	journal journal
	lines   []byte      // of the writer: a batch of several tenants in one piece
	tenant  tenantFiles // of the spiller
	reserve atomic.Bool // the reserve is there

	asidesMu sync.Mutex
	asides   map[string][]any // what no record names yet, by tenant_id or journalDir

	durableMu sync.Mutex // guards chain.tree, chain.mark and what follows
	changed   []*chain   // chains that have grown since Log.grown
	watcher   watcher
	// acked counts batches that were acknowledged, spilled those that are in the
	// tenants' files too, as far as these can be written.
	acked, spilled uint64
	spilledMore    *sync.Cond

	requests sync.Pool
	parts    sync.Pool
	health   health
	observer Observer
}

// Open opens the log in a directory, which it makes if need be. It reads the
// journal and no chain, so it takes no longer the more the log holds. It
// returns ErrCorrupt if the journal is damaged: see Repair.
func Open(dir string, o Options) (*Log, error) {
	l, err := open(dir, o, func(*Log) (watcher, error) { return unwatched{}, nil })
	if err != nil {
		return nil, fmt.Errorf("open audit log: %w", err)
	}
	return l, nil
}

// open opens a log that is watched from its first record on.
func open(dir string, o Options, watch func(*Log) (watcher, error)) (*Log, error) {
	if o.Replica != "" {
		if err := checkText(o.Replica, audit.MaxWord); err != nil {
			return nil, fmt.Errorf("replica: %w", err)
		}
	}
	l := newLog(o)
	if err := l.lockDir(dir); err != nil {
		return nil, err
	}
	if err := l.start(dir, watch); err != nil {
		_ = l.lock.Close() // the error to report is the other one
		return nil, err
	}
	return l, nil
}

// lockDir takes the directory for this process.
func (l *Log) lockDir(dir string) (err error) {
	if l.fs == nil {
		if l.fs, err = openOS(dir); err != nil {
			return err
		}
	}
	l.lock, err = l.fs.Lock(layout.Lock)
	return err
}

// start recovers the log and sets it going.
func (l *Log) start(dir string, watch func(*Log) (watcher, error)) error {
	err := l.prepare()
	if errors.Is(err, syscall.ENOSPC) && l.freeReserve() {
		err = l.prepare()
	}
	if err == nil {
		l.watcher, err = watch(l)
	}
	if err != nil {
		l.journal.close()
		if errors.Is(err, ErrCorrupt) {
			err = fmt.Errorf("%w (hookpolicy audit repair %s says what can be saved)", err, cmp.Or(dir, "DIR"))
		}
		return err
	}
	l.keepReserve()
	go l.run()
	go l.write()
	go l.spill()
	return nil
}

// Bounds of how many tenants' files stay open, unless Options say otherwise.
const (
	fewOpenFiles  = 512
	manyOpenFiles = 4096
)

func newLog(o Options) *Log {
	l := &Log{
		fs: o.FS, replica: o.Replica, clock: o.Clock,
		logger:   cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		reserved: cmp.Or(o.ReserveBytes, 8<<20),
		chains:   make(map[string]*chain),
		queue:    make(chan *request, orDefault(o.MaxQueue, 4096)),
		toWrite:  make(chan *batch),
		written:  make(chan *batch, 1),
		toSpill:  make(chan *batch, 1),
		finished: make(chan struct{}),
		tenant: tenantFiles{
			maxOpen: orDefault(o.MaxOpenFiles, maxOpenFiles()), open: make(map[*chain]struct{}), dirty: make(map[*chain]struct{}),
			drain: drain{done: make(chan drained, 1), ran: make(chan struct{}, 1)},
		},
		requests: sync.Pool{New: newRequest},
		timeout:  cmp.Or(o.AppendTimeout, 10*time.Second),
	}
	l.spilledMore = sync.NewCond(&l.durableMu)
	l.journal.limit = defaultSegmentBytes
	if o.SegmentBytes > 0 {
		l.journal.limit = o.SegmentBytes
	}
	if l.observer = o.Observer; l.observer == nil {
		l.observer = nobody{}
	}
	if l.clock == nil {
		l.clock = time.Now
	}
	l.health.log = l.logger
	return l
}

// prepare makes what a directory needs and recovers what it holds.
func (l *Log) prepare() error {
	current, err := readFormat(l.fs)
	if err != nil {
		return err
	}
	for _, dir := range []string{layout.Tenants, layout.Quarantine, layout.Journal} {
		if err := mkdir(l.fs, dir); err != nil {
			return err
		}
	}
	if l.key, err = loadKey(l.fs); err != nil {
		return err
	}
	r := recovery{fs: l.fs, upgrade: !current}
	if err := r.run(&l.journal); err != nil {
		return err
	}
	if !current {
		if err := writeDurably(l.fs, layout.Format, []byte(layout.V2)); err != nil {
			return fmt.Errorf("write %s: %w", layout.Format, err)
		}
	}
	l.asides, err = asides(l.fs)
	return err
}

func orDefault(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// checkText demands a text that can stand in every record as it is.
func checkText(s string, limit int) error {
	if s == "" || len(s) > limit || !utf8.ValidString(s) {
		return ErrTenant
	}
	return nil
}

// Append adds a record to a tenant's chain and returns once it is durable. It
// takes what it needs of the record at once. After an error the record is not
// acknowledged: ErrUnavailable, ErrCorrupt, ErrTenant, ErrClosed or
// audit.ErrNoKind. If it is ctx that ended, the record may still become durable.
func (l *Log) Append(ctx context.Context, tenant string, rec *audit.Record) (audit.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return audit.Receipt{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	r, err := l.request(tenant, rec)
	if err != nil {
		return audit.Receipt{}, err
	}
	if err := l.enqueue(r); err != nil {
		return audit.Receipt{}, err
	}
	r.patience.Reset(l.timeout)
	select {
	case <-r.done:
		r.patience.Stop()
	case <-r.patience.C:
		return audit.Receipt{}, fmt.Errorf("%w: %w", ErrUnavailable, context.DeadlineExceeded)
	case <-ctx.Done():
		return audit.Receipt{}, fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
	}
	receipt, err := audit.Receipt{Chain: r.chain.origin, Seq: r.seq, Hash: r.hash.String()}, r.err
	l.release(r)
	if err != nil {
		return audit.Receipt{}, err
	}
	return receipt, nil
}

func (l *Log) request(tenant string, rec *audit.Record) (*request, error) {
	c, err := l.chainOf(tenant)
	if err != nil {
		return nil, err
	}
	r := l.requests.Get().(*request)
	r.chain = c
	if err := r.draft.Reset(rec); err != nil {
		return nil, err
	}
	return r, nil
}

// release keeps a request for reuse, unless it has grown out of the usual.
func (l *Log) release(r *request) {
	if r.draft.Size() <= 8<<10 {
		r.chain, r.err = nil, nil
		l.requests.Put(r)
	}
}

func (l *Log) enqueue(r *request) error {
	l.closeMu.RLock()
	defer l.closeMu.RUnlock()
	if l.closed {
		return ErrClosed
	}
	select {
	case l.queue <- r:
		return nil
	default:
		return fmt.Errorf("%w: too many records are waiting", ErrUnavailable)
	}
}

// Commitment returns a keyed hash of data, in hexadecimal: equal data of one
// tenant have equal commitments, and without the log's key nobody can tell by
// trying what the data were.
func (l *Log) Commitment(tenant string, data []byte) string {
	if k, ok := l.tenantKeys.Load(tenant); ok {
		return k.(*secret).commitment(data)
	}
	k := l.key.tenantKey(tenant)
	l.tenantKeys.Store(tenant, k)
	return k.commitment(data)
}

// Close makes durable what was accepted, writes a record of kind shutdown into
// every chain that was used, and unlocks the directory. If ctx ends before, all
// of this still goes on.
func (l *Log) Close(ctx context.Context) error {
	l.watcher.stopping()
	l.closeMu.Lock()
	if l.closed {
		l.closeMu.Unlock()
		return ErrClosed
	}
	l.closed = true
	close(l.queue)
	l.closeMu.Unlock()
	select {
	case <-l.finished:
	case <-ctx.Done():
		return fmt.Errorf("close audit log: %w", context.Cause(ctx))
	}
	if l.closeErr != nil {
		return fmt.Errorf("close audit log: %w", l.closeErr)
	}
	return nil
}

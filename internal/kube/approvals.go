package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/chain"
)

const (
	// approvalTimeout bounds one request about a held call.
	approvalTimeout = 5 * time.Second
	// maxWrites is how often a write is tried while people vote meanwhile.
	maxWrites = 8
)

// ApprovalsOptions are what Approvals is made of.
type ApprovalsOptions struct {
	Client *Client
	// Service is the decision service; what others hold is not looked at.
	Service types.NamespacedName
	// Namespace is the one whose callers this service serves; empty: any.
	Namespace string
	// Keep is how long a held call is kept after its end. Default: a day.
	Keep   time.Duration
	Logger *slog.Logger
}

// Approvals keeps held calls as ToolApprovals, each in its requester's
// namespace, where people vote on them. Reads are answered from what is
// watched; start Run first.
type Approvals struct {
	client *Client
	opts   ApprovalsOptions
	log    *slog.Logger
	feed   approval.Feed

	mu     sync.Mutex
	synced bool
	byID   map[string]*keptApproval
	// What can still decide something, by digest and by requester.
	byDigest map[string]map[string]*keptApproval
	byCaller map[chain.Caller]map[string]*keptApproval
}

// A keptApproval is a held call as it was last seen, and the object behind it.
type keptApproval struct {
	approval.Approval
	object *v1alpha1.ToolApproval
}

var _ approval.Store = (*Approvals)(nil)

// NewApprovals returns a store that knows nothing before Run.
func NewApprovals(opts ApprovalsOptions) *Approvals {
	if opts.Keep <= 0 {
		opts.Keep = 24 * time.Hour
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Approvals{client: opts.Client, opts: opts, log: opts.Logger}
	s.clear()
	return s
}

func (s *Approvals) clear() {
	s.byID = make(map[string]*keptApproval)
	s.byDigest = make(map[string]map[string]*keptApproval)
	s.byCaller = make(map[chain.Caller]map[string]*keptApproval)
}

// errNotSynced says that the held calls of before are not known yet: then no
// call can be told to be new.
var errNotSynced = fmt.Errorf("held calls are not read yet: %w", approval.ErrUnavailable)

// Run watches the held calls, and deletes those that ended long enough ago,
// until ctx is done.
func (s *Approvals) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { s.sweep(ctx) })
	lists := cache.NewListWatchFromClient(s.client.policies, resourceToolApprovals, s.opts.Namespace, fields.Everything())
	r := cache.NewReflectorWithOptions(lists, &v1alpha1.ToolApproval{}, (*approvalSink)(s), cache.ReflectorOptions{
		Name: "hookpolicy/" + resourceToolApprovals, TypeDescription: v1alpha1.KindToolApproval, Backoff: reconnectBackoff(),
	})
	r.RunWithContext(ctx)
	wg.Wait()
}

// Create implements approval.Store.
func (s *Approvals) Create(ctx context.Context, a approval.Approval) (approval.Approval, error) {
	if !s.isSynced() {
		return approval.Approval{}, errNotSynced
	}
	object, err := toolApproval(a, s.opts.Service)
	if err != nil {
		return approval.Approval{}, fmt.Errorf("write down a held call: %w: %w", approval.ErrUnavailable, err)
	}
	ctx, cancel := context.WithTimeout(ctx, approvalTimeout)
	defer cancel()
	made := &v1alpha1.ToolApproval{}
	err = s.client.policies.Post().Namespace(object.Namespace).Resource(resourceToolApprovals).Body(object).Do(ctx).Into(made)
	switch {
	case apierrors.IsAlreadyExists(err):
		return approval.Approval{}, fmt.Errorf("create ToolApproval: %w", approval.ErrConflict)
	case err != nil:
		return approval.Approval{}, unavailable("create ToolApproval", err)
	}
	return s.see(made), nil
}

// Get implements approval.Store.
func (s *Approvals) Get(ctx context.Context, id string) (approval.Approval, error) {
	if err := ctx.Err(); err != nil {
		return approval.Approval{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch k := s.byID[id]; {
	case k != nil:
		return k.Approval, nil
	case !s.synced:
		return approval.Approval{}, errNotSynced
	default:
		return approval.Approval{}, approval.ErrNotFound
	}
}

// List implements approval.Store.
func (s *Approvals) List(ctx context.Context, f approval.Filter) ([]approval.Approval, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.synced {
		return nil, errNotSynced
	}
	among := s.byID
	if len(f.States) > 0 && !slices.ContainsFunc(f.States, func(st approval.State) bool { return !decides(st) }) {
		switch {
		case f.Digest != "":
			among = s.byDigest[f.Digest]
		case f.Requester != chain.Caller{}:
			among = s.byCaller[f.Requester]
		}
	}
	var found []approval.Approval
	for _, k := range among {
		if f.Match(k.Approval) {
			found = append(found, k.Approval)
		}
	}
	slices.SortFunc(found, approval.OldestFirst)
	return found, nil
}

// Watch implements approval.Store.
func (s *Approvals) Watch(ctx context.Context, id string) <-chan approval.Approval {
	return s.feed.Subscribe(ctx, id)
}

// Update implements approval.Store. What it is compared by is the revision,
// which the decision services alone move: a vote that somebody casts meanwhile
// is no conflict, and is not lost.
func (s *Approvals) Update(ctx context.Context, a approval.Approval) (approval.Approval, error) {
	ctx, cancel := context.WithTimeout(ctx, approvalTimeout)
	defer cancel()
	s.mu.Lock()
	k := s.byID[a.ID]
	s.mu.Unlock()
	if k == nil {
		return approval.Approval{}, approval.ErrNotFound
	}
	object := k.object
	for range maxWrites {
		if versionOf(object) != a.Version {
			return approval.Approval{}, approval.ErrConflict
		}
		written := &v1alpha1.ToolApproval{}
		err := s.client.policies.Put().Namespace(object.Namespace).Resource(resourceToolApprovals).Name(object.Name).
			SubResource("status").Body(withStatus(object, a)).Do(ctx).Into(written)
		switch {
		case err == nil:
			return s.see(written), nil
		case apierrors.IsNotFound(err):
			return approval.Approval{}, approval.ErrNotFound
		case !apierrors.IsConflict(err):
			return approval.Approval{}, unavailable("write the status of a ToolApproval", err)
		}
		if object, err = s.refresh(ctx, object); err != nil {
			return approval.Approval{}, err
		}
	}
	return approval.Approval{}, approval.ErrConflict
}

// refresh reads an object that somebody has changed from the API server.
func (s *Approvals) refresh(ctx context.Context, old *v1alpha1.ToolApproval) (*v1alpha1.ToolApproval, error) {
	fresh := &v1alpha1.ToolApproval{}
	err := s.client.policies.Get().Namespace(old.Namespace).Resource(resourceToolApprovals).Name(old.Name).Do(ctx).Into(fresh)
	switch {
	case apierrors.IsNotFound(err):
		return nil, approval.ErrNotFound
	case err != nil:
		return nil, unavailable("read a ToolApproval", err)
	case fresh.UID != old.UID:
		return nil, approval.ErrNotFound
	}
	s.see(fresh)
	return fresh, nil
}

// unavailable is the error of a request that was not answered as it should be.
// What the API server says of an object may quote it, so only the kind of its
// answer is passed on.
func unavailable(doing string, err error) error {
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, ended) {
			return fmt.Errorf("%s: %w: %w", doing, approval.ErrUnavailable, ended)
		}
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return fmt.Errorf("%s: the API server answers %d %s: %w", doing, status.Status().Code, status.Status().Reason, approval.ErrUnavailable)
	}
	return fmt.Errorf("%s: %w: %w", doing, approval.ErrUnavailable, err)
}

func (s *Approvals) isSynced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced
}

func versionOf(object *v1alpha1.ToolApproval) string {
	return strconv.FormatInt(object.Status.Revision, 10)
}

// sweep deletes held calls that ended long ago, whoever held them: deleting
// twice does no harm.
func (s *Approvals) sweep(ctx context.Context) {
	tick := time.NewTicker(min(time.Minute, s.opts.Keep))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for _, object := range s.over(now) {
				s.forget(ctx, object)
			}
		}
	}
}

// over returns what ended long enough ago, and decides nothing any more.
func (s *Approvals) over(now time.Time) []*v1alpha1.ToolApproval {
	s.mu.Lock()
	defer s.mu.Unlock()
	var over []*v1alpha1.ToolApproval
	for _, k := range s.byID {
		keep := max(s.opts.Keep, approval.RejectionStands)
		if k.State.IsEnd() && !k.EndedAt.IsZero() && now.Sub(k.EndedAt) > keep {
			over = append(over, k.object)
		}
	}
	return over
}

func (s *Approvals) forget(ctx context.Context, object *v1alpha1.ToolApproval) {
	ctx, cancel := context.WithTimeout(ctx, approvalTimeout)
	defer cancel()
	err := s.client.policies.Delete().Namespace(object.Namespace).Resource(resourceToolApprovals).Name(object.Name).
		Body(&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &object.UID}}).Do(ctx).Error()
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && ctx.Err() == nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "ToolApproval that has ended cannot be deleted", slog.Any("error", unavailable("delete it", err)))
	}
}

package kube

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// reconnectBackoff is how long a watch that was cut off waits before it begins
// anew: an edit made meanwhile is to be in force soon after the API server is
// back, and there are few replicas.
func reconnectBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 6, Cap: 5 * time.Second}
}

// A feed is the watch of one kind, and knows how it fares.
type feed struct {
	kind  kind
	lists cache.ListWatch
	log   *slog.Logger
	again func() // counts watches that begin anew

	connected atomic.Bool
	failing   atomic.Bool
	begun     atomic.Bool
}

func newFeed(c *Client, k kind, namespace string, log *slog.Logger, again func()) *feed {
	inner := cache.NewListWatchFromClient(c.policies, k.resource(), namespace, fields.Everything())
	f := &feed{kind: k, log: log, again: again}
	f.lists = cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			l, err := inner.ListWithContext(ctx, o)
			f.note(ctx, err)
			return l, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if f.begun.Swap(true) {
				f.again()
			}
			w, err := inner.WatchWithContext(ctx, o)
			f.note(ctx, err)
			return w, err
		},
	}
	return f
}

// note keeps what an answer says about the connection.
func (f *feed) note(ctx context.Context, err error) {
	f.connected.Store(err == nil)
	if ctx.Err() != nil || f.failing.Swap(err != nil) == (err != nil) {
		return
	}
	if err != nil {
		f.log.LogAttrs(ctx, slog.LevelWarn, "Policies cannot be watched; what is in force stays", slog.String("kind", f.kind.String()), slog.Any("error", err))
		return
	}
	f.log.LogAttrs(ctx, slog.LevelInfo, "Policies are watched again", slog.String("kind", f.kind.String()))
}

// run reads the kind into the table until ctx is done.
func (f *feed) run(ctx context.Context, t *table) {
	r := cache.NewReflectorWithOptions(&f.lists, &object{}, &store{table: t, kind: f.kind}, cache.ReflectorOptions{
		Name: "hookpolicy/" + f.kind.resource(), TypeDescription: f.kind.String(), Backoff: reconnectBackoff(),
	})
	r.RunWithContext(ctx)
}

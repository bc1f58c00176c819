package approval

import (
	"context"
	"sync"
)

// locks are mutual exclusion by name, given up when the context ends. The zero
// value is ready.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	token chan struct{} // holds one token while nobody holds the lock
	users int           // who hold it or wait for it
}

// lock waits for the lock of a name and returns what gives it back.
func (l *locks) lock(ctx context.Context, name string) (unlock func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = make(map[string]*lock)
	}
	k := l.held[name]
	if k == nil {
		k = &lock{token: make(chan struct{}, 1)}
		k.token <- struct{}{}
		l.held[name] = k
	}
	k.users++
	l.mu.Unlock()

	select {
	case <-k.token:
		return func() {
			k.token <- struct{}{}
			l.leave(name, k)
		}, nil
	case <-ctx.Done():
		l.leave(name, k)
		return nil, ctx.Err()
	}
}

func (l *locks) leave(name string, k *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.held, name)
	}
}

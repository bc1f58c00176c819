package server

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"time"
)

// reloadInterval is how often watched files are read. They are small, and
// reading them is what cannot miss a change: Kubernetes swaps whole
// directories, and times of modification repeat.
const reloadInterval = time.Second

// watch calls reload until ctx ends. It logs a change, and an error once as
// long as it stays the same.
func watch(ctx context.Context, log *slog.Logger, what string, reload func() (changed bool, err error)) {
	tick := time.NewTicker(reloadInterval)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		changed, err := reload()
		switch {
		case err != nil && err.Error() != last:
			log.Error("Keeps the last good file", "file", what, "error", err)
			last = err.Error()
		case err == nil:
			last = ""
		}
		if changed {
			log.Info("Took over a changed file", "file", what)
		}
	}
}

// A contentDigest remembers what a file held.
type contentDigest struct {
	sum  [sha256.Size]byte
	seen bool
}

func (c *contentDigest) same(doc ...[]byte) bool { return c.seen && c.sum == digestOf(doc) }

func (c *contentDigest) set(doc ...[]byte) { c.sum, c.seen = digestOf(doc), true }

func digestOf(docs [][]byte) [sha256.Size]byte {
	h := sha256.New()
	for _, doc := range docs {
		sum := sha256.Sum256(doc)
		_, _ = h.Write(sum[:]) // a hash never fails
	}
	return [sha256.Size]byte(h.Sum(nil))
}

package sqlclass

import (
	"container/list"
	"strings"
	"sync"
)

// cache keeps what was found out about the texts seen last, within a number of
// bytes.
type cache[V interface{ size() int }] struct {
	mu     sync.Mutex
	limit  int
	used   int
	byText map[string]*list.Element
	recent *list.List // of *cached[V], the last used first
}

type cached[V any] struct {
	text  string
	value V
	cost  int
}

// entryOverhead is what one entry costs beside its text and value.
const entryOverhead = 200

func newCache[V interface{ size() int }](limit int) *cache[V] {
	return &cache[V]{limit: limit, byText: make(map[string]*list.Element), recent: list.New()}
}

// get returns the zero value for a text that it does not have.
func (c *cache[V]) get(text string) (value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byText[text]
	if !ok {
		return value
	}
	c.recent.MoveToFront(e)
	return e.Value.(*cached[V]).value
}

func (c *cache[V]) put(text string, v V) {
	cost := len(text) + v.size() + entryOverhead
	if cost > c.limit/8 { // one text must not push out many
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.byText[text]; ok {
		return
	}
	text = strings.Clone(text) // it may be part of something larger
	c.byText[text] = c.recent.PushFront(&cached[V]{text: text, value: v, cost: cost})
	c.used += cost
	for c.used > c.limit {
		last := c.recent.Remove(c.recent.Back()).(*cached[V])
		delete(c.byText, last.text)
		c.used -= last.cost
	}
}

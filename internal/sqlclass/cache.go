package sqlclass

import (
	"container/list"
	"strings"
	"sync"
)

// cache keeps the reports of the texts seen last, within a number of bytes.
type cache struct {
	mu     sync.Mutex
	limit  int
	used   int
	byText map[string]*list.Element
	recent *list.List // of *cached, the last used first
}

type cached struct {
	text   string
	report *Report
	cost   int
}

// entryOverhead is what one entry costs beside its text and report.
const entryOverhead = 200

func newCache(limit int) *cache {
	return &cache{limit: limit, byText: make(map[string]*list.Element), recent: list.New()}
}

func (c *cache) get(text string) *Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byText[text]
	if !ok {
		return nil
	}
	c.recent.MoveToFront(e)
	return e.Value.(*cached).report
}

func (c *cache) put(text string, r *Report) {
	cost := len(text) + r.size() + entryOverhead
	if cost > c.limit/8 { // one text must not push out many
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.byText[text]; ok {
		return
	}
	text = strings.Clone(text) // it may be part of something larger
	c.byText[text] = c.recent.PushFront(&cached{text: text, report: r, cost: cost})
	c.used += cost
	for c.used > c.limit {
		last := c.recent.Remove(c.recent.Back()).(*cached)
		delete(c.byText, last.text)
		c.used -= last.cost
	}
}

package auditor

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

// An Entry is a record to show. It was not verified.
type Entry struct {
	Line     []byte `json:"-"` // as it stands; good until the next one
	Time     string `json:"ts"`
	Tenant   string `json:"tenant"`
	Seq      string `json:"seq"`
	Kind     string `json:"kind"`
	Agent    string `json:"agent"`
	Tool     string `json:"tool"`
	Decision string `json:"decision"`
	Would    string `json:"would"`
	Reason   string `json:"reason"`
	Hook     string `json:"hook"`
	Approval struct {
		ID    string `json:"id"`
		State string `json:"state"`
		User  string `json:"user"`
	} `json:"approval"`
	Outcome struct {
		Status string `json:"status"`
	} `json:"outcome"`
}

// A Tail reads the records of a log in the order of their times, and later
// those that have come since. It reads the tenants' files only: records that a
// crash has left in the journal are in them after the next start.
type Tail struct {
	dir    string
	tenant string
	chains map[string]*tailChain
}

type tailChain struct {
	dir     string
	segment uint64
	offset  int64
	file    *os.File
	lines   *bufio.Reader
	next    *Entry
}

// maxTails is how many chains are read at once.
const maxTails = 512

// NewTail returns the tail of a log's directory; tenant limits it to one chain.
func NewTail(dir, tenant string) *Tail {
	return &Tail{dir: dir, tenant: tenant, chains: make(map[string]*tailChain)}
}

// Read calls show for every record that was not read before. A line that is not
// whole yet is read by a later call.
func (t *Tail) Read(show func(*Entry) error) error {
	if err := t.find(); err != nil {
		return fmt.Errorf("read audit log: %w", err)
	}
	var open []*tailChain
	defer func() {
		for _, c := range open {
			c.close()
		}
	}()
	for _, c := range t.chains {
		open = append(open, c)
		if err := c.advance(); err != nil {
			return fmt.Errorf("read audit log: %w", err)
		}
	}
	for {
		var first *tailChain
		for _, c := range open {
			if c.next != nil && (first == nil || c.next.Time < first.next.Time) {
				first = c
			}
		}
		if first == nil {
			return nil
		}
		if err := show(first.next); err != nil {
			return err
		}
		if err := first.advance(); err != nil {
			return fmt.Errorf("read audit log: %w", err)
		}
	}
}

// find adds the chains that are new.
func (t *Tail) find() error {
	tenants := filepath.Join(t.dir, layout.Tenants)
	ids := []string{TenantID(t.tenant)}
	if t.tenant == "" {
		entries, err := os.ReadDir(tenants)
		if err != nil {
			return err
		}
		ids = ids[:0]
		for _, e := range entries {
			if e.IsDir() && e.Name() != TenantID(AnchorTenant) {
				ids = append(ids, e.Name())
			}
		}
	}
	if len(ids) > maxTails {
		return fmt.Errorf("%s has more than %d chains: name the tenant", t.dir, maxTails)
	}
	for _, id := range ids {
		if t.chains[id] == nil {
			t.chains[id] = &tailChain{dir: filepath.Join(tenants, id, layout.Chain)}
		}
	}
	return nil
}

// advance reads the chain's next record; next is nil if there is none yet.
func (c *tailChain) advance() error {
	for {
		if c.file == nil {
			if ok, err := c.open(); !ok || err != nil {
				c.next = nil
				return err
			}
		}
		line, err := c.line()
		if err == nil {
			c.offset += int64(len(line))
			c.next = parseEntry(line)
			return nil
		}
		c.close()
		if !errors.Is(err, io.EOF) {
			return err
		}
		more, err := c.nextSegment()
		if !more || err != nil {
			c.next = nil
			return err
		}
	}
}

// line returns a whole line; io.EOF if there is none.
func (c *tailChain) line() ([]byte, error) {
	line, err := c.lines.ReadBytes('\n')
	if len(line) > audit.MaxLine {
		return nil, errLineTooLong
	}
	return line, err
}

func (c *tailChain) open() (ok bool, err error) {
	if c.file, err = openRegular(segmentPath(c.dir, c.segment)); errors.Is(err, os.ErrNotExist) {
		c.file = nil
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if _, err := c.file.Seek(c.offset, io.SeekStart); err != nil {
		return false, err
	}
	c.lines = bufio.NewReaderSize(c.file, audit.MaxLine)
	return true, nil
}

func (c *tailChain) nextSegment() (bool, error) {
	l, err := list(c.dir)
	i, found := slices.BinarySearch(l.segments, c.segment+1)
	if err != nil || !found && i == len(l.segments) {
		return false, err
	}
	c.segment, c.offset = l.segments[i], 0
	return true, nil
}

func (c *tailChain) close() {
	if c.file != nil {
		_ = c.file.Close() // nothing was written
		c.file = nil
	}
}

func parseEntry(line []byte) *Entry {
	e := new(Entry)
	if err := json.Unmarshal(line, e); err != nil {
		e = &Entry{Kind: "unreadable"}
	}
	e.Line = line
	return e
}

// What returns in one word what the record says: the decision, or the step of an
// approval, or the outcome.
func (e *Entry) What() string {
	switch {
	case e.Decision != "" && e.Would != "":
		return e.Decision + " (would " + e.Would + ")"
	case e.Decision != "":
		return e.Decision
	case e.Approval.State != "":
		return e.Approval.State
	default:
		return e.Outcome.Status
	}
}

// Matches reports whether a record fits a filter; empty parts fit all. tool may
// end in a star.
func (e *Entry) Matches(decision, tool, kind, since string) bool {
	prefix, wild := strings.CutSuffix(tool, "*")
	return (decision == "" || e.Decision == decision) &&
		(tool == "" || e.Tool == tool || wild && e.Tool != "" && strings.HasPrefix(e.Tool, prefix)) &&
		(kind == "" || e.Kind == kind) && e.Time >= since
}

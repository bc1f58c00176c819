package auditor

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

// Statements are what was signed of each chain, by the name of its directory.
type statements map[string]*expectation

// An expectation is what one chain must fit.
type expectation struct {
	origin string
	from   string // where the origin was read
	list   []audit.Expected
}

func (x *expectation) size() (n uint64) {
	for _, e := range x.list {
		n = max(n, e.Size)
	}
	return n
}

// sorted returns the checkpoints by size, equal ones once.
func (x *expectation) sorted() []audit.Expected {
	list := slices.Clone(x.list)
	slices.SortStableFunc(list, func(a, b audit.Expected) int { return cmp.Compare(a.Size, b.Size) })
	return slices.CompactFunc(list, func(a, b audit.Expected) bool { return a.Size == b.Size && a.Root == b.Root })
}

// A trust is whose signatures count.
type trust struct {
	dir       string
	log       string
	verifiers checkpoint.Verifiers
	known     bool
}

// trust reads the keys and all that is signed outside of the chains: what was
// published, and what lies in the log's directory.
func (a *auditor) trust(dir string) (*trust, error) {
	t := &trust{dir: dir}
	if err := a.info(t); err != nil {
		return nil, err
	}
	for _, name := range a.o.Anchors {
		if err := a.anchorFile(t, name); err != nil {
			return nil, err
		}
	}
	if !t.known {
		return t, nil
	}
	return t, errors.Join(a.heads(t), a.anchorNote(t))
}

// info takes the key from log.json; that of an anchor file replaces it.
func (a *auditor) info(t *trust) error {
	path := filepath.Join(t.dir, layout.Info)
	text, err := readSmall(path)
	if errors.Is(err, errIrregular) {
		a.irregular(path, "not a regular file")
		return nil
	}
	if err != nil {
		return err
	}
	if text == nil {
		if isDir(filepath.Join(t.dir, layout.Anchor)) || isDir(filepath.Join(t.dir, layout.Tenants, TenantID(AnchorTenant))) {
			a.irregular(path, "is missing, though the log was signed: its checkpoints cannot be checked without an anchor file")
		}
		return nil
	}
	var info struct {
		Log    string   `json:"log"`
		Origin string   `json:"origin"`
		Keys   []string `json:"vkeys"`
	}
	if err := json.Unmarshal(text, &info); err != nil {
		a.irregular(path, "not the description of a log")
	} else {
		a.use(t, path, info.Log, info.Keys)
	}
	return nil
}

// use takes keys as those whose signatures count.
func (a *auditor) use(t *trust, path, log string, keys []string) {
	v, err := checkpoint.NewVerifiers(keys...)
	if err != nil || len(keys) == 0 {
		a.irregular(path, "has no keys that can be read")
		return
	}
	t.verifiers, t.known, t.log = v, true, log
	a.report.Signed = &Signed{Log: log, Keys: keys}
}

// anchorFile reads what was published. Its first line says whose key counts.
func (a *auditor) anchorFile(t *trust, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := newLineReader(f, checkpoint.MaxAnchorLine)
	first := !a.anchored()
	for n := int64(1); ; n++ {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		if len(bytes.TrimSpace(line)) == 0 || !bytes.HasSuffix(line, []byte("}\n")) {
			continue // what a crash left of a line; the next anchor covers it
		}
		anchor, err := checkpoint.ParseAnchor(line)
		if err != nil {
			a.find(audit.Finding{File: path, Line: n, Reason: audit.ReasonSignature, Detail: "not an anchor"})
			continue
		}
		if first {
			first = false
			a.compareInfo(t, path, n, anchor)
		}
		if anchor.Log != t.log {
			a.find(audit.Finding{File: path, Line: n, Reason: audit.ReasonReplaced, Detail: "anchor is of another log than the first one"})
			continue
		}
		a.published(t, anchor, fmt.Sprintf("%s:%d", path, n))
	}
}

func (a *auditor) anchored() bool { return a.report.Signed != nil && a.report.Signed.AnchorFile }

// compareInfo finds a log that was replaced: it has another id, or another key.
func (a *auditor) compareInfo(t *trust, path string, n int64, anchor *checkpoint.Anchor) {
	had, log, keys := t.known, t.log, []string(nil)
	if had {
		keys = a.report.Signed.Keys
	}
	a.use(t, path, anchor.Log, anchor.Keys)
	if a.report.Signed != nil {
		a.report.Signed.AnchorFile = true
	}
	if had && (log != anchor.Log || !slices.Equal(keys, anchor.Keys)) {
		a.find(audit.Finding{File: filepath.Join(t.dir, layout.Info), Reason: audit.ReasonReplaced,
			Detail: fmt.Sprintf("another log, or one with another key, than was published in line %d of the anchor file", n)})
	}
}

func (a *auditor) published(t *trust, anchor *checkpoint.Anchor, from string) {
	if c, ok := a.state(t, anchor.Checkpoint, from); ok && c.Size >= a.report.Signed.Anchored {
		a.report.Signed.Anchored = c.Size
		a.report.Signed.PublishedAt = anchor.Time.UTC().Format("2006-01-02T15:04:05Z")
	}
	for _, text := range anchor.Tenants {
		a.state(t, text, from)
	}
}

// state takes a signed checkpoint as what its chain must fit.
func (a *auditor) state(t *trust, signed, from string) (checkpoint.Checkpoint, bool) {
	c, err := t.verifiers.Open([]byte(signed))
	if err != nil {
		a.unsigned(from)
		return c, false
	}
	a.expect(c, from)
	return c, true
}

func (a *auditor) unsigned(from string) {
	file, line := splitPlace(from)
	a.find(audit.Finding{File: file, Line: line, Reason: audit.ReasonSignature, Detail: "checkpoint is not signed by the key of this log"})
}

// expect notes a checkpoint. Which directory it is about its origin says.
func (a *auditor) expect(c checkpoint.Checkpoint, from string) {
	a.report.Signed.Checkpoints++
	parts := strings.Split(c.Origin, "/")
	if len(parts) != 3 {
		a.unsigned(from) // of a chain that no log has
		return
	}
	x := a.signed[parts[1]]
	if x == nil {
		x = &expectation{origin: c.Origin, from: from}
		a.signed[parts[1]] = x
	}
	if x.origin != c.Origin {
		file, line := splitPlace(from)
		a.find(audit.Finding{File: file, Line: line, Reason: audit.ReasonReplaced, Detail: "checkpoints of two chains of one tenant: one stands in the place of the other"})
		return
	}
	x.list = append(x.list, audit.Expected{Size: c.Size, Root: c.Root, From: from})
}

// splitPlace takes FILE:LINE apart.
func splitPlace(from string) (file string, line int64) {
	i := strings.LastIndexByte(from, ':')
	if i < 0 {
		return from, 0
	}
	if _, err := fmt.Sscan(from[i+1:], &line); err != nil {
		return from, 0
	}
	return from[:i], line
}

// heads reads what the log signed last of each chain.
func (a *auditor) heads(t *trust) error {
	path := filepath.Join(t.dir, layout.Anchor, layout.Heads)
	f, err := openRegular(path)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, errIrregular) {
		a.irregular(path, "is missing or no regular file: what was signed last is not known")
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	type last struct {
		note string
		line int64
	}
	notes := make(map[string]last)
	lines := newLineReader(f, 2*checkpoint.MaxNote+checkpoint.MaxTreeText+256)
	for n := int64(1); ; n++ {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		var h struct{ ID, Note string }
		if err := json.Unmarshal(line, &h); err != nil {
			if bytes.HasSuffix(line, []byte("\n")) {
				a.find(audit.Finding{File: path, Line: n, Reason: audit.ReasonSignature, Detail: "not the head of a chain"})
			}
			continue
		}
		notes[h.ID] = last{h.Note, n}
	}
	for _, l := range notes {
		a.state(t, l.note, fmt.Sprintf("%s:%d", path, l.line))
	}
	return nil
}

// anchorNote reads the last checkpoint of the anchor's chain.
func (a *auditor) anchorNote(t *trust) error {
	path := filepath.Join(t.dir, layout.Anchor, layout.AnchorNote)
	text, err := readSmall(path)
	switch {
	case errors.Is(err, errIrregular):
		a.irregular(path, "not a regular file")
		return nil
	case err != nil || text == nil:
		return err // a log that has just begun has none
	}
	a.state(t, string(text), path)
	return nil
}

// anchorChain verifies the chain whose records are the tenants' checkpoints.
// Those that a signed checkpoint of this chain covers need no signature of
// their own.
func (a *auditor) anchorChain(dir string, j *journal, t *trust) {
	var covered uint64
	if x := a.signed[filepath.Base(dir)]; x != nil {
		covered = x.size()
	}
	c := chainCheck{}
	take := func(at audit.Finding, signed string) {
		if !t.known {
			return
		}
		from := fmt.Sprintf("%s:%d", at.File, at.Line)
		if at.Seq >= covered {
			a.state(t, signed, from)
		} else if sum, err := checkpoint.OpenUnverified([]byte(signed)); err != nil {
			a.unsigned(from)
		} else {
			a.expect(sum, from)
		}
	}
	report := a.run(&c, dir, j, take)
	a.report.Chains = append(a.report.Chains, report)
}

// missing finds chains that were signed and are not there, and records of the
// journal that no chain has a directory for.
func (a *auditor) missing(tenants string, dirs []string, j *journal) {
	there := make(map[string]bool, len(dirs))
	for _, dir := range dirs {
		there[filepath.Base(dir)] = isDir(dir)
	}
	for id := range j.lines {
		if !there[id] {
			there[id] = true
			a.report.Chains = append(a.report.Chains, a.tenant(filepath.Join(tenants, id), j))
		}
	}
	for id, x := range a.signed {
		if !there[id] && x.size() > 0 {
			a.find(audit.Finding{File: filepath.Join(tenants, id), Reason: audit.ReasonTruncated,
				Detail: truncated(x.size(), 0) + ": the chain is not there"})
		}
	}
	slices.SortStableFunc(a.report.Findings, func(x, y audit.Finding) int {
		return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line))
	})
}

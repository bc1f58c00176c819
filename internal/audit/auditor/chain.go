package auditor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

// A chainCheck is the verification of one chain.
type chainCheck struct {
	report  ChainReport
	v       audit.Verifier
	closure audit.Closure
}

// begin sets up the verifier; with is what the chain must fit.
func (c *chainCheck) begin(path string, with *expectation) {
	c.v.Report, c.v.Closure = c.report.find, &c.closure
	if with != nil {
		c.v.Expect = with.sorted()
	}
	c.report.Path = path
}

// end sums up what was read.
func (c *chainCheck) end(path string) {
	s := c.v.Summary()
	r := &c.report
	r.Tenant, r.Origin, r.Records, r.Bytes = s.Tenant, s.Log, s.Records, s.Bytes
	r.FirstSeq, r.Head, r.Time, r.Signed = s.First, s.Head.String(), s.Time, s.Fits
	if s.Records > 0 {
		r.LastSeq = s.Next - 1
	}
	if s.Root != (audit.Hash{}) {
		r.Root = s.Root.String()
	}
	var late []*audit.Finding
	r.Calls, late = c.closure.End(path)
	for _, f := range late {
		r.find(f)
	}
}

// tenant verifies a tenant's directory. What a log in use may only seem to lack
// is looked for again.
func (a *auditor) tenant(dir string, j *journal) ChainReport {
	c := a.tenantOnce(dir, j)
	if j != nil && c.contradicts() {
		if again, err := readJournal(j.dir); err == nil {
			return a.tenantOnce(dir, again)
		}
	}
	return c
}

func (a *auditor) tenantOnce(dir string, j *journal) ChainReport {
	return a.run(new(chainCheck), dir, j, nil)
}

// run verifies a tenant's directory; note is told of the checkpoints in it.
func (a *auditor) run(c *chainCheck, dir string, j *journal, note func(audit.Finding, string)) ChainReport {
	c.v.Note = note
	if err := a.segments(c, filepath.Join(dir, layout.Chain), filepath.Base(dir), j); err != nil {
		c.report.find(&audit.Finding{File: dir, Reason: audit.ReasonFile, Detail: "cannot be read: " + reasonOf(err)})
	}
	return c.report
}

// reasonOf leaves the path out of an error: the finding has it.
func reasonOf(err error) string {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// segments verifies the chain whose segments are in a directory. id is the name
// that the tenant's directory has, "" if the chain stands by itself.
func (a *auditor) segments(c *chainCheck, dir, id string, j *journal) error {
	with := a.signed[id]
	c.begin(dir, with)
	if j != nil {
		c.v.Same, c.v.Torn = j.same(id), j.torn(id)
	}
	l, err := a.listChain(dir, &c.report)
	if err != nil {
		return err
	}
	for _, first := range l.segments {
		c.report.Segments++
		if err := c.segment(segmentPath(dir, first), first); err != nil {
			return err
		}
	}
	if j != nil {
		if err := j.rest(id, &c.v); err != nil {
			return err
		}
	}
	c.end(dir)
	c.compare(dir, id, with, a.report.Signed != nil)
	return nil
}

// listChain lists a chain's directory. What is no segment is a finding: a chain
// whose file was renamed or replaced has lost it.
func (a *auditor) listChain(dir string, c *ChainReport) (listing, error) {
	info, err := os.Lstat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return listing{}, nil
	}
	if err != nil {
		return listing{}, err
	}
	if !info.IsDir() {
		c.find(&audit.Finding{File: dir, Reason: audit.ReasonFile, Detail: "not a directory"})
		return listing{}, nil
	}
	l, err := list(dir)
	for _, e := range l.others {
		detail := "not the name of a segment"
		if !e.Type().IsRegular() {
			detail = "not a regular file"
		}
		c.find(&audit.Finding{File: filepath.Join(dir, e.Name()), Reason: audit.ReasonFile, Detail: detail})
	}
	return l, err
}

func (c *chainCheck) segment(path string, first uint64) error {
	if next := c.v.Summary().Next; first != next {
		detail := fmt.Sprintf("segment begins with record %d, the one before ends with %d", first, int64(next)-1)
		if first > next {
			detail = fmt.Sprintf("records %d to %d are missing: segment begins with %d", next, first-1, first)
		}
		c.v.Resume(first)
		c.report.find(&audit.Finding{File: path, Line: 1, Seq: next, Reason: audit.ReasonSegment, Detail: detail})
	}
	f, err := openRegular(path)
	if errors.Is(err, errIrregular) {
		c.report.find(&audit.Finding{File: path, Reason: audit.ReasonFile, Detail: "not a regular file"})
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return c.v.Verify(path, f)
}

// compare compares a chain as a whole with what is known of it.
func (c *chainCheck) compare(dir, id string, with *expectation, signed bool) {
	s := c.v.Summary()
	find := func(reason audit.Reason, detail string) {
		c.report.find(&audit.Finding{File: dir, Seq: s.Next, Reason: reason, Detail: detail})
	}
	switch {
	case with != nil && s.Next > 0 && s.Log != "" && s.Log != with.origin:
		find(audit.ReasonReplaced, "another chain stands in the place of the one that was signed")
	case with != nil && with.size() > s.Next:
		find(audit.ReasonTruncated, truncated(with.size(), s.Next))
	case s.Records == 0 && len(c.report.Findings) == 0 && !signed:
		find(audit.ReasonEmpty, "there is no record")
	}
	if id != "" && s.Tenant != "" && id != TenantID(s.Tenant) {
		find(audit.ReasonTenant, "chain is in the directory of another tenant")
	}
}

func truncated(anchored, local uint64) string {
	return fmt.Sprintf("TRUNCATED anchored=%d local=%d: %d records are missing at the end", anchored, local, anchored-local)
}

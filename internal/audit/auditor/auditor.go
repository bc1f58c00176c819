package auditor

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

// Options of a verification.
type Options struct {
	// Anchors are anchor files of the log, the oldest first. They need a log's
	// directory.
	Anchors []string
}

// errNotLog says that anchors were given for something that is no log.
var errNotLog = errors.New("an anchor file goes with the directory of a whole log")

// An auditor verifies one path.
type auditor struct {
	o      Options
	report Report
	signed statements
}

// Verify verifies a log's directory, one tenant's directory in it, or one file.
// A segment by itself is verified from its first record on. An error means that
// something could not be read; what is wrong stands in the report.
func Verify(path string, o Options) (*Report, error) {
	a := &auditor{o: o, report: Report{Path: path}, signed: make(statements)}
	if err := a.path(path); err != nil {
		return nil, fmt.Errorf("verify audit log: %w", err)
	}
	slices.SortFunc(a.report.Chains, func(x, y ChainReport) int {
		return cmp.Or(cmp.Compare(x.Tenant, y.Tenant), cmp.Compare(x.Path, y.Path))
	})
	return &a.report, nil
}

// VerifyReader verifies one chain from its beginning; name is for findings.
func VerifyReader(name string, in io.Reader) (*Report, error) {
	c, err := one(name, in, false)
	if err != nil {
		return nil, fmt.Errorf("verify audit log: %w", err)
	}
	return &Report{Path: name, Chains: []ChainReport{c}}, nil
}

func one(name string, in io.Reader, partial bool) (ChainReport, error) {
	c := chainCheck{report: ChainReport{Path: name, Segments: 1}}
	c.begin(name, nil)
	c.v.Partial, c.closure.Partial = partial, partial
	err := c.v.Verify(name, in)
	c.end(name)
	if err == nil && c.report.Records == 0 && len(c.report.Findings) == 0 {
		c.report.find(&audit.Finding{File: name, Reason: audit.ReasonEmpty, Detail: "there is no record"})
	}
	return c.report, err
}

func (a *auditor) path(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir() && (isThere(path, layout.Tenants) || isThere(path, layout.Format)):
		return a.log(path)
	case a.o.Anchors != nil:
		return errNotLog
	case !info.IsDir():
		return a.file(path)
	case isThere(path, layout.Chain):
		a.chains([]string{path}, nil)
		return nil
	}
	l, err := list(path)
	if err != nil {
		return err
	}
	if len(l.segments) == 0 {
		return fmt.Errorf("%s: no audit chain is here", path)
	}
	c := new(chainCheck)
	err = a.segments(c, path, "", nil)
	a.report.Chains = append(a.report.Chains, c.report)
	return err
}

func isThere(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

func (a *auditor) file(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	first, ok := layout.ParseSegment(filepath.Base(path))
	c, err := one(path, f, ok && first > 0)
	a.report.Chains = append(a.report.Chains, c)
	return err
}

func (a *auditor) find(f audit.Finding) { a.report.Findings = append(a.report.Findings, f) }

// irregular finds something that stands where a file or directory of the log
// should be.
func (a *auditor) irregular(path, what string) {
	a.find(audit.Finding{File: path, Reason: audit.ReasonFile, Detail: what})
}

// log verifies a log's directory. What is oldest is read first: what was
// published, what was signed, the journal, and then the chains.
func (a *auditor) log(path string) error {
	if err := a.around(path); err != nil {
		return err
	}
	trust, err := a.trust(path)
	if err != nil {
		return err
	}
	j, err := readJournal(filepath.Join(path, layout.Journal))
	if err != nil {
		return err
	}
	a.report.Findings = append(a.report.Findings, j.findings...)
	if j.segments != nil {
		a.report.Journal = &Journal{Segments: len(j.segments), Records: j.records}
	}
	tenants := filepath.Join(path, layout.Tenants)
	anchor := filepath.Join(tenants, TenantID(AnchorTenant))
	if isDir(anchor) {
		a.anchorChain(anchor, j, trust)
	}
	dirs, err := a.tenantDirs(tenants)
	if err != nil {
		return err
	}
	a.chains(dirs, j)
	a.missing(tenants, append(dirs, anchor), j)
	return nil
}

// around looks at what stands beside the chains.
func (a *auditor) around(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(path, e.Name())
		switch {
		case !slices.Contains(kept, strings.TrimSuffix(e.Name(), tmpSuffix)):
			a.report.Unknown = append(a.report.Unknown, name)
		case slices.Contains([]string{layout.Tenants, layout.Journal, layout.Anchor, layout.Quarantine}, e.Name()) && !e.IsDir():
			a.irregular(name, "not a directory")
		}
	}
	format, err := readSmall(filepath.Join(path, layout.Format))
	switch {
	case errors.Is(err, errIrregular):
		a.irregular(filepath.Join(path, layout.Format), "not a regular file")
	case err != nil:
		return err
	case format != nil && !slices.Contains(formats, string(format)):
		a.irregular(filepath.Join(path, layout.Format), "the directory has a format that is not known")
	}
	aside, err := os.ReadDir(filepath.Join(path, layout.Quarantine))
	if err != nil && !errors.Is(err, os.ErrNotExist) && isDir(filepath.Join(path, layout.Quarantine)) {
		return err
	}
	for _, e := range aside {
		a.report.Quarantined = append(a.report.Quarantined, filepath.Join(path, layout.Quarantine, e.Name()))
	}
	return nil
}

// tenantDirs returns the directories of the tenants, that of the anchor's chain
// left out.
func (a *auditor) tenantDirs(path string) ([]string, error) {
	if !isDir(path) {
		return nil, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, e := range entries {
		name := filepath.Join(path, e.Name())
		switch {
		case e.IsDir() && e.Name() != TenantID(AnchorTenant):
			dirs = append(dirs, name)
		case !e.IsDir():
			a.irregular(name, "not a directory of a tenant")
		}
	}
	return dirs, nil
}

// chains verifies tenants' directories, as many at once as there are
// processors.
func (a *auditor) chains(dirs []string, j *journal) {
	reports := make([]ChainReport, len(dirs))
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, dir := range dirs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			reports[i] = a.tenant(dir, j)
		})
	}
	wg.Wait()
	a.report.Chains = append(a.report.Chains, reports...)
}

package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/hookpolicy/hookpolicy/internal/audit"
)

// A Report is what VerifyPath found.
type Report struct {
	Path   string        `json:"path"`
	Chains []ChainReport `json:"chains"`
	// Unknown are files that belong to no chain. They were not looked into.
	Unknown []string `json:"unknown,omitempty"`
	// Quarantined are what recoveries cut off.
	Quarantined []string `json:"quarantined,omitempty"`
}

// OK reports whether every chain verified.
func (r *Report) OK() bool {
	return !slices.ContainsFunc(r.Chains, func(c ChainReport) bool { return c.Finding != nil })
}

// A ChainReport is what was found of one chain, up to its first bad record.
type ChainReport struct {
	Path     string         `json:"path"`
	Tenant   string         `json:"tenant,omitempty"`
	Origin   string         `json:"origin,omitempty"`
	Segments int            `json:"segments"`
	Records  uint64         `json:"records"`
	Bytes    int64          `json:"bytes"`
	FirstSeq uint64         `json:"firstSeq,string"`
	LastSeq  uint64         `json:"lastSeq,string"` // 0 if there are no records
	Head     string         `json:"head"`           // hash of the last record
	Time     string         `json:"time,omitempty"` // of the last record
	Finding  *audit.Finding `json:"finding,omitempty"`
}

// VerifyPath verifies a log's directory, one tenant's directory in it, or one
// file. A segment by itself is verified from its first record on. An error
// means that something could not be read; what is wrong with a chain stands in
// the report.
func VerifyPath(path string) (*Report, error) {
	r := &Report{Path: path}
	if err := r.verify(path); err != nil {
		return nil, fmt.Errorf("verify audit log: %w", err)
	}
	return r, nil
}

func (r *Report) verify(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return r.file(path)
	case isDir(filepath.Join(path, tenantsDir)):
		return r.logDir(path)
	case isDir(filepath.Join(path, logDir)):
		return r.tenantDir(path)
	}
	if err := r.chain(path, ""); err != nil {
		return err
	}
	if r.Chains[0].Segments == 0 {
		return fmt.Errorf("%s: no audit chain is here", path)
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// VerifyReader verifies one chain from its beginning; name is for findings.
func VerifyReader(name string, in io.Reader) (ChainReport, error) {
	return verifyOne(name, in, false)
}

func verifyOne(name string, in io.Reader, partial bool) (ChainReport, error) {
	v := audit.Verifier{Partial: partial}
	c := ChainReport{Path: name, Segments: 1}
	err := c.take(&v, name, in)
	c.sum(&v)
	return c, err
}

func (r *Report) file(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	first, ok := parseSegment(filepath.Base(path))
	c, err := verifyOne(path, f, ok && first > 0)
	r.Chains = append(r.Chains, c)
	return err
}

// logDir verifies everything in a log's directory.
func (r *Report) logDir(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	// The last two are what the service keeps beside its log.
	known := []string{lockName, formatName, keysDir, journalDir, tenantsDir, quarantineDir, reserveName, probeName, "admin.sock", "last-good.json"}
	for _, e := range entries {
		if !slices.Contains(known, e.Name()) {
			r.Unknown = append(r.Unknown, filepath.Join(path, e.Name()))
		}
	}
	aside, err := os.ReadDir(filepath.Join(path, quarantineDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range aside {
		r.Quarantined = append(r.Quarantined, filepath.Join(path, quarantineDir, e.Name()))
	}
	tenants, err := os.ReadDir(filepath.Join(path, tenantsDir))
	if err != nil {
		return err
	}
	for _, e := range tenants {
		dir := filepath.Join(path, tenantsDir, e.Name())
		if !e.IsDir() {
			r.Unknown = append(r.Unknown, dir)
		} else if err := r.tenantDir(dir); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) tenantDir(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != stateName && (e.Name() != logDir || !e.IsDir()) {
			r.Unknown = append(r.Unknown, filepath.Join(path, e.Name()))
		}
	}
	dir := filepath.Join(path, logDir)
	if !isDir(dir) {
		return nil // a crash before the first record
	}
	return r.chain(dir, filepath.Base(path))
}

// chain verifies the segments in a directory. id is the name that the tenant's
// directory should have, "" if that is not known.
func (r *Report) chain(dir, id string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	c := ChainReport{Path: dir}
	var v audit.Verifier
	for _, e := range entries { // sorted by name, so by sequence number
		path := filepath.Join(dir, e.Name())
		first, ok := parseSegment(e.Name())
		if !ok || !e.Type().IsRegular() {
			r.Unknown = append(r.Unknown, path)
			continue
		}
		if c.Finding != nil {
			continue
		}
		c.Segments++
		if err := c.segment(&v, path, first); err != nil {
			return err
		}
	}
	c.sum(&v)
	if c.Finding == nil && id != "" && c.Records > 0 && id != TenantID(c.Tenant) {
		c.Finding = &audit.Finding{File: dir, Reason: audit.ReasonTenant, Detail: "chain is in the directory of another tenant"}
	}
	r.Chains = append(r.Chains, c)
	return nil
}

func (c *ChainReport) segment(v *audit.Verifier, path string, first uint64) error {
	if next := v.Summary().Next; first != next {
		detail := fmt.Sprintf("segment begins with record %d, the one before ends with %d", first, next-1)
		if first > next {
			detail = fmt.Sprintf("records %d to %d are missing: segment begins with %d", next, first-1, first)
		}
		c.Finding = &audit.Finding{File: path, Line: 1, Seq: next, Reason: audit.ReasonSegment, Detail: detail}
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return c.take(v, path, f)
}

func (c *ChainReport) take(v *audit.Verifier, name string, in io.Reader) error {
	err := v.Verify(name, in)
	if finding, ok := errors.AsType[*audit.Finding](err); ok {
		c.Finding = finding
		return nil
	}
	return err
}

func (c *ChainReport) sum(v *audit.Verifier) {
	s := v.Summary()
	c.Tenant, c.Origin, c.Records, c.Bytes = s.Tenant, s.Log, s.Records, s.Bytes
	c.FirstSeq, c.Head, c.Time = s.First, s.Head.String(), s.Time
	if s.Records > 0 {
		c.LastSeq = s.Next - 1
	}
}

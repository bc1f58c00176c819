package auditor

import (
	"slices"

	"github.com/hookpolicy/hookpolicy/internal/audit"
)

// MaxFindings is how many findings of one chain are kept. What follows the
// first is often its echo.
const MaxFindings = 100

// A Report is what was found.
type Report struct {
	Path   string        `json:"path"`
	Chains []ChainReport `json:"chains"`
	// Findings are those that belong to no chain.
	Findings []audit.Finding `json:"findings,omitempty"`
	Signed   *Signed         `json:"signed,omitempty"` // nil: nothing is signed
	Journal  *Journal        `json:"journal,omitempty"`
	// Unknown are files that belong to no chain. They were not looked into.
	Unknown []string `json:"unknown,omitempty"`
	// Quarantined are what recoveries cut off.
	Quarantined []string `json:"quarantined,omitempty"`
}

// Signed says whose signatures were checked and how far they reach.
type Signed struct {
	Log         string   `json:"log"`
	Keys        []string `json:"vkeys"`
	Checkpoints uint64   `json:"checkpoints"`           // that chains were compared with
	AnchorFile  bool     `json:"anchorFile"`            // keys and checkpoints are from elsewhere too
	Anchored    uint64   `json:"anchored,string"`       // size of the anchor's chain that was published last
	PublishedAt string   `json:"publishedAt,omitempty"` // when
}

// Journal says what the journal held.
type Journal struct {
	Segments int `json:"segments"`
	Records  int `json:"records"`
}

// A ChainReport is what was found of one chain.
type ChainReport struct {
	Path     string `json:"path"`
	Tenant   string `json:"tenant,omitempty"`
	Origin   string `json:"origin,omitempty"`
	Segments int    `json:"segments"`
	Records  uint64 `json:"records"`
	Bytes    int64  `json:"bytes"`
	FirstSeq uint64 `json:"firstSeq,string"`
	LastSeq  uint64 `json:"lastSeq,string"` // 0 if there are no records
	Head     string `json:"head"`           // hash of the last record
	Root     string `json:"root,omitempty"` // over all records, if all are good
	Time     string `json:"time,omitempty"` // of the last record
	// Signed is how many of its records the largest checkpoint covers that it
	// fits.
	Signed   uint64               `json:"signed,string"`
	Calls    audit.ClosureSummary `json:"calls"`
	Findings []audit.Finding      `json:"findings,omitempty"`
	// More is how many findings came after MaxFindings.
	More int `json:"moreFindings,omitempty"`
}

// OK reports whether nothing is wrong.
func (r *Report) OK() bool {
	return len(r.Findings) == 0 && !slices.ContainsFunc(r.Chains, func(c ChainReport) bool { return len(c.Findings) > 0 })
}

// All returns every finding.
func (r *Report) All() []audit.Finding {
	all := slices.Clone(r.Findings)
	for _, c := range r.Chains {
		all = append(all, c.Findings...)
	}
	return all
}

func (c *ChainReport) find(f *audit.Finding) {
	if len(c.Findings) < MaxFindings {
		c.Findings = append(c.Findings, *f)
	} else {
		c.More++
	}
}

// contradicts reports whether a chain seems to lack what it should hold, which
// a log in use can seem to do for a moment.
func (c *ChainReport) contradicts() bool {
	return slices.ContainsFunc(c.Findings, func(f audit.Finding) bool {
		return f.Reason == audit.ReasonTruncated || f.Reason == audit.ReasonTorn || f.Reason == audit.ReasonSeq || f.Reason == audit.ReasonSegment
	})
}

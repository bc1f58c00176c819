package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Bounds of an Anchor.
const (
	// MaxAnchorLogs is how many logs one Anchor covers at most.
	MaxAnchorLogs = 1000
	// MaxAnchorLine bounds the line of an Anchor, in bytes.
	MaxAnchorLine = 4 << 20
	maxKeys       = 16
)

// ErrAnchor says that a line is not that of an Anchor.
var ErrAnchor = errors.New("not a line of an anchor file")

// An Anchor is what a replica publishes where whoever can write to its log
// cannot: its signed checkpoint, and those of the tenants' logs that have grown.
// One line of JSON is one Anchor. The checkpoint of the replica is that of the
// log whose records hold the tenants' checkpoints, so it covers those of all
// earlier Anchors too; the tenants' stand here so that what is missing can be
// named when that log is missing as well.
type Anchor struct {
	Version    int       `json:"v"`   // 1
	Log        string    `json:"log"` // the replica's log id
	Time       time.Time `json:"ts"`
	Keys       []string  `json:"vkeys"`
	Checkpoint string    `json:"checkpoint"` // signed
	Tenants    []string  `json:"tenants"`    // signed
}

// AppendLine appends the anchor's line.
func (a *Anchor) AppendLine(dst []byte) ([]byte, error) {
	if len(a.Tenants) > MaxAnchorLogs {
		return dst, errors.New("write an anchor: too many logs for one line")
	}
	b, err := json.Marshal(a)
	if err != nil {
		return dst, fmt.Errorf("write an anchor: %w", err)
	}
	return append(append(dst, b...), '\n'), nil
}

// ParseAnchor reads what AppendLine wrote, newline included, and nothing else:
// ErrAnchor. It does not look at signatures.
func ParseAnchor(line []byte) (*Anchor, error) {
	if len(line) > MaxAnchorLine {
		return nil, ErrAnchor
	}
	a := new(Anchor)
	if err := json.Unmarshal(line, a); err != nil || a.Version != 1 || len(a.Keys) == 0 || len(a.Keys) > maxKeys {
		return nil, ErrAnchor
	}
	if again, err := a.AppendLine(nil); err != nil || !bytes.Equal(again, line) {
		return nil, ErrAnchor
	}
	return a, nil
}

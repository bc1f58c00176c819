package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
)

// A state is where a chain stands in its files: the segment that it ends in, as
// far as it is durable. The zero state is that of a chain that has no file.
//
// It is kept beside the chain so that opening a chain takes no longer the more
// it holds. It is derived from the chain: without it, the chain is read.
type state struct {
	Tenant  string          `json:"tenant"`
	Origin  string          `json:"origin"`
	First   uint64          `json:"first,string"` // in the segment's name
	Size    int64           `json:"size,string"`
	LastLen int             `json:"lastLen"` // of its last line; 0 if it has none
	Head    hexHash         `json:"head"`
	Time    time.Time       `json:"time"` // of the last record
	Tree    checkpoint.Tree `json:"tree"` // its size is the next sequence number
}

type hexHash audit.Hash

func (h hexHash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

func (h *hexHash) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return hex.ErrLength
	}
	_, err := hex.Decode(h[:], text)
	return err
}

func (s *state) next() uint64       { return s.Tree.Size() }
func (s *state) position() position { return position{s.next(), audit.Hash(s.Head), s.Time} }

// take moves the state over a line that goes into its segment.
func (s *state) take(l *audit.Line, size int) {
	if l.Seq == 0 {
		s.Tenant, s.Origin = l.Tenant, l.Log
	}
	s.Tree.Append(l.Hash)
	s.Size += int64(size)
	s.LastLen, s.Head, s.Time = size, hexHash(l.Hash), l.Time
}

// follows reports whether a line is the one after the state.
func (s *state) follows(l *audit.Line) bool {
	return l.Seq == s.next() && l.Prev == audit.Hash(s.Head) && !l.Time.Before(s.Time) &&
		(l.Seq > 0 || l.Kind == audit.KindGenesis)
}

// text is the state as JSON, and in the next line the SHA-256 of that.
func (s *state) text() ([]byte, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the state of a chain: %w", err)
	}
	sum := sha256.Sum256(b)
	return append(hex.AppendEncode(append(b, '\n'), sum[:]), '\n'), nil
}

// loadState returns nil if there is no state, or none that is whole.
func loadState(fsys FS, id string) (*state, error) {
	text, err := readSmall(fsys, statePath(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // a chain without a state is no error
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", statePath(id), err)
	}
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	sum := sha256.Sum256(line)
	s := new(state)
	if string(rest) != hex.EncodeToString(sum[:])+"\n" {
		return nil, nil //nolint:nilnil // a state that is not whole is none
	}
	bad := json.Unmarshal(line, s)
	if bad != nil || TenantID(s.Tenant) != id || s.Size < 0 || s.LastLen < 0 || int64(s.LastLen) > s.Size || s.LastLen > audit.MaxLine || s.First > s.next() {
		return nil, nil //nolint:nilnil,nilerr // nor is one that makes no sense any use
	}
	return s, nil
}

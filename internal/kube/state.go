package kube

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The file of the last good policies.
const (
	stateVersion  = 1
	maxStateBytes = 1 << 30
	maxStateAge   = 24 * time.Hour
	maxStateAhead = 5 * time.Minute // clocks differ
)

// A stateFile is the file's form. The checksum is of the bytes of State.
type stateFile struct {
	State  json.RawMessage `json:"state"`
	SHA256 string          `json:"sha256"`
}

// A state is every policy that one replica had in force, as sources: compiled
// anew they mean what this program says that they mean.
type state struct {
	Version int `json:"version"`
	// CurrentAt is when the API server last confirmed them.
	CurrentAt       time.Time      `json:"currentAt"`
	Policies        []storedPolicy `json:"hookPolicies"`
	ClusterPolicies []storedPolicy `json:"clusterHookPolicies"`
}

// A storedPolicy is one policy. Good is there if the latest version could not
// be taken over and an earlier one is in force.
type storedPolicy struct {
	Namespace       string          `json:"namespace,omitempty"`
	Name            string          `json:"name"`
	UID             types.UID       `json:"uid"`
	Created         metav1.Time     `json:"creationTimestamp"`
	ResourceVersion string          `json:"resourceVersion"`
	Generation      int64           `json:"generation"`
	Spec            json.RawMessage `json:"spec"`
	Good            *storedVersion  `json:"good,omitempty"`
}

type storedVersion struct {
	Generation int64           `json:"generation"`
	Spec       json.RawMessage `json:"spec"`
}

func stored(e *entry) storedPolicy {
	p := storedPolicy{
		Namespace: e.name.Namespace, Name: e.name.Name, UID: e.uid, Created: e.created, ResourceVersion: e.resourceVersion,
		Generation: e.latest.generation, Spec: e.latest.spec,
	}
	if e.good != nil {
		p.Good = &storedVersion{Generation: e.good.generation, Spec: e.good.spec}
	}
	return p
}

// entry compiles a stored policy, its good version first.
func (p *storedPolicy) entry(c *compiler, k kind) *entry {
	o := &object{ObjectMeta: metav1.ObjectMeta{
		Namespace: p.Namespace, Name: p.Name, UID: p.UID, CreationTimestamp: p.Created, ResourceVersion: p.ResourceVersion,
	}}
	var good *entry
	if p.Good != nil {
		o.Generation, o.Spec = p.Good.Generation, p.Good.Spec
		good = c.entry(k, o, nil)
	}
	o.Generation, o.Spec = p.Generation, p.Spec
	return c.entry(k, o, good)
}

// writeState puts a state in the place of the file at path, whole or not at
// all. It writes as it goes: thousands of policies are not held twice.
func writeState(path string, lists [kinds][]*entry, currentAt time.Time) error {
	next := path + ".tmp"
	if err := writeFile(next, lists, currentAt); err != nil {
		return fmt.Errorf("write the last good policies: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("write the last good policies: %w", err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("write the last good policies: %w", err)
	}
	return nil
}

func writeFile(path string, lists [kinds][]*entry, currentAt time.Time) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Chmod(0o600); err != nil { // it may have been left behind
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	return errors.Join(encodeState(w, lists, currentAt), w.Flush(), f.Sync())
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func encodeState(w io.Writer, lists [kinds][]*entry, currentAt time.Time) error {
	sum := sha256.New()
	e := &stateEncoder{w: io.MultiWriter(w, sum)}
	_, e.err = io.WriteString(w, `{"state":`)
	e.text(`{"version":`)
	e.value(stateVersion)
	e.text(`,"currentAt":`)
	e.value(currentAt.UTC())
	e.text(`,"hookPolicies":`)
	e.list(lists[hookPolicies])
	e.text(`,"clusterHookPolicies":`)
	e.list(lists[clusterHookPolicies])
	e.text("}")
	if e.err != nil {
		return e.err
	}
	_, err := io.WriteString(w, `,"sha256":"`+hex.EncodeToString(sum.Sum(nil))+"\"}\n")
	return err
}

// A stateEncoder writes until the first error.
type stateEncoder struct {
	w   io.Writer
	err error
}

func (e *stateEncoder) text(s string) {
	if e.err == nil {
		_, e.err = io.WriteString(e.w, s)
	}
}

func (e *stateEncoder) value(v any) {
	b, err := json.Marshal(v)
	if e.err == nil {
		e.err = err
	}
	e.text(string(b))
}

func (e *stateEncoder) list(entries []*entry) {
	separator := "["
	for _, policy := range entries {
		e.text(separator + "\n")
		e.value(stored(policy))
		separator = ","
	}
	if len(entries) == 0 {
		e.text(separator)
	}
	e.text("]")
}

// errStateDamaged marks a file that is not what was written.
var errStateDamaged = errors.New("the file of the last good policies is damaged")

// readState returns the state in a file, nil where there is none. A damaged
// file is errStateDamaged.
func readState(path string) (*state, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the last good policies: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxStateBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the last good policies: %w", err)
	}
	var file stateFile
	if err := json.Unmarshal(b, &file); err != nil {
		return nil, fmt.Errorf("%w: %w", errStateDamaged, err)
	}
	if sum := sha256.Sum256(file.State); hex.EncodeToString(sum[:]) != file.SHA256 {
		return nil, fmt.Errorf("%w: its checksum is of something else", errStateDamaged)
	}
	var s state
	if err := json.Unmarshal(file.State, &s); err != nil {
		return nil, fmt.Errorf("%w: %w", errStateDamaged, err)
	}
	if s.Version != stateVersion {
		return nil, fmt.Errorf("%w: its version is %d", errStateDamaged, s.Version)
	}
	return &s, nil
}

// usable returns why a state must not be used any more, or nil.
func (s *state) usable(now time.Time) error {
	switch age := now.Sub(s.CurrentAt); {
	case age > maxStateAge:
		return fmt.Errorf("the last good policies are older than %s", maxStateAge)
	case age < -maxStateAhead:
		return errors.New("the last good policies are of a later time than now")
	default:
		return nil
	}
}

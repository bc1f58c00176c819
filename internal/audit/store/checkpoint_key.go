package store

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"

	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

// Where what is signed is kept.
const (
	logKeyName = "log.key" // in layout.Keys
	anchorName = layout.Anchor + "/" + layout.AnchorNote
	headsName  = layout.Anchor + "/" + layout.Heads
	keyPrefix  = "hookpolicy.dev/log/"
)

// anchorID names the directory of the anchor's chain.
var anchorID = TenantID(AnchorTenant)

// LogInfo is what log.json says of a log: whose it is and how its signatures
// are checked. Whoever can write to the log's directory can write it, so it
// proves nothing by itself; a copy of it that is kept elsewhere does.
type LogInfo struct {
	Log    string   `json:"log"` // at random, 32 hexadecimal digits
	Origin string   `json:"origin"`
	Keys   []string `json:"vkeys"`
}

// loadLogKey reads the key that signs, or makes it; fresh says that log.json,
// which is written after all else that a log begins with, is not there. A log
// that has signed before and has lost its key is not given another one.
func loadLogKey(fsys FS) (key *checkpoint.Key, fresh bool, err error) {
	for _, dir := range []string{layout.Keys, layout.Anchor} {
		if err := mkdir(fsys, dir); err != nil {
			return nil, false, err
		}
	}
	info, err := readSmall(fsys, layout.Info)
	if fresh = errors.Is(err, fs.ErrNotExist); err != nil && !fresh {
		return nil, false, fmt.Errorf("read %s: %w", layout.Info, err)
	}
	if key, err = readOrMakeKey(fsys, fresh); err != nil {
		return nil, false, err
	}
	if fresh { // or a crash before all of it was written
		return key, true, nil
	}
	if text, err := infoOf(key); err != nil || string(info) != string(text) {
		return nil, false, fmt.Errorf("%w: %s is not of the key that signs this log", ErrCorrupt, layout.Info)
	}
	return key, false, nil
}

func readOrMakeKey(fsys FS, mayMake bool) (*checkpoint.Key, error) {
	name := path.Join(layout.Keys, logKeyName)
	text, err := readSmall(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		if !mayMake {
			return nil, fmt.Errorf("%w: %s is missing: this log cannot be signed any more", ErrCorrupt, name)
		}
		return makeKey(fsys, name)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	secret, ok := strings.CutSuffix(string(text), "\n")
	key, err := checkpoint.ParseKey(secret)
	if err != nil || !ok || !strings.HasPrefix(key.Name(), keyPrefix) {
		return nil, fmt.Errorf("read %s: not a key", name)
	}
	return key, nil
}

func makeKey(fsys FS, name string) (*checkpoint.Key, error) {
	var id [16]byte
	rand.Read(id[:]) // never fails
	key, err := checkpoint.GenerateKey(keyPrefix + hex.EncodeToString(id[:]))
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", name, err)
	}
	if err := writeDurably(fsys, name, []byte(key.Secret()+"\n")); err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return key, nil
}

func writeInfo(fsys FS, key *checkpoint.Key) error {
	text, err := infoOf(key)
	if err != nil {
		return err
	}
	if err := writeDurably(fsys, layout.Info, text); err != nil {
		return fmt.Errorf("write %s: %w", layout.Info, err)
	}
	return nil
}

func infoOf(key *checkpoint.Key) ([]byte, error) {
	b, err := json.Marshal(LogInfo{Log: path.Base(key.Name()), Origin: key.Name(), Keys: []string{key.Verifier()}})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", layout.Info, err)
	}
	return append(b, '\n'), nil
}

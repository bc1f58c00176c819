package store

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// readSmall reads a file of at most 4 KiB.
func readSmall(fsys FS, name string) ([]byte, error) {
	f, err := fsys.OpenFile(name, 0, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, 4<<10)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b[:n], nil
}

// writeDurably makes a file with its contents in one step: after a crash it is
// there whole or not at all.
func writeDurably(fsys FS, name string, data []byte) error {
	tmp := name + ".tmp"
	f, err := fsys.OpenFile(tmp, os.O_CREATE|os.O_TRUNC, filePerm)
	if err != nil {
		return err
	}
	if err := writeAll(f, data, 0); err != nil {
		_ = f.Close() // the error to report is the other one
		return err
	}
	if err := f.Datasync(); err != nil {
		_ = f.Close() // the error to report is the other one
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := fsys.Rename(tmp, name); err != nil {
		return err
	}
	return fsys.SyncDir(path.Dir(name))
}

func writeAll(f File, data []byte, at int64) error {
	n, err := f.WriteAt(data, at)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	return err
}

// checkFormat reads FORMAT, or writes it into a new directory.
func checkFormat(fsys FS) error {
	text, err := readSmall(fsys, formatName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = writeDurably(fsys, formatName, []byte(formatText))
	case err == nil && string(text) != formatText:
		return ErrFormat
	}
	if err != nil {
		return fmt.Errorf("read or write %s: %w", formatName, err)
	}
	return nil
}

type secret [sha256.Size]byte

// loadKey reads the key of commitments, or makes it.
func loadKey(fsys FS) (secret, error) {
	var key secret
	if err := mkdir(fsys, keysDir); err != nil {
		return key, err
	}
	name := path.Join(keysDir, keyName)
	b, err := readSmall(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		rand.Read(key[:]) // never fails
		err = writeDurably(fsys, name, hex.AppendEncode(nil, key[:]))
		if err != nil {
			return key, fmt.Errorf("write %s: %w", name, err)
		}
		return key, nil
	}
	if err != nil {
		return key, fmt.Errorf("read %s: %w", name, err)
	}
	if n, err := hex.Decode(key[:], b[:min(len(b), 2*len(key))]); err != nil || n != len(key) || len(b) != 2*len(key) {
		return key, fmt.Errorf("read %s: not a key", name)
	}
	return key, nil
}

// commitment returns a keyed hash of data that only holders of the key can
// compare with a guess, and that differs from tenant to tenant.
func (k *secret) commitment(tenant string, data []byte) string {
	derived := mac(k[:], []byte("tenant\x00"), []byte(tenant))
	sum := mac(derived[:], data)
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, parts ...[]byte) (sum secret) {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		h.Write(p)
	}
	h.Sum(sum[:0])
	return sum
}

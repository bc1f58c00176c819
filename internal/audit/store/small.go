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

	"github.com/hookpolicy/hookpolicy/internal/audit/layout"
)

// readSmall reads a file of at most 8 KiB.
func readSmall(fsys FS, name string) ([]byte, error) {
	f, err := fsys.OpenFile(name, 0, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, 8<<10)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b[:n], nil
}

// writeDurably makes a file with its contents in one step: after a crash it is
// there whole or not at all.
func writeDurably(fsys FS, name string, data []byte) error {
	if err := replace(fsys, name, data, File.Datasync); err != nil {
		return err
	}
	return fsys.SyncDir(path.Dir(name))
}

// replaceFile does the same for everybody but a crash.
func replaceFile(fsys FS, name string, data []byte) error {
	return replace(fsys, name, data, func(File) error { return nil })
}

func replace(fsys FS, name string, data []byte, sync func(File) error) error {
	tmp := name + ".tmp"
	f, err := fsys.OpenFile(tmp, os.O_CREATE|os.O_TRUNC, filePerm)
	if err != nil {
		return err
	}
	if err := writeAll(f, data, 0); err != nil {
		_ = f.Close() // the error to report is the other one
		return err
	}
	if err := sync(f); err != nil {
		_ = f.Close() // the error to report is the other one
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return fsys.Rename(tmp, name)
}

func writeAll(f File, data []byte, at int64) error {
	n, err := f.WriteAt(data, at)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	return err
}

// readFormat reports whether the directory has this version's layout already;
// not so one that is new, or of the version before.
func readFormat(fsys FS) (current bool, err error) {
	text, err := readSmall(fsys, layout.Format)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read %s: %w", layout.Format, err)
	case string(text) == layout.V2:
		return true, nil
	case string(text) == layout.V1:
		return false, nil
	}
	return false, ErrFormat
}

func fillZeros(f File, size int64) error {
	zeros := make([]byte, min(size, 1<<20))
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if err := writeAll(f, zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return nil
}

type secret [sha256.Size]byte

// loadKey reads the key of commitments, or makes it.
func loadKey(fsys FS) (secret, error) {
	var key secret
	if err := mkdir(fsys, layout.Keys); err != nil {
		return key, err
	}
	name := path.Join(layout.Keys, keyName)
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

// tenantKey returns the key of a tenant's commitments, so that equal data of two
// tenants have different ones.
func (k *secret) tenantKey(tenant string) *secret {
	h := hmac.New(sha256.New, k[:])
	h.Write([]byte("tenant\x00" + tenant))
	var derived secret
	h.Sum(derived[:0])
	return &derived
}

// commitment returns a keyed hash of data, HMAC-SHA-256, that only holders of
// the key can compare with a guess. It is written out here, since two hashes
// over one buffer cost a third of what the general form does, and every decision
// needs one.
func (k *secret) commitment(data []byte) string {
	var buf [1024]byte
	inner := append(buf[:0], k[:]...)
	inner = inner[:sha256.BlockSize] // the key, and zeros after it
	for i := range inner {
		inner[i] ^= 0x36
	}
	sum := sha256.Sum256(append(inner, data...))
	var outer [sha256.BlockSize + sha256.Size]byte
	copy(outer[:], k[:])
	for i := range outer[:sha256.BlockSize] {
		outer[i] ^= 0x5c
	}
	copy(outer[sha256.BlockSize:], sum[:])
	sum = sha256.Sum256(outer[:])
	return hex.EncodeToString(sum[:])
}

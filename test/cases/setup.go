package cases

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Document returns the request of a case about requests, to the byte. ok is
// false where the case only describes what happens.
func (c *Case) Document() (doc []byte, ok bool, err error) {
	var call struct {
		Raw       string `json:"raw"`
		RawB64    []byte `json:"raw_b64"`
		RawB64Gz  string `json:"raw_b64_gzip"`
		Described string `json:"description"`
	}
	if err := json.Unmarshal(c.Call, &call); err != nil {
		return nil, false, fmt.Errorf("read the request of %s: %w", c.ID, err)
	}
	switch {
	case call.Described != "":
		return nil, false, nil
	case call.RawB64 != nil:
		return call.RawB64, true, nil
	case call.RawB64Gz == "":
		return []byte(call.Raw), true, nil
	}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(call.RawB64Gz)))
	if err != nil {
		return nil, false, fmt.Errorf("unpack the request of %s: %w", c.ID, err)
	}
	if doc, err = io.ReadAll(z); err != nil {
		return nil, false, fmt.Errorf("unpack the request of %s: %w", c.ID, err)
	}
	return doc, true, nil
}

// A PathSetup is the Setup of a case about paths.
type PathSetup struct {
	Roots    []string          `json:"roots"`
	CWD      string            `json:"cwd"` // the working directory that the policy declares
	FS       []json.RawMessage `json:"fs"`
	ExpectAt string            `json:"expect_at"` // "tool-open": only the tool's own open can decide
}

// Build makes the files of a case.
func (s *PathSetup) Build() error {
	for _, doc := range s.FS {
		var e struct{ Dir, File, Text, Zip, Symlink, Hardlink, To, FIFO, Socket string }
		if err := json.Unmarshal(doc, &e); err != nil {
			return fmt.Errorf("read what to make: %w", err)
		}
		var err error
		switch {
		case e.Dir != "":
			err = os.MkdirAll(e.Dir, 0o750)
		case e.File != "":
			err = writeFile(e.File, e.Text)
		case e.Zip != "":
			err = writeFile(e.Zip, "PK")
		case e.Symlink != "":
			err = os.Symlink(e.To, e.Symlink)
		case e.Hardlink != "":
			err = os.Link(e.To, e.Hardlink)
		case e.FIFO != "":
			err = syscall.Mkfifo(e.FIFO, 0o600)
		case e.Socket != "":
			err = syscall.Mknod(e.Socket, syscall.S_IFSOCK|0o600, 0)
		default:
			err = fmt.Errorf("unknown entry %s", bytes.TrimSpace(doc))
		}
		if err != nil {
			return fmt.Errorf("make the files of a case: %w", err)
		}
	}
	return nil
}

func writeFile(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o600)
}

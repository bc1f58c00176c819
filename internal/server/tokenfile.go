package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	"github.com/hookpolicy/hookpolicy/internal/chain"
)

// Bounds of a token file.
const (
	minTokenBytes     = 16
	maxTokenFileBytes = 1 << 20
	maxNameBytes      = 253
)

// A TokenFile knows callers by the bearer tokens of a file. Each line is
//
//	<token>,<namespace>,<serviceaccount>
//
// Empty lines and lines that begin with # are skipped. A token has 16 bytes or
// more. Only digests of the tokens are kept, and a token is looked up by its
// digest, so how long that takes says nothing about the tokens.
//
// A changed file replaces all callers at once. One that cannot be read or is
// wrong in any line changes nothing. One without callers lets nobody in.
type TokenFile struct {
	path    string
	log     *slog.Logger
	callers atomic.Pointer[map[[sha256.Size]byte]chain.Caller]
	content contentDigest
}

var _ Authenticator = (*TokenFile)(nil)

// NewTokenFile reads the file, which must be right. Watch follows its changes.
func NewTokenFile(path string, log *slog.Logger) (*TokenFile, error) {
	t := &TokenFile{path: path, log: log}
	if _, err := t.Reload(); err != nil {
		return nil, err
	}
	return t, nil
}

// Authenticate returns the caller that the request's token belongs to.
func (t *TokenFile) Authenticate(r *http.Request) (chain.Caller, error) {
	token, err := BearerToken(r)
	if err != nil {
		return chain.Caller{}, err
	}
	caller, ok := (*t.callers.Load())[sha256.Sum256([]byte(token))]
	if !ok {
		return chain.Caller{}, unauthenticated("the token is not known")
	}
	return caller, nil
}

// Watch reloads the file when it changes, until ctx ends.
func (t *TokenFile) Watch(ctx context.Context) { watch(ctx, t.log, "token file", t.Reload) }

// Reload reads the file and reports whether it has changed. An error leaves
// the last good one in force.
func (t *TokenFile) Reload() (changed bool, err error) {
	doc, mode, err := readBounded(t.path, maxTokenFileBytes)
	if err != nil {
		return false, fmt.Errorf("read token file: %w", err)
	}
	if t.content.same(doc) {
		return false, nil
	}
	callers, err := parseTokens(doc)
	if err != nil {
		return false, fmt.Errorf("read token file: %w", err)
	}
	t.callers.Store(&callers)
	t.content.set(doc)
	if mode&0o077 != 0 {
		t.log.Warn("Token file can be read by others", "path", t.path, "mode", mode.String())
	}
	if len(callers) == 0 {
		t.log.Warn("Token file names no caller", "path", t.path)
	}
	return true, nil
}

func parseTokens(doc []byte) (map[[sha256.Size]byte]chain.Caller, error) {
	callers := make(map[[sha256.Size]byte]chain.Caller)
	number := 0
	for line := range bytes.Lines(doc) {
		number++
		text := strings.TrimSpace(string(line))
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		digest, caller, err := parseToken(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if _, dup := callers[digest]; dup {
			return nil, fmt.Errorf("line %d: the token stands in an earlier line too", number)
		}
		callers[digest] = caller
	}
	return callers, nil
}

// parseToken reads one line. Its errors quote nothing of it.
func parseToken(line string) (digest [sha256.Size]byte, caller chain.Caller, err error) {
	fields := strings.Split(line, ",")
	if len(fields) != 3 {
		return digest, caller, errors.New("want <token>,<namespace>,<serviceaccount>")
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	switch {
	case len(fields[0]) < minTokenBytes:
		return digest, caller, fmt.Errorf("the token has fewer than %d bytes", minTokenBytes)
	case strings.ContainsFunc(fields[0], func(c rune) bool { return c <= ' ' || c > '~' }):
		return digest, caller, errors.New("the token holds characters that no header can carry")
	case !validName(fields[1]) || strings.Contains(fields[1], "."):
		return digest, caller, errors.New("the namespace is not a Kubernetes name")
	case !validName(fields[2]):
		return digest, caller, errors.New("the service account is not a Kubernetes name")
	}
	return sha256.Sum256([]byte(fields[0])), chain.Caller{Namespace: fields[1], ServiceAccount: fields[2]}, nil
}

// validName reports whether s is a DNS subdomain, as Kubernetes names are.
func validName(s string) bool {
	if s == "" || len(s) > maxNameBytes {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	return true
}

// readBounded reads a file that must not be larger than limit.
func readBounded(path string, limit int64) ([]byte, os.FileMode, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	doc, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, 0, err
	}
	if int64(len(doc)) > limit {
		return nil, 0, fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return doc, info.Mode().Perm(), nil
}

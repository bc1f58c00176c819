package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/audit"
)

// verifiedBytes bounds how much of the chain is verified: enough to be timed.
const verifiedBytes = 64 << 20

// verify times verification on the chain that the load left, against hashing
// it.
func (b *bench) verify(ctx context.Context) error {
	file, text, err := b.segment()
	if err != nil {
		return err
	}
	var strict, only, command []float64
	for range b.rounds {
		hash := clock(func() error { sha256.Sum256(text); return nil })
		for _, v := range []struct {
			ratios *[]float64
			run    func() error
		}{
			{&strict, func() error { return new(audit.Verifier).Verify(file, bytes.NewReader(text)) }},
			{&only, func() error { return (&audit.Verifier{ChainOnly: true}).Verify(file, bytes.NewReader(text)) }},
			{&command, exec.CommandContext(ctx, b.binary(), "audit", "verify", file).Run},
		} {
			taken := clock(v.run)
			if err := errors.Join(hash.err, taken.err); err != nil {
				return err
			}
			*v.ratios = append(*v.ratios, hash.time.Seconds()/taken.time.Seconds())
		}
	}
	b.report.row(row{
		what:     fmt.Sprintf("`audit verify` against SHA-256 of the same bytes (%s, hashed by one processor)", mebi(int64(len(text)))),
		budget:   "≥ 0.5",
		measured: fmt.Sprintf("%s (the command, strict); %s strict, %s hashes and order alone, in process", ratio(median(command)), ratio(median(strict)), ratio(median(only))),
		met:      median(command) >= 0.5,
	})
	return nil
}

// segment is a copy of the largest segment that the load left, from a chain's
// beginning.
func (b *bench) segment() (file string, text []byte, err error) {
	names, err := filepath.Glob(filepath.Join(b.auditDir, "t", "*", "log", "00000000000000000000.jsonl"))
	if err != nil || len(names) == 0 {
		return "", nil, errors.Join(errors.New("the load left no audit chain"), err)
	}
	var largest int64
	name := names[0]
	for _, n := range names {
		if info, err := os.Stat(n); err == nil && info.Size() > largest {
			name, largest = n, info.Size()
		}
	}
	if text, err = os.ReadFile(name); err != nil {
		return "", nil, fmt.Errorf("read the audit chain: %w", err)
	}
	text = text[:min(len(text), verifiedBytes)]
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	file = filepath.Join(b.dir, filepath.Base(name))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", nil, fmt.Errorf("copy the audit chain: %w", err)
	}
	return file, text, nil
}

type timed struct {
	time time.Duration
	err  error
}

func clock(f func() error) timed {
	start := time.Now()
	err := f()
	return timed{time.Since(start), err}
}

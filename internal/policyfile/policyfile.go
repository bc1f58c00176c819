// Package policyfile reads policies from files and notices when they change:
// the standalone service's source of policies.
//
// A set of files is read as a whole or not at all. While the files do not make
// a good set the last good one stays in force, and the reason is told once.
package policyfile

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/policy"
)

// Interval is how often watched files are looked at: often enough for a change
// to be in force within a second. Looking, not waiting for events, is what
// works on every file system and through Kubernetes' swapped directories.
const Interval = 250 * time.Millisecond

// maxFileBytes bounds one policy file.
const maxFileBytes = 64 << 20

// A Source is a list of files and of directories with *.yaml, *.yml and *.json
// files in them.
type Source struct {
	paths []string
	sum   [sha256.Size]byte
	stats []stat
}

// stat is what changes when a file does.
type stat struct {
	name  string
	size  int64
	time  time.Time
	inode any
}

// New returns a source of policies. Nothing is read yet.
func New(paths []string) *Source { return &Source{paths: slices.Clone(paths)} }

// Load reads the files. The warnings are about what is allowed and unwise. The
// error names every problem of every file.
func (s *Source) Load(ctx context.Context) (set *plan.Set, warnings []string, err error) {
	stats, err := s.look()
	if err != nil {
		return nil, nil, err
	}
	files, sum, err := read(stats)
	if err != nil {
		return nil, nil, err
	}
	s.stats, s.sum = stats, sum
	return policy.Load(ctx, files)
}

// Watch calls apply with each new good set until ctx is done. What cannot be
// read, compiled or applied is logged, once a state of the files, and changes
// nothing. report is told each time whether the files are good.
func (s *Source) Watch(ctx context.Context, log *slog.Logger, apply func(*plan.Set) error, report func(good bool)) {
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		set, warnings, err := s.changed(ctx)
		if err == nil && set == nil {
			continue
		}
		if err == nil {
			err = apply(set)
		}
		report(err == nil)
		if err != nil {
			if err.Error() != last {
				log.LogAttrs(ctx, slog.LevelError, "Policy files are not good, keeps the last good ones in force", slog.Any("error", err))
				last = err.Error()
			}
			continue
		}
		last = ""
		for _, w := range warnings {
			log.LogAttrs(ctx, slog.LevelWarn, "Policy is allowed but unwise", slog.String("warning", w))
		}
		log.LogAttrs(ctx, slog.LevelInfo, "Policies are in force", slog.Int("policies", set.Len()), slog.String("digest", set.Digest()))
	}
}

// changed returns a new set if the files differ from those read last.
func (s *Source) changed(ctx context.Context) (*plan.Set, []string, error) {
	stats, err := s.look()
	if err != nil {
		return nil, nil, err
	}
	if slices.Equal(stats, s.stats) {
		return nil, nil, nil
	}
	files, sum, err := read(stats)
	if err != nil {
		return nil, nil, err
	}
	same := sum == s.sum
	s.stats, s.sum = stats, sum
	if same {
		return nil, nil, nil // touched, not changed
	}
	return policy.Load(ctx, files)
}

// look lists the files and what their state is.
func (s *Source) look() ([]stat, error) {
	var stats []stat
	for _, p := range s.paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, fmt.Errorf("look at the policy files: %w", err)
		}
		if !info.IsDir() {
			stats = append(stats, statOf(p, info))
			continue
		}
		inside, err := lookInto(p)
		if err != nil {
			return nil, err
		}
		stats = append(stats, inside...)
	}
	return stats, nil
}

func lookInto(dir string) ([]stat, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look at the policy files: %w", err)
	}
	var stats []stat
	for _, e := range entries {
		if !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path) // through links, as ConfigMaps are mounted
		if err != nil {
			return nil, fmt.Errorf("look at the policy files: %w", err)
		}
		if !info.IsDir() {
			stats = append(stats, statOf(path, info))
		}
	}
	return stats, nil
}

func read(stats []stat) (map[string][]byte, [sha256.Size]byte, error) {
	h := sha256.New()
	files := make(map[string][]byte, len(stats))
	for _, st := range stats {
		if st.size > maxFileBytes {
			return nil, [sha256.Size]byte{}, fmt.Errorf("read policy file %s: larger than %d MiB", st.name, maxFileBytes>>20)
		}
		data, err := os.ReadFile(st.name)
		if err != nil {
			return nil, [sha256.Size]byte{}, fmt.Errorf("read a policy file: %w", err)
		}
		files[st.name] = data
		fmt.Fprintf(h, "%q %d\n", st.name, len(data))
		_, _ = h.Write(data) // a hash never fails
	}
	return files, [sha256.Size]byte(h.Sum(nil)), nil
}

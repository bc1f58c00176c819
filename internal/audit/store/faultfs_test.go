package store_test

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/hookpolicy/hookpolicy/internal/audit/store"
)

const sector = 512

// A faultFS is a file system in memory that remembers what is durable and what
// is not, fails when told to, and crashes.
type faultFS struct {
	mu      sync.Mutex
	entries map[string]*inode // what processes see
	durable map[string]*inode // what a crash leaves, as far as directories go
	counts  map[string]int    // calls by operation
	// fail is asked before each operation; n counts from 1 for each operation.
	// For "write" the number it returns is how many bytes are written all the
	// same.
	fail func(op, name string, n int) (short int, err error)
	// block, if set, is called without the lock before each datasync.
	block  func(name string)
	locked bool
	// reorders says that a crash may keep later sectors without earlier ones.
	reorders bool
}

type inode struct {
	dir    bool
	data   []byte
	synced []byte // as of the last datasync
}

func newFaultFS() *faultFS {
	root := &inode{dir: true}
	return &faultFS{
		entries: map[string]*inode{".": root},
		durable: map[string]*inode{".": root},
		counts:  map[string]int{},
	}
}

var _ store.FS = (*faultFS)(nil)

func (f *faultFS) called(op, name string) (int, error) {
	f.counts[op]++
	if dir, _, _ := strings.Cut(name, "/"); dir == "journal" || dir == "probe" {
		f.counts[dir+" "+op]++
	}
	if f.fail == nil {
		return 0, nil
	}
	return f.fail(op, name, f.counts[op])
}

func (f *faultFS) count(op string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts[op]
}

// reserve returns what the reserve holds, and whether it is there.
func (f *faultFS) reserve() (data []byte, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.entries["reserve"]
	if n == nil {
		return nil, false
	}
	return slices.Clone(n.data), true
}

func (f *faultFS) bytesRead() int64 { return int64(f.count("bytes read")) }

func (f *faultFS) setFail(fail func(op, name string, n int) (int, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
	clear(f.counts)
}

func (f *faultFS) OpenFile(name string, flag int, _ fs.FileMode) (store.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.called("open", name); err != nil {
		return nil, err
	}
	n := f.entries[name]
	if n == nil {
		if flag&os.O_CREATE == 0 || f.entries[path.Dir(name)] == nil {
			return nil, fs.ErrNotExist
		}
		n = &inode{}
		f.entries[name] = n
	}
	if flag&os.O_TRUNC != 0 {
		n.data = nil
	}
	return &faultFile{f, name, n}, nil
}

func (f *faultFS) Mkdir(name string, _ fs.FileMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.called("mkdir", name); err != nil {
		return err
	}
	if f.entries[name] != nil {
		return fs.ErrExist
	}
	if f.entries[path.Dir(name)] == nil {
		return fs.ErrNotExist
	}
	f.entries[name] = &inode{dir: true}
	return nil
}

func (f *faultFS) Rename(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.called("rename", to); err != nil {
		return err
	}
	if f.entries[from] == nil {
		return fs.ErrNotExist
	}
	f.entries[to] = f.entries[from]
	delete(f.entries, from)
	return nil
}

func (f *faultFS) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.entries[name] == nil {
		return fs.ErrNotExist
	}
	if _, err := f.called("remove", name); err != nil {
		return err
	}
	delete(f.entries, name)
	return nil
}

func (f *faultFS) SyncAll() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.called("syncall", "."); err != nil {
		return err
	}
	f.durable = maps.Clone(f.entries)
	for _, n := range f.entries {
		n.synced = slices.Clone(n.data)
	}
	return nil
}

func (f *faultFS) ReadDir(name string) (names []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n := range f.entries {
		if n != name && path.Dir(n) == name {
			names = append(names, path.Base(n))
		}
	}
	slices.Sort(names)
	return names, nil
}

func (f *faultFS) SyncDir(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.called("syncdir", name); err != nil {
		return err
	}
	for n := range f.durable {
		if path.Dir(n) == name && f.entries[n] == nil && n != "." {
			delete(f.durable, n)
		}
	}
	for n, i := range f.entries {
		if path.Dir(n) == name {
			f.durable[n] = i
		}
	}
	return nil
}

func (f *faultFS) Lock(string) (io.Closer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.locked {
		return nil, store.ErrLocked
	}
	f.locked = true
	return unlocker{f}, nil
}

type unlocker struct{ f *faultFS }

func (u unlocker) Close() error {
	u.f.mu.Lock()
	defer u.f.mu.Unlock()
	u.f.locked = false
	return nil
}

type faultFile struct {
	fs   *faultFS
	name string
	*inode
}

func (f *faultFile) ReadAt(p []byte, at int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if _, err := f.fs.called("read", f.name); err != nil {
		return 0, err
	}
	if at >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[at:])
	f.fs.counts["bytes read"] += n
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *faultFile) WriteAt(p []byte, at int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	short, err := f.fs.called("write", f.name)
	if err != nil || short > 0 {
		p = p[:min(short, len(p))]
	}
	if end := int(at) + len(p); end > len(f.data) {
		f.data = append(f.data, make([]byte, end-len(f.data))...)
	}
	return copy(f.data[at:], p), err
}

func (f *faultFile) Truncate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if _, err := f.fs.called("truncate", f.name); err != nil {
		return err
	}
	f.data = slices.Clone(f.data[:size])
	return nil
}

func (f *faultFile) Datasync() error {
	if f.fs.block != nil {
		f.fs.block(f.name)
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if _, err := f.fs.called("datasync", f.name); err != nil {
		// The kernel has marked the pages clean all the same: a later
		// success says nothing about them. So they never get into synced.
		return err
	}
	f.synced = slices.Clone(f.data)
	return nil
}

func (f *faultFile) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return int64(len(f.data)), nil
}

func (f *faultFile) Allocate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if _, err := f.fs.called("write", f.name); err != nil {
		return err
	}
	f.data = make([]byte, size)
	return nil
}

func (f *faultFile) Close() error { return nil }

// crash returns what the disk holds after a power cut: durable entries, and of
// each file what was synced plus some of the sectors written since: the first
// ones or, if the disk reorders, any.
func (f *faultFS) crash(r *rand.Rand) *faultFS {
	return f.after(f.durable, func(n *inode) []byte { return n.afterCrash(r, f.reorders) })
}

// powerCut returns what the disk holds if nothing reached it that was not
// synced.
func (f *faultFS) powerCut() *faultFS {
	return f.after(f.durable, func(n *inode) []byte { return slices.Clone(n.synced) })
}

// killed returns what the kernel holds after the process was killed.
func (f *faultFS) killed() *faultFS {
	return f.after(f.entries, func(n *inode) []byte { return slices.Clone(n.data) })
}

func (f *faultFS) after(entries map[string]*inode, data func(*inode) []byte) *faultFS {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := newFaultFS()
	g.reorders = f.reorders
	for _, name := range slices.Sorted(maps.Keys(entries)) { // a directory before what is in it
		n := entries[name]
		if g.entries[path.Dir(name)] == nil {
			continue // its directory is lost
		}
		m := &inode{dir: n.dir}
		if !n.dir {
			m.data = data(n)
			m.synced = slices.Clone(m.data)
		}
		g.entries[name], g.durable[name] = m, m
	}
	return g
}

func (n *inode) afterCrash(r *rand.Rand, reorders bool) []byte {
	out := slices.Clone(n.synced)
	if len(n.data) < len(out) && r.IntN(2) == 0 {
		out = out[:len(n.data)] // the truncation made it
	}
	for at := 0; at < len(n.data); at += sector {
		now := n.data[at:min(at+sector, len(n.data))]
		if at+len(now) <= len(out) && string(out[at:at+len(now)]) == string(now) {
			continue
		}
		if lost := r.IntN(3) == 0; lost && reorders {
			continue
		} else if lost {
			break
		}
		if end := at + len(now); end > len(out) {
			out = append(out, make([]byte, end-len(out))...)
		}
		copy(out[at:], now)
	}
	return out
}

// journal returns what the journal's segments hold, in order.
func (f *faultFS) journal() (names []string, contents []string) { return f.files("journal/") }

// segments returns the contents of the segments of the only chain, in order.
func (f *faultFS) segments() (names []string, contents []string) { return f.files("t/") }

func (f *faultFS) files(prefix string) (names []string, contents []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.entries {
		if n := f.entries[name]; strings.HasPrefix(name, prefix) && !n.dir && !strings.HasSuffix(name, "/state") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		contents = append(contents, string(f.entries[name].data))
	}
	return names, contents
}

var errIO = errors.New("input/output error")

package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/hookpolicy/hookpolicy/internal/audit/checkpoint"
)

// A head is what was signed last of a chain: one line of JSON in anchor/heads.
type head struct {
	ID   string          `json:"id"` // of the tenant's directory
	Note string          `json:"note"`
	Tree checkpoint.Tree `json:"tree"`
}

func (h *head) appendLine(dst []byte) ([]byte, error) {
	type plain struct { // Tree is a text by pointer only
		ID   string           `json:"id"`
		Note string           `json:"note"`
		Tree *checkpoint.Tree `json:"tree"`
	}
	b, err := json.Marshal(plain{h.ID, h.Note, &h.Tree})
	return append(append(dst, b...), '\n'), err
}

// parseHead reads what appendLine wrote, and nothing else.
func parseHead(line []byte) (*head, error) {
	h := new(head)
	if err := json.Unmarshal(line, h); err != nil {
		return nil, fmt.Errorf("%w: %s: a line is not a head", ErrCorrupt, headsName)
	}
	if again, err := h.appendLine(nil); err != nil || !bytes.Equal(again, line) {
		return nil, fmt.Errorf("%w: %s: a line is not a head", ErrCorrupt, headsName)
	}
	return h, nil
}

// heads is the file of heads. Lines are appended and synced before anybody
// learns of a signature, the last line of a chain counts, and the file is
// written anew once most of it is of no use. The head of the anchor's chain
// follows those that its records hold: heads after it are not in it yet.
type heads struct {
	fs      FS
	file    File
	size    int64
	useful  int64
	at      map[string]span // by id
	pending map[string]bool // heads after the anchor's
	spoiled bool            // a write or a sync of the file has failed
}

// A span is where a line stands.
type span struct{ at, len int64 }

var errHeadsMissing = fmt.Errorf("%w: %s is missing: what was signed is not known", ErrCorrupt, headsName)

// openHeads reads the file of heads; fresh says that the log begins and that
// there may be none.
func openHeads(fsys FS, fresh bool) (*heads, error) {
	h := &heads{fs: fsys, at: make(map[string]span), pending: make(map[string]bool)}
	f, err := fsys.OpenFile(headsName, 0, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if !fresh {
			return nil, errHeadsMissing
		}
		if err = writeDurably(fsys, headsName, nil); err == nil {
			f, err = fsys.OpenFile(headsName, 0, 0)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", headsName, err)
	}
	h.file = f
	if err := h.load(); err != nil {
		_ = f.Close() // the error to report is the other one
		return nil, err
	}
	return h, nil
}

// load finds the last line of each chain. A line that is not whole is what a
// crash leaves; nobody was told of it.
func (h *heads) load() error {
	size, err := h.file.Size()
	if err != nil {
		return fmt.Errorf("size of %s: %w", headsName, err)
	}
	all := make([]byte, size)
	if _, err := h.file.ReadAt(all, 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", headsName, err)
	}
	all = all[:bytes.LastIndexByte(all, '\n')+1]
	for line := range bytes.Lines(all) {
		hd, err := parseHead(line)
		if err != nil {
			return err
		}
		h.note(hd.ID, int64(len(line)))
	}
	if h.size < size {
		if err := h.file.Truncate(h.size); err != nil {
			return fmt.Errorf("cut %s: %w", headsName, err)
		}
	}
	return nil
}

// note takes the line that ends the file into account.
func (h *heads) note(id string, n int64) {
	h.useful += n - h.at[id].len
	h.at[id] = span{h.size, n}
	h.size += n
	if id == anchorID {
		clear(h.pending)
	} else {
		h.pending[id] = true
	}
}

// get returns the head of a chain, nil if nothing was signed of it.
func (h *heads) get(id string) (*head, error) {
	s, ok := h.at[id]
	if !ok {
		return nil, nil //nolint:nilnil // a chain without a head is no error
	}
	line := make([]byte, s.len)
	if _, err := h.file.ReadAt(line, s.at); err != nil {
		return nil, fmt.Errorf("read %s: %w", headsName, err)
	}
	return parseHead(line)
}

// put adds heads durably. After an error none of them counts.
func (h *heads) put(batch []head) error {
	if len(batch) == 0 {
		return nil
	}
	if h.spoiled || h.size > 4*h.useful+1<<20 {
		if err := h.rewrite(); err != nil {
			return err
		}
	}
	var buf []byte
	ends := make([]int, 0, len(batch))
	for i := range batch {
		var err error
		if buf, err = batch[i].appendLine(buf); err != nil {
			return fmt.Errorf("write %s: %w", headsName, err)
		}
		ends = append(ends, len(buf))
	}
	if err := writeAll(h.file, buf, h.size); err != nil {
		return h.takeBack("write", err)
	}
	if err := h.file.Datasync(); err != nil {
		return h.takeBack("sync", err)
	}
	start := 0
	for i := range batch {
		h.note(batch[i].ID, int64(ends[i]-start))
		start = ends[i]
	}
	return nil
}

// takeBack begins a new file after an error: a sync that failed is not to be
// tried again on the same one.
func (h *heads) takeBack(what string, cause error) error {
	h.spoiled = true // until it is made anew: what it holds beyond must not be mixed with what comes
	_ = h.file.Truncate(h.size)
	return errors.Join(fmt.Errorf("%s %s: %w", what, headsName, cause), h.rewrite())
}

// rewrite makes the file anew of the lines that count, in the order in which
// they stand.
func (h *heads) rewrite() error {
	ids := make([]string, 0, len(h.at))
	for id := range h.at {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int { return int(h.at[a].at - h.at[b].at) })
	all := make([]byte, 0, h.useful)
	for _, id := range ids {
		s := h.at[id]
		n := len(all)
		all = append(all, make([]byte, s.len)...)
		if _, err := h.file.ReadAt(all[n:], s.at); err != nil {
			return fmt.Errorf("read %s: %w", headsName, err)
		}
	}
	if err := writeDurably(h.fs, headsName, all); err != nil {
		return fmt.Errorf("write %s: %w", headsName, err)
	}
	f, err := h.fs.OpenFile(headsName, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", headsName, err)
	}
	_ = h.file.Close() // it is of no use any more
	old := h.at
	h.file, h.size, h.useful, h.at = f, 0, 0, make(map[string]span, len(old))
	h.spoiled = false
	for _, id := range ids {
		h.note(id, old[id].len)
	}
	return nil
}

// waiting returns the heads that the anchor's chain does not hold yet.
func (h *heads) waiting() ([]head, error) {
	var out []head
	for id := range h.pending {
		hd, err := h.get(id)
		if err != nil {
			return nil, err
		}
		out = append(out, *hd)
	}
	slices.SortFunc(out, func(a, b head) int { return bytes.Compare([]byte(a.ID), []byte(b.ID)) })
	return out, nil
}

// forgetSigned makes the log forget what it signed of chains: a repair has given
// up records that were signed, and says so in a record of kind gap. Whoever
// kept what was published still finds the loss.
func forgetSigned(fsys FS, ids ...string) error {
	h, err := openHeads(fsys, false)
	if errors.Is(err, errHeadsMissing) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, id := range ids {
		h.useful -= h.at[id].len
		delete(h.at, id)
		delete(h.pending, id)
	}
	return errors.Join(h.rewrite(), h.close())
}

func (h *heads) close() error { return h.file.Close() }

package paths

import (
	"context"
	"errors"
	"io/fs"
	"strings"
)

// Bounds of one walk: the kernel's for links, ours for open handles.
const (
	maxLinks = 40
	maxDepth = 256
)

// Errors of a walk, beside the file system's own.
var (
	errLoop     = errors.New("too many symbolic links")
	errDepth    = errors.New("too many directories")
	errClimb    = errors.New("a name that does not exist is followed by dot-dot")
	errNotDir   = errors.New("a file is used as a directory")
	errSpecial  = errors.New("no ordinary file or directory")
	errLinkText = errors.New("a symbolic link says nothing")
)

// A place is where a walk has led.
type place struct {
	names    []string // from the top, none of them a link
	existing int      // how many of the names exist
}

// walk resolves an absolute path as the kernel does, but for names at its end
// that do not exist: it keeps these. It fails where the kernel would, and
// wherever the kernel's answer would depend on who asks.
func walk(ctx context.Context, text string) (place, error) {
	top, err := openTop()
	if err != nil {
		return place{}, err
	}
	w := &walker{dirs: []entry{top}}
	defer w.close()
	return w.run(ctx, text)
}

// A walker holds the way to where it stands: dirs[0] is the top, dirs[i+1] is
// what names[i] was when it was looked up in dirs[i]. Once a name does not
// exist, dirs stays behind.
type walker struct {
	dirs  []entry
	names []string
	links int
}

func (w *walker) run(ctx context.Context, rest string) (place, error) {
	for rest != "" {
		name, tail, more := strings.Cut(rest, "/")
		rest = tail
		var err error
		switch {
		case ctx.Err() != nil:
			err = ctx.Err()
		case name == "" || name == ".":
		case name == "..":
			err = w.up()
		case w.missing():
			err = w.enter(name)
		default:
			rest, err = w.step(name, tail, more)
		}
		if err != nil {
			return place{}, err
		}
	}
	return place{names: w.names, existing: len(w.dirs) - 1}, nil
}

// missing reports whether the walk has left what exists.
func (w *walker) missing() bool { return len(w.names) >= len(w.dirs) }

// step looks up one name and returns the path that is left to walk: behind a
// link that is the link's text and then the rest.
func (w *walker) step(name, rest string, more bool) (string, error) {
	if err := checkPattern(w.dirs[len(w.dirs)-1], name); err != nil {
		return "", err
	}
	e, err := w.dirs[len(w.dirs)-1].lookup(name)
	if errors.Is(err, fs.ErrNotExist) {
		return rest, w.enter(name)
	}
	if err != nil {
		return "", err
	}
	if e.mode()&fs.ModeSymlink != 0 {
		return w.follow(e, rest, more)
	}
	w.dirs = append(w.dirs, e) // before any return, so that close finds it
	switch {
	case !e.mode().IsDir() && !e.mode().IsRegular():
		return "", errSpecial
	case more && !e.mode().IsDir():
		return "", errNotDir
	case len(w.dirs) > maxDepth:
		return "", errDepth
	}
	return rest, w.enter(name)
}

func (w *walker) follow(link entry, rest string, more bool) (string, error) {
	defer link.close()
	if w.links++; w.links > maxLinks {
		return "", errLoop
	}
	text, err := link.readlink()
	switch {
	case err != nil:
		return "", err
	case text == "":
		return "", errLinkText
	case strings.HasPrefix(text, "/"):
		w.truncate(0)
	}
	if more {
		text += "/" + rest
	}
	return text, nil
}

// enter adds a name to the way.
func (w *walker) enter(name string) error {
	w.names = append(w.names, name)
	if isSpecial(w.names) {
		return errSpecial
	}
	return nil
}

func (w *walker) up() error {
	if w.missing() {
		return errClimb
	}
	w.truncate(max(len(w.names)-1, 0))
	return nil
}

// truncate goes back to where n names led.
func (w *walker) truncate(n int) {
	for _, e := range w.dirs[n+1:] {
		e.close()
	}
	w.dirs, w.names = w.dirs[:n+1], w.names[:n]
}

func (w *walker) close() {
	for _, e := range w.dirs {
		e.close()
	}
}
